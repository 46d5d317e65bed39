"""How a person keeps conversations in order: marks, tags, categories, archive, projects, merging."""
