"""The board of tasks."""
