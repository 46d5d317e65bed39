"""Tasks: work that takes more than a turn. Rules without storage or interface."""
