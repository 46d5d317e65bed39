"""Functions on a connection. Each is one step of a transaction that the store opens around it."""
