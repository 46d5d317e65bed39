"""Background work: a durable queue, its runner, and the gate that gives turns priority."""
