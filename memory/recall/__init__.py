"""Recall: finds earlier messages, memories and summaries by words and by meaning, and scores them."""
