"""Summaries: planned, made, checked, and put in place of older messages."""
