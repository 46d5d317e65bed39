"""Texts about documents that both interfaces show."""

from pathlib import PurePath
from typing import TYPE_CHECKING

from atlas_desktop.error_table import explain
from atlas_desktop.errors import DocumentRefused, Explained, Refusal

if TYPE_CHECKING:
    from memory.documents.entities import Document, DocumentError


def document_error(document: "Document") -> Explained:
    """Returns why a document could not be read, in full or in part. It must have an error."""
    if document.error is None:
        raise ValueError("the document has no error")
    return refusal_text(PurePath(document.path).name, document.error)


def scan_reason(reason) -> str:
    return str(reason.value)


def refusal_text(name: str, error: "DocumentError") -> Explained:
    return Explained(error.reason, "This file cannot be read", error.reason, "")
