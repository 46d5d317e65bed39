"""Learning: what the person says of herself becomes memories, each with the words it was learned from."""
