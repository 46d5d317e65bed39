"""What a room tells of its own use, as numbers."""
