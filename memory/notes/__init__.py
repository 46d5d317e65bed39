"""Notes: what the user writes, with links to everything else."""
