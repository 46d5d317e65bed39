"""Learning: makes memories of what users say about themselves, each with its source quote."""
