"""The encrypted database of a room."""
