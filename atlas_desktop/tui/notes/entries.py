"""The rows of the Notes view: the notes of the open rooms."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from atlas_desktop.locale import N_, _
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.calendar import short
from memory.entities import RoomKind
from memory.notes.markup import folded

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from memory.documents.entities import DocumentHit
    from memory.notes.entities import NoteEntry

_ROOMS = {RoomKind.PRIVATE: N_("private"), RoomKind.OFF_RECORD: N_("unsaved")}
_HEADINGS = {"titles": N_("In titles"), "text": N_("In the text")}
_LEAST_TITLE = 12
_SNIPPET = 300


@dataclass(frozen=True, slots=True)
class Row:
    """One row: a heading, a note, or a passage `hit` of one. `id` identifies it in its list."""

    id: str
    room: "RoomServices | None" = None
    note: "NoteEntry | None" = None
    hit: "DocumentHit | None" = None
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Shelf:
    """The notes of one room."""

    room: "RoomServices"
    notes: "tuple[NoteEntry, ...]"


@dataclass(frozen=True, slots=True)
class Hits:
    """The passages of one room's notes that were found."""

    room: "RoomServices"
    hits: "tuple[DocumentHit, ...]"


def rooms_of(app: "BaseApp") -> "list[RoomServices]":
    """Returns the rooms whose notes are shown, that of the conversation first: the open ones; the one in
    memory only if there is no other."""
    here = app.room
    rooms = [one for one in app.desk.open_rooms if one.store.room is not RoomKind.OFF_RECORD]
    rooms.sort(key=lambda one: one is not here)
    return rooms or [here]


async def read_shelves(rooms: "Sequence[RoomServices]", *, binned: bool) -> list[Shelf]:
    return [Shelf(room, tuple(await room.notes.list(binned=binned))) for room in rooms]


def rows_of(shelves: Sequence[Shelf], words: str = "", hits: Sequence[Hits] = ()) -> list[Row]:
    """Returns the rows to show: all notes, latest first, or those that the words find.

    A word that begins with # is a tag; the others are looked for in titles, projects and first lines, and
    `hits` are what was found in the texts.
    """
    every = sorted(
        ((one, shelf.room) for shelf in shelves for one in shelf.notes),
        key=lambda pair: pair[0].deleted_at or pair[0].updated_at,
        reverse=True,
    )
    if not words:
        return [_of(note, room) for note, room in every]
    return list(_found(every, words, hits))


def _of(note: "NoteEntry", room: "RoomServices") -> Row:
    return Row(f"note {note.id}", room, note)


def _found(
    every: "Sequence[tuple[NoteEntry, RoomServices]]", words: str, hits: Sequence[Hits]
) -> Iterator[Row]:
    named = [(note, room) for note, room in every if _matches(note, words)]
    if named and hits:
        yield Row("titles", heading="titles")
    yield from (_of(note, room) for note, room in named)
    known = {note.id: note for note, _room in every}
    passages = [(one, found.room) for found in hits for one in found.hits if one.chunk.document in known]
    if passages:
        yield Row("text", heading="text")
    for hit, room in passages:
        yield Row(f"hit {hit.chunk.id}", room, known[hit.chunk.document], hit)


def _matches(note: "NoteEntry", words: str) -> bool:
    tags = [tag.casefold() for tag in note.tags]
    text = folded(f"{note.title} {note.project or ''} {note.external_id} {note.words}")
    for word in folded(words).split():
        if word.startswith("#") and len(word) > 1:
            if not any(tag == word[1:] or tag.startswith(f"{word[1:]}/") for tag in tags):
                return False
        elif word not in text:
            return False
    return True


def text_words(words: str) -> str:
    """Returns the words to look for in texts: those that are no tags."""
    return " ".join(word for word in words.split() if not word.startswith("#"))


# --- as text ----------------------------------------------------------------------------------------


def row_text(row: Row, width: int, now: datetime) -> Content:
    """Returns a row as one line of a width, or two for a passage."""
    if row.heading:
        return Content.styled(_(_HEADINGS[row.heading]), "bold $accent")
    note = row.note
    assert note is not None
    assert row.room is not None
    kind = row.room.store.room
    mark = (f"{_(_ROOMS[kind])} ", "bold $warning") if kind in _ROOMS else ("", "")
    facts = short(note.deleted_at or note.updated_at, now)
    more = [f"#{tag}" for tag in note.tags] + ([note.project] if note.project else [])
    about = clean_line(" ".join(more))
    left = width - cell_len(mark[0]) - 1
    if cell_len(about) + cell_len(facts) + 3 <= left - max(cell_len(note.title), _LEAST_TITLE):
        facts = f"{about} · {facts}" if about else facts
    title = cut(clean_line(note.title) or _("Untitled"), max(left - cell_len(facts) - 1, _LEAST_TITLE))
    gap = " " * max(left + 1 - cell_len(title) - cell_len(facts), 1)
    line = Content.assemble(mark, (title, "bold"), gap, (facts, "$quiet"))
    if row.hit is None:
        return line
    words = cut(clean_line(row.hit.chunk.text[:_SNIPPET]), width - 2)
    return Content.assemble(line, "\n  ", (words, "$quiet"))


def cut(text: str, width: int) -> str:
    """Returns a text in at most `width` cells."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 1)).rstrip() + "…"


def room_mark(kind: RoomKind) -> str:
    """Returns how a note of a room is marked; empty for the open room."""
    return _(_ROOMS[kind]) if kind in _ROOMS else ""
