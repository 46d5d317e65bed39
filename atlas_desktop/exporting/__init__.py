"""Exports conversations and memories: one module a format, redaction, and where they go."""
