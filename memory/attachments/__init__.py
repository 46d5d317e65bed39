"""Texts that a person gives a conversation to read."""
