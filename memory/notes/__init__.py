"""Notes: the user's texts, with links to everything else."""
