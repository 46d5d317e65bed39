"""Imports conversations: one module per format, behind one importer."""
