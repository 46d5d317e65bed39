"""How users organise sessions: marks, tags, categories, archive, projects, merging."""
