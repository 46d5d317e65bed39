"""Turns stored messages into a prompt that fits."""
