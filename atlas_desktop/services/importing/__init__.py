"""Conversations on their way in: one module a format, behind one importer."""

from atlas_desktop.services.importing.entities import (
    Format,
    ImportOptions,
    ImportReport,
    Meter,
    Skipped,
    UnknownExport,
    Unreadable,
)
from atlas_desktop.services.importing.importer import Importer

__all__ = [
    "Format",
    "ImportOptions",
    "ImportReport",
    "Importer",
    "Meter",
    "Skipped",
    "UnknownExport",
    "Unreadable",
]
