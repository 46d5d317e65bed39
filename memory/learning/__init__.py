"""Learning: what users say of themselves becomes memories, each with its source quote."""
