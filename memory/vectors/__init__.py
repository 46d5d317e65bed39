"""Vectors, which are stored in a room and searched in memory."""
