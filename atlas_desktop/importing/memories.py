"""Reads memories as `atlas export --memories` writes them: one per line, or a list in its JSON document."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec

from atlas_desktop.importing.entities import Unreadable
from atlas_desktop.importing.sources import Note, Part, aware, identifier, objects, streamed
from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean, clean_line
from memory.memories.entities import MemoryKind, MemoryState
from memory.transfer import TravellingEvidence, TravellingMemory

LONGEST = 20_000
"""Maximum characters of a memory."""
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]


class EvidenceLine(msgspec.Struct, frozen=True):
    """The quoted text behind a memory, in a line."""

    session: _Id
    message: _Id
    quote: Annotated[str, msgspec.Meta(max_length=LONGEST)]


class MemoryLine(msgspec.Struct, frozen=True):
    """A memory in a line."""

    id: _Id
    kind: MemoryKind
    state: MemoryState
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST)]
    created_at: datetime
    updated_at: datetime
    subject: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    importance: _Share = 0.5
    confidence: _Share = 1.0
    pinned: bool = False
    project: str | None = None
    evidence: list[EvidenceLine] = []


def read(parts: Sequence[Part], note: Note) -> Iterator[TravellingMemory]:
    """Yields the memories of files of lines. Raises `Unreadable`, `OSError`."""
    for part in parts:
        yield from _read(objects(part, note), note)


def of_document(part: Part, note: Note) -> Iterator[TravellingMemory]:
    """Yields the memories next to the sessions in one of the program's own JSON documents."""
    yield from _read(streamed(part, "memories.item", note), note)


def _read(values: Iterator[tuple[str, Any]], note: Note) -> Iterator[TravellingMemory]:
    for where, value in values:
        try:
            yield memory_of(value)
        except Unreadable as fault:
            note(where, fault.why)


def memory_of(value: Any) -> TravellingMemory:
    """Returns a memory from the value of a line. Raises `Unreadable`."""
    try:
        line = msgspec.convert(value, MemoryLine)
        created, updated = aware(line.created_at), aware(line.updated_at)
    except (msgspec.ValidationError, UnicodeEncodeError, OverflowError):
        raise Unreadable(_("Unexpected content")) from None
    if not (text := clean(line.text).strip()):
        raise Unreadable(_("Unexpected content"))
    return TravellingMemory(
        identifier(line.id),
        line.kind,
        line.state,
        text,
        clean_line(line.subject),
        line.importance,
        line.confidence,
        line.pinned,
        created,
        max(created, updated),
        clean_line(line.project or "") or None,
        tuple(
            TravellingEvidence(identifier(one.session), identifier(one.message), clean(one.quote))
            for one in line.evidence
        ),
    )
