"""Sync: the same memory on several computers, through a folder that any tool copies."""
