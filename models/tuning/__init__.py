"""Finds the fastest way to run a model on this computer."""
