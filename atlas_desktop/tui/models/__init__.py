"""Models: the list, what is done with them, and which one answers."""
