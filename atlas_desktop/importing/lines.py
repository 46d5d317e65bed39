"""Lines of this program's own: one session a line, as it is written by an export."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from atlas_desktop.importing.entities import NotJson, Unreadable
from atlas_desktop.importing.json_reading import (
    Note,
    aware,
    decoded,
    identifier,
    json_text,
    mapping,
    moment,
    objects,
)
from atlas_desktop.importing.sources import Part
from atlas_desktop.services.attachments import MOST_CHARACTERS
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.words.catalogue import tr
from memory.entities import CategorySource, MemoryMode, MessageStatus, TitleSource
from memory.transfer import TravellingAttachment, TravellingMessage, TravellingSession
from models.messages import Role

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes of one session."""

_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
_Status = Literal["complete", "partial", "failed"]
_StopReason = Literal["stop", "length", "cancelled", "error"]


class MessageLine(msgspec.Struct, frozen=True):
    """A message as a line holds it. Without `parent` it answers the one before it."""

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
    """A session as a line holds it."""

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
    """What was read out of a file, as a line holds it."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    type: str
    bytes: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    added_at: datetime
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_CHARACTERS)]


_ATTACHMENTS = "attachments"
_ONE_LINE = str.maketrans("\n\t", "  ")
_TIMES = frozenset({"created_at", "updated_at", "pinned_at", "archived_at"})
_SESSION_FIELDS = frozenset(SessionLine.__struct_fields__)
_MESSAGE_FIELDS = frozenset(MessageLine.__struct_fields__)
_ATTACHMENT_FIELDS = frozenset(AttachmentLine.__struct_fields__)


def read(parts: Sequence[Part], note: Note) -> Iterator[tuple[str, TravellingSession]]:
    """The sessions of files of lines, and of documents that hold the same objects.

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
            note(where, tr("left_out.longer", bytes=LONGEST_LINE))
        elif line.strip():
            try:
                yield where, _value(line)
            except Unreadable as fault:
                note(where, fault.why)


def _value(line: bytes) -> Any:
    try:
        return decoded(line)
    except NotJson:
        raise Unreadable(tr("left_out.not_object")) from None


def read_line(line: bytes) -> TravellingSession:
    """A session from one line. Fields that are not known travel in `meta`. Raises `Unreadable`."""
    return session_of(_value(line))


def session_of(raw: Any) -> TravellingSession:
    """A session from the value of a line. Raises `Unreadable`."""
    try:
        given = msgspec.convert(_with_times(raw), SessionLine)
        rows = [msgspec.convert(_with_times(message), MessageLine) for message in given.messages]
    except msgspec.ValidationError as fault:
        raise Unreadable(_place(fault)) from None
    except UnicodeEncodeError:
        raise Unreadable(tr("left_out.half_character")) from None
    except RecursionError:
        raise Unreadable(tr("left_out.too_deep")) from None
    created = _aware(given.created_at) or next(
        (found for row in rows if (found := _aware(row.created_at)) is not None), None
    )
    if created is None:
        raise Unreadable(tr("left_out.no_time"))
    if len({row.id for row in rows}) != len(rows):
        raise Unreadable(tr("left_out.same_id"))
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
    )


def _line(text: str) -> str:
    """A title or a name, in one line: in a list it is a row. Its spaces stay."""
    return clean(text).translate(_ONE_LINE).strip()


def _attached(raw: dict[str, Any]) -> tuple[tuple[TravellingAttachment, ...], dict[str, Any]]:
    """What is to be attached, and the fields without it; what has no text is only known by its name."""
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


def _with_times(fields: Any) -> Any:
    """Times may be numbers, too, and dates alone."""
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
    """Times without an offset are taken as UTC. Raises `Unreadable` at the ends of time."""
    try:
        return None if given is None else aware(given)
    except OverflowError:
        raise Unreadable(tr("left_out.no_such_time")) from None


def _place(fault: msgspec.ValidationError) -> str:
    """What is wrong and where, without the words that msgspec may quote from the line."""
    _, _, path = str(fault).partition(" - at `")
    expected = str(fault).split(",")[0].split(" - at ")[0]
    said = expected if expected.startswith(("Expected", "Object missing")) else tr("left_out.not_expected")
    return tr("left_out.at", what=said, place=path.rstrip("`")) if path else said


def _lines(part: Part) -> Iterator[bytes | None]:
    """The lines of a file; None for one that is too long to be held."""
    with part.open() as file:
        while line := file.readline(LONGEST_LINE + 1):
            if len(line) <= LONGEST_LINE:
                yield line
                continue
            while line and not line.endswith(b"\n"):
                line = file.readline(LONGEST_LINE)
            yield None
