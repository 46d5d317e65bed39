"""The Documents view: the library of a room, and the reader."""
