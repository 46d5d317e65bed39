"""Numbered, forward-only changes of the schema: one module each."""
