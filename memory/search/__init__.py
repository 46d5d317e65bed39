"""Search over messages and sessions: the query language, and the values that are returned."""
