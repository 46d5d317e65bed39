"""Texts about documents that both interfaces show."""

from pathlib import PurePath
from typing import TYPE_CHECKING

from atlas_desktop.error_table import explain
from atlas_desktop.errors import DocumentRefused, Explained, Refusal
from atlas_desktop.locale import N_, _

if TYPE_CHECKING:
    from atlas_desktop.services.documents.scanning import SkipReason
    from memory.documents.entities import Document, DocumentError


_REFUSALS = frozenset(one.value for one in Refusal)


def document_error(document: "Document") -> Explained:
    """Returns why a document could not be read, in full or in part. It must have an error."""
    if document.error is None:
        raise ValueError(document.id)
    return refusal_text(PurePath(document.path).name, document.error)


_SCAN_TEXTS = {
    "link": N_("is a link"),
    "special": N_("is not a regular file"),
    "hidden": N_("is hidden"),
    "temporary": N_("is a temporary file"),
    "ignored": N_("is excluded by a rule"),
    "unknown_format": N_("has an unknown format"),
    "too_large": N_("is too large"),
    "unreadable": N_("cannot be opened"),
    "vanished": N_("disappeared during the scan"),
    "bad_name": N_("has a name that is not valid text"),
    "too_deep": N_("is nested too deeply"),
    "too_many": N_("has too many entries"),
    "bad_pattern": N_("is not a valid rule and was ignored"),
}


def scan_reason(reason: "SkipReason | str") -> str:
    """Returns why a scan skipped something, after its name."""
    return _(_SCAN_TEXTS[str(reason)])


def refusal_text(name: str, error: "DocumentError") -> Explained:
    # A newer version of Atlas may have stored a reason that this one does not know.
    reason = Refusal(error.reason) if error.reason in _REFUSALS else Refusal.UNREADABLE
    return explain(DocumentRefused(name, reason, error.limit))
