"""Notes: written, linked, imported and exported."""
