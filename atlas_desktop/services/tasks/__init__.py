"""Tasks: delegated work, planned, done in steps, and checked."""
