"""The page of a project: what belongs to it, its settings, and how long it lasts."""
