"""Reads the text of files: one module per format, in a confined process."""
