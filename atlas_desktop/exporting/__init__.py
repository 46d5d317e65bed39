"""Exports conversations and memories: one module per format, redaction, and targets."""
