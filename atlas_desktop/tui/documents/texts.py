"""How documents and places in them are put into words."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from atlas_desktop.locale import N_, _, number
from atlas_desktop.services.cleaning import clean_line
from memory.attachments import NewAttachment
from memory.documents.entities import Document, DocumentState, OnMissing
from memory.entities import RoomKind

if TYPE_CHECKING:
    from memory.documents.entities import StoredCitation


_STATES = {
    DocumentState.QUEUED: ("…", N_("waiting"), "$quiet"),
    DocumentState.INDEXED: ("●", N_("ready"), "$success"),
    DocumentState.PARTIAL: ("◐", N_("partly read"), "$warning"),
    DocumentState.FAILED: ("✗", N_("not readable"), "$error"),
    DocumentState.MISSING: ("?", N_("file is gone"), "$warning"),
    DocumentState.ARCHIVED: ("▫", N_("archived"), "$quiet"),
}
_ON_MISSING = {
    OnMissing.KEEP: N_("Keep the document"),
    OnMissing.ARCHIVE: N_("Archive it: kept, but not searched"),
    OnMissing.REMOVE: N_("Remove it, with everything made from it"),
}


def state_text(state: DocumentState) -> tuple[str, str, str]:
    """Returns the sign, the word and the colour of a state."""
    sign, word, style = _STATES[state]
    return sign, _(word), style


def on_missing_text(choice: OnMissing) -> str:
    """Returns what happens to the document of a file that is gone."""
    return _(_ON_MISSING[choice])


def place_text(page: int | None, lines: tuple[int, int]) -> str:
    """Returns a place in a document: its page, or its lines."""
    if page is not None:
        return _("page {page}", page=number(page))
    first, last = lines
    if first == last:
        return _("line {first}", first=number(first))
    return _("lines {first}–{last}", first=number(first), last=number(last))


def title_text(document: "Document") -> str:
    return clean_line(document.title) or clean_line(Path(document.path).name) or _("Untitled")


def citation_text(citation: "StoredCitation") -> str:
    """Returns the label of a citation: its number, the document, the place, and what to know about it."""
    place = place_text(citation.page, citation.lines)
    label = f"[{citation.marker}] {clean_line(citation.title) or _('Untitled')}, {place}"
    if not citation.verified:
        return f"{label} · {_('quotation not found there')}"
    return label if citation.current else f"{label} · {_('document has changed since')}"


def short_path(path: str) -> str:
    """Returns a path, with ~ for the user's home."""
    home = str(Path.home())
    shown = f"~{path[len(home) :]}" if path == home or path.startswith(home + os.sep) else path
    return clean_line(shown)


def quoted(text: str, citation: str) -> str:
    """Returns a quotation with its source, as it is copied and asked about."""
    return f"“{text.strip()}”\n— {citation}"


@dataclass(frozen=True, slots=True)
class AskAbout:
    """Begin a conversation about these documents of a room, with a quotation of one of them in the prompt."""

    documents: tuple[Document, ...]
    room: RoomKind
    quote: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class UseHere:
    """Use documents and attached texts in the conversation that is shown."""

    documents: tuple[Document, ...] = ()
    attachments: tuple[NewAttachment, ...] = ()


@dataclass(frozen=True, slots=True)
class AttachHere:
    """Ask for a file to attach to the conversation that is shown."""
