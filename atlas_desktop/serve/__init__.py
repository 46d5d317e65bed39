"""Doors: lets other programs on this computer use the models and the memory."""
