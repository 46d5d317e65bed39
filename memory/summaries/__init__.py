"""Summaries, which replace older messages: planning, making and checking them."""
