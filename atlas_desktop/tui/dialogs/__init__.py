"""Small windows that several screens open."""
