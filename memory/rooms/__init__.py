"""Sessions that move from one room to another."""
