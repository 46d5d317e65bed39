"""Long-term memories: their values, retention, consolidation and profile."""
