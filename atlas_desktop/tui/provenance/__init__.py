"""Where a reply or a memory comes from, and what the model was given."""
