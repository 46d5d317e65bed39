"""Conversations from a file of lines, one session a line, into a room."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from memory.entities import MemoryMode, MessageStatus, TitleSource
from memory.errors import MessageNotFound
from memory.knowledge.ports import MemoryStore
from memory.transfer.entities import TravellingMessage, TravellingSession
from memory.transfer.ports import TransferStore
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
    head: str | None = None


_SESSION_FIELDS = frozenset(SessionLine.__struct_fields__)
_MESSAGE_FIELDS = frozenset(MessageLine.__struct_fields__)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A line that was left out. `why` never quotes the line."""

    where: str
    why: str


@dataclass(slots=True)
class ImportReport:
    """Counts of what was stored; `already_there` are messages that had been stored before."""

    sessions: int = 0
    messages: int = 0
    already_there: int = 0
    skipped: list[Skipped] = field(default_factory=list)


class Importer:
    """Reads files of session lines into a room. A second import of the same lines changes nothing.

    What is taken in counts as learned from in `learned_in`, so that nothing will be; without it everything
    is still to be learned.
    """

    def __init__(self, store: TransferStore, *, learned_in: MemoryStore | None = None) -> None:
        self._store = store
        self._learned_in = learned_in

    async def jsonl(
        self, path: Path, *, project: str | None = None, dry_run: bool = False, report: ImportReport
    ) -> None:
        """Takes in every line that can be understood and notes the others in `report`.

        `project` is used in place of the one that a line names. Raises `OSError`.
        """
        for number, line in enumerate(_lines(path), start=1):
            where = f"{path.name}:{number}"
            if line is None:
                report.skipped.append(Skipped(where, f"longer than {LONGEST_LINE} bytes"))
                continue
            if not line.strip():
                continue
            try:
                session = read_line(line, project=project)
                arrival = await self._store.take(session, dry_run=dry_run)
                if self._learned_in is not None and arrival.messages and not dry_run:
                    for one in await self._learned_in.unlearned(session=arrival.session_id):
                        await self._learned_in.mark_learned(one.session_id, one.seq)
            except Unreadable as fault:
                report.skipped.append(Skipped(where, fault.why))
            except MessageNotFound:
                report.skipped.append(Skipped(where, "a parent or the head is none of its messages"))
            else:
                report.sessions += arrival.new_session
                report.messages += arrival.messages
                report.already_there += arrival.already


class Unreadable(Exception):
    """A line that is not a session. `why` names the place in it, never its content."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def read_line(line: bytes, *, project: str | None = None) -> TravellingSession:
    """A session from one line. Fields that are not known travel in `meta`. Raises `Unreadable`."""
    try:
        raw = msgspec.json.decode(line)
        given = msgspec.convert(raw, SessionLine)
        rows = [msgspec.convert(message, MessageLine) for message in given.messages]
    except (msgspec.ValidationError, msgspec.DecodeError, RecursionError) as fault:
        raise Unreadable(_place(fault)) from None
    except UnicodeDecodeError:
        raise Unreadable("not UTF-8") from None
    created = _aware(given.created_at) or next(
        (moment for row in rows if (moment := _aware(row.created_at)) is not None), None
    )
    if created is None:
        raise Unreadable("no time: `created_at` is missing")
    if len({row.id for row in rows}) != len(rows):
        raise Unreadable("two messages with the same id")
    messages = tuple(_messages(rows, given.messages, created))
    latest = max((message.created_at for message in messages), default=created)
    return TravellingSession(
        id=given.id,
        title=given.title,
        created_at=created,
        updated_at=_aware(given.updated_at) or max(created, latest),
        messages=messages,
        title_source=given.title_source,
        project=(project or given.project) or None,
        tags=tuple(tag for tag in given.tags if tag),
        memory_mode=MemoryMode(given.memory_mode),
        system_prompt=given.system_prompt,
        model=given.model,
        starred=given.starred,
        important=given.important,
        head=given.head,
        meta=_rest(raw, _SESSION_FIELDS),
    )


def _messages(
    rows: list[MessageLine], raw: list[dict[str, Any]], begun: datetime
) -> Iterator[TravellingMessage]:
    before: str | None = None
    for row, fields in zip(rows, raw, strict=True):
        yield TravellingMessage(
            id=row.id,
            parent=before if row.parent is msgspec.UNSET else row.parent,
            role=row.role,
            speaker=row.speaker,
            content=row.content,
            created_at=_aware(row.created_at) or begun,
            status=MessageStatus(row.status),
            stop_reason=row.stop_reason,
            important=row.important,
            model=row.model,
            meta=_rest(fields, _MESSAGE_FIELDS),
        )
        before = row.id


def _rest(raw: dict[str, Any], known: frozenset[str]) -> str:
    return msgspec.json.encode({key: value for key, value in raw.items() if key not in known}).decode()


def _aware(moment: datetime | None) -> datetime | None:
    """Times without an offset are taken as UTC."""
    if moment is None:
        return None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone(UTC)


def _place(fault: Exception) -> str:
    """What is wrong and where, without the words that msgspec may quote from the line."""
    if isinstance(fault, msgspec.ValidationError):
        _, _, path = str(fault).partition(" - at `")
        expected = str(fault).split(",")[0].split(" - at ")[0]
        said = expected if expected.startswith(("Expected", "Object missing")) else "Not what is expected"
        return f"{said} at {path.rstrip('`')}" if path else said
    return "not a JSON object"


def _lines(path: Path) -> Iterator[bytes | None]:
    """The lines of a file; None for one that is too long to be held."""
    with path.open("rb") as file:
        while line := file.readline(LONGEST_LINE + 1):
            if len(line) <= LONGEST_LINE:
                yield line
                continue
            while line and not line.endswith(b"\n"):
                line = file.readline(LONGEST_LINE)
            yield None
