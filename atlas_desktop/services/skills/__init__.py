"""The skills of a room: written, approved, imported, drafted."""
