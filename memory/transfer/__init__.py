"""Whole sessions that come in from elsewhere, or go out."""
