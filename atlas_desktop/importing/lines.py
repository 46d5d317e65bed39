"""Reads Atlas's own exports: sessions and memories, one per line or in lists of a JSON document."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from atlas_desktop.exporting.document import CITATIONS, UNSUPPORTED
from atlas_desktop.importing.entities import NotJson, Unreadable
from atlas_desktop.importing.sources import (
    Note,
    Part,
    aware,
    decoded,
    identifier,
    json_text,
    mapping,
    moment,
    objects,
    streamed,
)
from atlas_desktop.locale import _
from atlas_desktop.services.attachments import MOST_CHARACTERS
from atlas_desktop.services.cleaning import clean, clean_line
from memory.documents.entities import CitedReply, StoredCitation
from memory.entities import CategorySource, MemoryMode, MessageStatus, TitleSource
from memory.memories.entities import MemoryKind, MemoryState
from memory.transfer import (
    TravellingAttachment,
    TravellingCitations,
    TravellingEvidence,
    TravellingMemory,
    TravellingMessage,
    TravellingSession,
)
from models.messages import Role

LONGEST_LINE = 64 * 1024 * 1024
"""Maximum bytes of one session."""

_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
_Status = Literal["complete", "partial", "failed"]
_StopReason = Literal["stop", "length", "cancelled", "error"]


class MessageLine(msgspec.Struct, frozen=True):
    """A message in a line; without `parent`, it answers the one before it."""

    id: _Id
    role: Role
    content: str
    speaker: str = ""
    created_at: datetime | None = None
    parent: _Id | msgspec.UnsetType | None = msgspec.UNSET
    status: _Status = "complete"
    stop_reason: _StopReason | None = None
    important: bool = False
    model: str | None = None


class SessionLine(msgspec.Struct, frozen=True):
    """A session in a line."""

    id: _Id
    messages: list[dict[str, Any]]
    title: str = ""
    title_source: TitleSource = TitleSource.IMPORTED
    project: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    tags: list[str] = []
    memory_mode: Literal["normal", "reads", "blank"] = "normal"
    system_prompt: str | None = None
    model: str | None = None
    starred: bool = False
    important: bool = False
    pinned_at: datetime | None = None
    archived_at: datetime | None = None
    category: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    category_source: CategorySource = CategorySource.NONE
    head: str | None = None


class AttachmentLine(msgspec.Struct, frozen=True):
    """The extracted text of a file, in a line."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    type: str
    bytes: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    added_at: datetime
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_CHARACTERS)]


_Place = Annotated[int, msgspec.Meta(ge=0, le=2**31)]


class CitationLine(msgspec.Struct, frozen=True):
    """A citation of a reply in a line: with a page, or with its lines; `chars` is the quoted range."""

    marker: Annotated[int, msgspec.Meta(ge=1, le=10_000)]
    document: _Id
    chars: tuple[_Place, _Place]
    quote: str
    verified: bool
    page: _Place | None = None
    lines: tuple[_Place, _Place] | None = None


_ATTACHMENTS = "attachments"
_ONE_LINE = str.maketrans("\n\t", "  ")
_TIMES = frozenset({"created_at", "updated_at", "pinned_at", "archived_at"})
_SESSION_FIELDS = frozenset(SessionLine.__struct_fields__)
_MESSAGE_FIELDS = frozenset(MessageLine.__struct_fields__)
_ATTACHMENT_FIELDS = frozenset(AttachmentLine.__struct_fields__)


def read(parts: Sequence[Part], note: Note) -> Iterator[tuple[str, TravellingSession]]:
    """Yields the sessions of files of lines, and of documents that contain the same objects.

    Raises `Unreadable`, `OSError`.
    """
    for part in parts:
        head = part.head(64 * 1024)
        begun = head.lstrip(b"\xef\xbb\xbf \t\r\n")
        document = begun[:1] == b"[" or begun.split(b"\n", 1)[0].strip() == b"{"
        for where, value in objects(part, note) if document else _decoded(part, note):
            try:
                session = session_of(value)
            except Unreadable as fault:
                note(where, fault.why)
            else:
                yield where, session


