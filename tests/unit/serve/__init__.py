"""Doors: what is read, what is refused."""
