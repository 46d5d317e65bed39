"""Finding in a room: conditions become SQL, words are looked up in the full-text indices, hits are ranked."""
