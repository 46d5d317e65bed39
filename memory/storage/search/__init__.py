"""Search in a room: compiles conditions to SQL, looks words up in the full-text indexes and ranks hits."""
