"""Atlas Desktop: a private assistant that lives on one computer."""

__version__ = "0.1.0"