def _decoded(part: Part, note: Note) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(_lines(part), start=1):
        where = f"{part.where}:{number}"
        if line is None:
            note(where, _("longer than {bytes} bytes", bytes=LONGEST_LINE))
        elif line.strip():
            try:
                yield where, _value(line)
            except Unreadable as fault:
                note(where, fault.why)


def _value(line: bytes) -> Any:
    try:
        return decoded(line)
    except NotJson:
        raise Unreadable(_("not a JSON object")) from None


def read_line(line: bytes) -> TravellingSession:
    """Returns a session from one line; unknown fields are kept in `meta`. Raises `Unreadable`."""
    return session_of(_value(line))


def session_of(raw: Any) -> TravellingSession:
    """Returns a session from the value of a line. Raises `Unreadable`."""
    try:
        given = msgspec.convert(_with_times(raw), SessionLine)
        rows = [msgspec.convert(_with_times(message), MessageLine) for message in given.messages]
    except msgspec.ValidationError as fault:
        raise Unreadable(_place(fault)) from None
    except UnicodeEncodeError:
        raise Unreadable(_("an incomplete character in a fixed value or a time")) from None
    except RecursionError:
        raise Unreadable(_("nested too deeply")) from None
    created = _aware(given.created_at) or next(
        (found for row in rows if (found := _aware(row.created_at)) is not None), None
    )
    if created is None:
        raise Unreadable(_("no time: `created_at` is missing"))
    if len({row.id for row in rows}) != len(rows):
        raise Unreadable(_("two messages with the same id"))
    messages = tuple(_messages(rows, given.messages, created))
    latest = max((message.created_at for message in messages), default=created)
    attached, raw = _attached(raw)
    return TravellingSession(
        id=identifier(given.id),
        title=_line(given.title),
        created_at=created,
        updated_at=_aware(given.updated_at) or max(created, latest),
        messages=messages,
        title_source=given.title_source,
        project=_line(given.project or "") or None,
        tags=tuple(tag for one in given.tags if (tag := _line(one))),
        memory_mode=MemoryMode(given.memory_mode),
        system_prompt=None if given.system_prompt is None else clean(given.system_prompt),
        model=None if given.model is None else _line(given.model),
        starred=given.starred,
        important=given.important,
        head=given.head and identifier(given.head),
        meta=_rest(raw, _SESSION_FIELDS),
        pinned_at=_aware(given.pinned_at),
        archived_at=_aware(given.archived_at),
        category=clean_line(given.category),
        category_source=given.category_source,
        attachments=attached,
        citations={
            message.id: cited
            for message in messages
            if message.role is Role.ASSISTANT and (cited := _citations(message.meta)) is not None
        },
    )


def _line(text: str) -> str:
    """Returns a title or name on one line, because lists show it as a row; its inner spaces are kept."""
    return clean(text).translate(_ONE_LINE).strip()


def _attached(raw: dict[str, Any]) -> tuple[tuple[TravellingAttachment, ...], dict[str, Any]]:
    """Returns the attachments to store and the remaining fields, which only name attachments without text."""
    listed = raw.get(_ATTACHMENTS)
    if not isinstance(listed, list):
        return (), raw
    attached, named = [], []
    for one in listed:
        try:
            line = msgspec.convert(one, AttachmentLine)
        except (msgspec.ValidationError, UnicodeEncodeError):
            named.append(one)
            continue
        name, text, at = clean_line(line.name), clean(line.text), _aware(line.added_at)
        if name and text and at is not None and one.keys() <= _ATTACHMENT_FIELDS:
            attached.append(TravellingAttachment(name, clean_line(line.type), line.bytes, at, text))
        else:
            named.append(one)
    left = {key: value for key, value in raw.items() if key != _ATTACHMENTS or named}
    return tuple(attached), {**left, _ATTACHMENTS: named} if named else left


def _citations(meta: str) -> TravellingCitations | None:
    """Returns the citations among the remaining fields of a reply; None if there are none, or not all of them
    are such as Atlas writes."""
    if f'"{CITATIONS}"' not in meta:
        return None
    fields = json.loads(meta)
    listed, ranges = fields.pop(CITATIONS, None), fields.pop(UNSUPPORTED, [])
    try:
        lines = msgspec.convert(listed, list[CitationLine])
        unsupported = msgspec.convert(ranges, list[tuple[_Place, _Place]])
    except msgspec.ValidationError:
        return None
    if not (lines or unsupported) or any(begin >= end for begin, end in unsupported):
        return None
    citations = tuple(
        StoredCitation(
            marker=one.marker,
            document=one.document,
            title="",
            page=one.page,
            lines=one.lines or (0, 0),
            begin=one.chars[0],
            end=one.chars[1],
            quote=clean(one.quote),
            verified=one.verified,
            sha256="",
        )
        for one in lines
    )
    return TravellingCitations(CitedReply(citations, tuple(dict(unsupported).items())), json_text(fields))


