"""The vault: how the key of a room is stored and unlocked."""
