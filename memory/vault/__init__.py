"""Keyslots: how the key of a room is kept and opened."""
