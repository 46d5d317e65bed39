"""The chat screen: its widgets, and a controller for each kind of action."""
