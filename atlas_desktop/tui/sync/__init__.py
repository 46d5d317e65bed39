"""Sync: its window, and the watch over its folder."""
