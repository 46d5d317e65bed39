"""Vectors: stored in a room, searched in memory."""
