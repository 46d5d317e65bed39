"""Finding what was said: evidence by words and by meaning, one score, and its reasons."""
