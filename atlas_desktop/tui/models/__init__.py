"""Models: the list, the jobs on them, and the choice of the one that answers."""
