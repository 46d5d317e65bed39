"""Stand-ins for what is slow or outside: models, clock, vector index, history compaction."""
