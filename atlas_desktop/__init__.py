"""Atlas Desktop: a private assistant that runs on one computer."""

__version__ = "0.1.0"
