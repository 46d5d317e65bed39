"""Finding what was said: a language of queries, and the values that come back."""
