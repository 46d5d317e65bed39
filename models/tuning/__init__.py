"""Finds the fastest way of running a model on this computer."""
