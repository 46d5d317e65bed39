"""What becomes of what was said: it is summarised."""
