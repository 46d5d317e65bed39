"""Conversations on their way out: formats behind one protocol, redaction, file names, and where they go."""

from atlas_desktop.services.exporting.lines import Exporter, line_of

__all__ = ["Exporter", "line_of"]
