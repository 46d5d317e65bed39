"""The history browser."""
