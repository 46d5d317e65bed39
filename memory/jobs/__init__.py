"""Background work: a durable queue, its runner, and the gate that keeps it out of the way."""
