"""The memory browser."""
