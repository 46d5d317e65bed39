"""The rows of the Documents view, and how documents and places in them are put into words."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from atlas_desktop.error_table import document_error
from atlas_desktop.errors import size
from atlas_desktop.locale import N_, _, ngettext, number
from atlas_desktop.parsing.protocol import MARKDOWN
from atlas_desktop.phrases import place_text, scan_reason
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.calendar import long, short
from atlas_desktop.tui.markdown_text import markdown_text
from memory.attachments import NewAttachment
from memory.documents.entities import Document, DocumentHit, DocumentState, OnMissing, WatchedFolder
from memory.entities import RoomKind

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from memory.attachments import Document as AttachedText
    from memory.entities import Session


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


def title_text(document: "Document") -> str:
    return clean_line(document.title) or clean_line(Path(document.path).name) or _("Untitled")


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


_HEADINGS = {
    "single": N_("Single files"),
    "written": N_("Written by Atlas: reports and documents from conversations"),
    "attached": N_("Attached to conversations"),
    "titles": N_("In titles and paths"),
    "text": N_("In the text"),
    "near": N_("With none of the words, but near in meaning"),
}
_SNIPPET = 300
_SKIPPED = 50
"""Skipped files of a folder that are named."""
_TALKS = 20
_LEAST_TITLE = 12


@dataclass(frozen=True, slots=True)
class Row:
    """One row: a heading, a watched folder, a document, a passage found in one, or an attached text.

    `id` identifies it in its list. A row with a `document` and a `hit` is a passage.
    """

    id: str
    heading: str = ""
    folder: WatchedFolder | None = None
    document: Document | None = None
    hit: DocumentHit | None = None
    attached: "AttachedText | None" = None
    documents: tuple[Document, ...] = ()
    """Those of the folder."""


@dataclass(frozen=True, slots=True)
class Library:
    """The documents and watched folders of a room, and the texts attached to its conversations."""

    documents: tuple[Document, ...] = ()
    folders: tuple[WatchedFolder, ...] = ()
    attached: "tuple[AttachedText, ...]" = ()

    @property
    def is_empty(self) -> bool:
        return not (self.documents or self.folders or self.attached)

    @property
    def by_id(self) -> dict[str, Document]:
        return {one.id: one for one in self.documents}


async def read_library(room: "RoomServices") -> Library:
    return Library(
        tuple(await room.documents.list()),
        tuple(await room.documents.folders()),
        tuple(await room.attachments.documents()),
    )


# --- which rows -------------------------------------------------------------------------------------


def rows_of(library: Library, words: str = "", hits: Sequence[DocumentHit] = ()) -> list[Row]:
    """Returns the rows to show: all, or those whose title or path contains the words, and passages."""
    return list(_found(library, words.casefold(), hits) if words else _all(library))


def _all(library: Library) -> Iterator[Row]:
    for folder in library.folders:
        inside = tuple(one for one in library.documents if one.folder == folder.id)
        yield Row(f"folder {folder.id}", folder=folder, documents=inside)
        yield from _of_documents(inside)
    known = {folder.id for folder in library.folders}
    rest = [one for one in library.documents if one.folder not in known]
    single, written = [one for one in rest if one.path], [one for one in rest if not one.path]
    for heading, documents in (("single", single), ("written", written)):
        if documents:
            yield Row(heading, heading=heading)
            yield from _of_documents(documents)
    yield from _attached(library.attached)


def _of_documents(documents: Sequence[Document]) -> Iterator[Row]:
    yield from (Row(f"document {one.id}", document=one) for one in documents)


def _attached(attached: "Sequence[AttachedText]") -> Iterator[Row]:
    if attached:
        yield Row("attached", heading="attached")
    for one in attached:
        yield Row(f"attached {one.places[0][1]}", attached=one)


def _found(library: Library, words: str, hits: Sequence[DocumentHit]) -> Iterator[Row]:
    named = [
        one for one in library.documents if words in one.title.casefold() or words in one.path.casefold()
    ]
    if named:
        yield Row("titles", heading="titles")
        yield from _of_documents(named)
    yield from _attached([one for one in library.attached if words in one.name.casefold()])
    documents = library.by_id
    grouped: dict[str, list[DocumentHit]] = {}
    for hit in hits:
        if hit.chunk.document in documents:
            grouped.setdefault(hit.chunk.document, []).append(hit)
    has_words = {
        document_id: any(hit.parts["document"] for hit in found) for document_id, found in grouped.items()
    }
    for heading, wanted in (("text", True), ("near", False)):
        chosen = [document_id for document_id in grouped if has_words[document_id] is wanted]
        if chosen:
            yield Row(heading, heading=heading)
        for document_id in chosen:
            document = documents[document_id]
            yield Row(f"found {document_id}", document=document)
            for hit in grouped[document_id]:
                yield Row(f"hit {hit.chunk.id}", document=document, hit=hit)


# --- rows as text -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RowLook:
    """How a row is drawn: its width in cells, and whether it is selected."""

    width: int
    now: datetime
    selected: bool = False


def row_text(row: Row, look: RowLook) -> Content:
    """Returns a row as one line, or two for a document with an error."""
    if row.heading:
        return Content.styled(_(_HEADINGS[row.heading]), "bold $accent")
    if row.folder is not None:
        return _folder_text(row, look)
    if row.hit is not None:
        return _hit_text(row.hit, look)
    if row.attached is not None:
        count = ngettext("{count} conversation", "{count} conversations", len(row.attached.places))
        return _line(f"{_mark(look)}▤ ", "$quiet", clean_line(row.attached.name), count, look.width)
    assert row.document is not None
    return _document_text(row.document, look)


def _document_text(document: Document, look: RowLook) -> Content:
    sign, word, style = state_text(document.state)
    when = short(document.modified_at or document.added_at, look.now)
    facts = " · ".join([word, size(document.size), when])
    line = _line(f"{_mark(look)}{sign} ", style, title_text(document), facts, look.width)
    if document.error is None:
        return line
    reason = clean_line(document_error(document).message)
    return Content.assemble(line, "\n    ", (_cut(reason, look.width - 4), style))


def _folder_text(row: Row, look: RowLook) -> Content:
    assert row.folder is not None
    facts = [ngettext("{count} document", "{count} documents", len(row.documents))]
    failed = sum(one.state is DocumentState.FAILED for one in row.documents)
    if failed:
        facts.append(ngettext("{count} not readable", "{count} not readable", failed))
    return _line("▸ ", "bold $primary", short_path(row.folder.path), " · ".join(facts), look.width, bold=True)


def _hit_text(hit: DocumentHit, look: RowLook) -> Content:
    place = place_text(hit.chunk.page, hit.chunk.lines)
    snippet = clean_line(hit.chunk.text[:_SNIPPET])
    return Content.assemble(
        "    ", (f"{place}  ", "$accent"), _cut(snippet, look.width - cell_len(place) - 6)
    )


def _mark(look: RowLook) -> str:
    return "✓ " if look.selected else "  "


def _line(sign: str, style: str, title: str, facts: str, width: int, *, bold: bool = False) -> Content:
    """Returns a line that fills the width, with the facts at the right."""
    left = width - cell_len(sign) - 2
    room = max(left - cell_len(facts), _LEAST_TITLE)
    title = _cut(title, room)
    gap = " " * max(left + 2 - cell_len(title) - cell_len(facts), 1)
    return Content.assemble((sign, style), (title, "bold" if bold else ""), gap, (facts, "$quiet"))


def _cut(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 1)).rstrip() + "…"


# --- what is known about a row ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Link:
    """A line that leads somewhere: to a position of the document, to a conversation, or to a note."""

    text: Content
    position: int | None = None
    session: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Details:
    """What is known about a row, and where it leads. Links without a place are headings."""

    facts: Content = field(default_factory=lambda: Content(""))
    links: tuple[Link, ...] = ()


async def details_of(row: Row, room: "RoomServices", now: datetime) -> Details:
    """Reads what is known about a row."""
    if row.folder is not None:
        left_out = await room.store.documents.excludes_any()
        return Details(_folder_facts(row, row.folder, now, left_out=left_out))
    if row.attached is not None:
        talks = await _talks([session for session, _place in row.attached.places], room)
        return Details(_attached_facts(row.attached), _links((), talks, now))
    if row.document is not None:
        talks = await _talks(row.document.sessions, room)
        notes = await _notes(row.document.id, room)
        links = _links(_headings(row.document), talks, now)
        return Details(_facts(row.document, row.hit, now), (*notes, *links))
    return Details()


async def _talks(sessions: Sequence[str], room: "RoomServices") -> "list[Session]":
    return [await room.store.get_session(one) for one in sessions[:_TALKS]]


async def _notes(document_id: str, room: "RoomServices") -> list[Link]:
    """Returns the notes that link to a document, with a heading."""
    found = await room.store.notes.backlinks(document_id)
    if not found:
        return []
    rows = [
        Link(
            Content.assemble(clean_line(one.title), "  ", (clean_line(one.snippet), "$quiet")), note=one.note
        )
        for one in found[:_TALKS]
    ]
    return [Link(Content.styled(_("Notes"), "bold $accent")), *rows]


def _headings(document: Document) -> tuple[Link, ...]:
    return tuple(
        Link(Content(f"{'  ' * (one.level - 1)}{clean_line(one.text)}"), position=one.begin)
        for one in document.headings
    )


def _links(headings: tuple[Link, ...], talks: "Sequence[Session]", now: datetime) -> tuple[Link, ...]:
    found: list[Link] = []
    if headings:
        found += [Link(Content.styled(_("Outline"), "bold $accent")), *headings]
    if talks:
        found.append(Link(Content.styled(_("Conversations"), "bold $accent")))
    for one in talks:
        title = clean_line(one.title) or _("Untitled")
        when = long(one.updated_at, now)
        found.append(Link(Content.assemble(title, "  ", (when, "$quiet")), session=one.id))
    return tuple(found)


def _facts(document: Document, hit: DocumentHit | None, now: datetime) -> Content:
    sign, word, style = state_text(document.state)
    parts: list[str | Content | tuple[str, str]] = [(title_text(document), "bold"), "\n"]
    parts += [(f"{short_path(document.path)}\n", "$quiet"), (f"{sign} {word}", style)]
    facts = [size(document.size)]
    if document.pages:
        facts.append(ngettext("{count} page", "{count} pages", document.pages))
    if document.project:
        facts.append(_("project {name}", name=clean_line(document.project)))
    if document.copied:
        facts.append(_("a copy is kept in the room"))
    parts.append((f" · {' · '.join(facts)}\n", "$quiet"))
    about = [clean_line(document.author)] if document.author else []
    if document.indexed_at is not None:
        about.append(_("read {when}", when=long(document.indexed_at, now)))
    parts.append((f"{' · '.join(about)}\n", "$quiet"))
    if document.error is not None:
        explained = document_error(document)
        parts += [
            "\n",
            (f"{clean(explained.message)}\n", style),
            (f"{clean(explained.next_step)}\n", "$quiet"),
        ]
    if hit is not None:
        place = place_text(hit.chunk.page, hit.chunk.lines)
        where = " › ".join([*map(clean_line, hit.chunk.heading), place])
        is_markdown = document.media_type.startswith(MARKDOWN)
        text = markdown_text(hit.chunk.text) if is_markdown else clean(hit.chunk.text).strip()
        parts += ["\n", (f"{where}\n", "bold $accent"), text, "\n"]
    elif document.summary is not None:
        heading = _("Summary (sentences of the document)") if document.summary.fallback else _("Summary")
        parts += ["\n", (f"{heading}\n", "bold $accent"), markdown_text(document.summary.text), "\n"]
    elif document.chunks:
        parts += ["\n", (_("No summary yet. Press s to make one."), "$quiet"), "\n"]
    return Content.assemble(*parts)


def _folder_facts(row: Row, folder: WatchedFolder, now: datetime, *, left_out: bool) -> Content:
    """`left_out`: the room has files that scans do not add."""
    parts: list[str | Content | tuple[str, str]] = [(short_path(folder.path), "bold"), "\n"]
    seen = _("not read yet") if folder.scanned_at is None else long(folder.scanned_at, now)
    parts.append((f"{_('Watched folder · last read: {when}', when=seen)}\n", "$quiet"))
    for label, patterns in ((_("Only"), folder.include), (_("Not"), folder.exclude)):
        if patterns:
            parts.append(f"{label}: {clean_line(', '.join(patterns))}\n")
    parts.append(f"{_('If a file is gone')}: {on_missing_text(folder.on_missing)}\n")
    counts: dict[DocumentState, int] = {}
    for one in row.documents:
        counts[one.state] = counts.get(one.state, 0) + 1
    for state, count in counts.items():
        sign, word, style = state_text(state)
        parts += [(f"{sign} ", style), f"{number(count)} {word}\n"]
    if left_out:
        words = _(
            "Files that you forgot, removed for good or moved to another room stay out. a adds them again."
        )
        parts.append((f"{words}\n", "$quiet"))
    if folder.skipped:
        words = ngettext("{count} file skipped", "{count} files skipped", len(folder.skipped))
        parts += ["\n", (f"{words}\n", "bold $accent")]
        parts += [
            f"{clean_line(where) or _('The folder itself')}: {scan_reason(why)}\n"
            for where, why in folder.skipped[:_SKIPPED]
        ]
        if len(folder.skipped) > _SKIPPED:
            parts.append(f"{_('… and {count} more', count=number(len(folder.skipped) - _SKIPPED))}\n")
    return Content.assemble(*parts)


def _attached_facts(attached: "AttachedText") -> Content:
    length = ngettext("{count} character", "{count} characters", attached.characters)
    about = _(
        "The text of this file is attached to conversations. It is not in the library: search does not find "
        "it, and Atlas does not follow changes of the file."
    )
    return Content.assemble(
        (clean_line(attached.name), "bold"), "\n", (f"{length}\n\n", "$quiet"), (about, "$quiet"), "\n"
    )
