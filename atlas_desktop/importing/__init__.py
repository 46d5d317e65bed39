"""Imports conversations: one module a format, behind one importer."""
