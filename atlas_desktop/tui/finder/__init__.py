"""The finder: a window that searches everything at once."""
