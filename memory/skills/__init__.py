"""Skills: procedures in Markdown that the user has approved."""
