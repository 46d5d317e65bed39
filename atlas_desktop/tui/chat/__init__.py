"""The conversation: its screen, the widgets of that, and a controller for each thing that is done in it."""
