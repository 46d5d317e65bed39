"""Texts shared by the command line and the interface: rooms and amounts, forgetting, imports and exports."""
