"""Language models on this machine. Knows nothing of memory or of the interface."""
