"""Tasks: delegated work that is planned, done in steps, and checked."""