def _with_times(fields: Any) -> Any:
    """Converts times that are numbers or dates alone."""
    known = {
        name: found
        for name in _TIMES & mapping(fields).keys()
        if not isinstance(value := fields[name], str) or "T" not in value
        if (found := moment(value)) is not None
    }
    return {**fields, **known} if known else fields


def _messages(
    rows: list[MessageLine], raw: list[dict[str, Any]], begun: datetime
) -> Iterator[TravellingMessage]:
    before: str | None = None
    for row, fields in zip(rows, raw, strict=True):
        yield TravellingMessage(
            id=identifier(row.id),
            parent=before if row.parent is msgspec.UNSET else row.parent and identifier(row.parent),
            role=row.role,
            speaker=_line(row.speaker),
            content=clean(row.content),
            created_at=_aware(row.created_at) or begun,
            status=MessageStatus(row.status),
            stop_reason=row.stop_reason,
            important=row.important,
            model=None if row.model is None else _line(row.model),
            meta=_rest(fields, _MESSAGE_FIELDS),
        )
        before = identifier(row.id)


def _rest(raw: dict[str, Any], known: frozenset[str]) -> str:
    return json_text({key: value for key, value in raw.items() if key not in known})


def _aware(given: datetime | None) -> datetime | None:
    """Returns a time in UTC, which is assumed without an offset.

    Raises `Unreadable` at the limits of `datetime`.
    """
    try:
        return None if given is None else aware(given)
    except OverflowError:
        raise Unreadable(_("an invalid time")) from None


def _place(fault: msgspec.ValidationError) -> str:
    """Returns the error and its place, without the content that msgspec may quote from the line."""
    _unused, _unused, path = str(fault).partition(" - at `")
    expected = str(fault).split(",")[0].split(" - at ")[0]
    said = expected if expected.startswith(("Expected", "Object missing")) else _("Unexpected content")
    return _("{what} at {place}", what=said, place=path.rstrip("`")) if path else said


def _lines(part: Part) -> Iterator[bytes | None]:
    """Yields the lines of a file, or None for one that is too long."""
    with part.open() as file:
        while line := file.readline(LONGEST_LINE + 1):
            if len(line) <= LONGEST_LINE:
                yield line
                continue
            while line and not line.endswith(b"\n"):
                line = file.readline(LONGEST_LINE)
            yield None


# --- memories ---------------------------------------------------------------------------------------

LONGEST_MEMORY = 20_000
"""Maximum characters of a memory."""
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class EvidenceLine(msgspec.Struct, frozen=True):
    """The quoted text behind a memory, in a line."""

    session: _Id
    message: _Id
    quote: Annotated[str, msgspec.Meta(max_length=LONGEST_MEMORY)]


class MemoryLine(msgspec.Struct, frozen=True):
    """A memory in a line."""

    id: _Id
    kind: MemoryKind
    state: MemoryState
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_MEMORY)]
    created_at: datetime
    updated_at: datetime
    subject: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    importance: _Share = 0.5
    confidence: _Share = 1.0
    pinned: bool = False
    project: str | None = None
    evidence: list[EvidenceLine] = []


def read_memories(parts: Sequence[Part], note: Note) -> Iterator[TravellingMemory]:
    """Yields the memories of files of lines. Raises `Unreadable`, `OSError`."""
    for part in parts:
        yield from _memories(objects(part, note), note)


def memories_of_document(part: Part, note: Note) -> Iterator[TravellingMemory]:
    """Yields the memories next to the sessions in one of the program's own JSON documents."""
    yield from _memories(streamed(part, "memories.item", note), note)


def _memories(values: Iterator[tuple[str, Any]], note: Note) -> Iterator[TravellingMemory]:
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
