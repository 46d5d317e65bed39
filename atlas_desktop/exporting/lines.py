"""JSON and CSV exports: one session per line (the import format), a single JSON object, and a table."""

import csv
import io
import json
import re
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, BinaryIO

from atlas_desktop.exporting.document import About, BaseWriter, MemoryRecord, shown_branch
from atlas_desktop.services.cleaning import clean
from memory.storage.transfer import TransferStore
from memory.transfer import TravellingMessage, TravellingSession

# These also control a terminal or the text direction, but JSON escapes only characters below U+0020.
_STEERING = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


class Exporter:
    """Exports sessions as lines; importing these into an empty room gives the same lines again."""

    def __init__(self, store: TransferStore) -> None:
        self._store = store

    async def jsonl(self, session_ids: Sequence[str] | None = None) -> AsyncIterator[str]:
        """Yields one line per session, without line ends; None means all sessions that are not in the bin."""
        for session_id in await self._store.all_ids() if session_ids is None else session_ids:
            yield line_of(await self._store.give(session_id))


def line_of(session: TravellingSession) -> str:
    """Returns a session as one line of JSON; fields with their usual value are left out."""
    return dumps(fields_of(session))


def dumps(value: Any, *, indent: int | None = None) -> str:
    """Returns JSON in which no character controls a terminal or the text direction.

    Other non-ASCII text is not escaped.
    """
    separators = (", ", ": ") if indent is None else (",", ": ")
    text = json.dumps(value, ensure_ascii=False, separators=separators, indent=indent)
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def fields_of(session: TravellingSession) -> dict[str, Any]:
    """Returns the fields of a session's line."""
    fields: dict[str, Any] = {
        "id": session.id,
        "title": session.title,
        "project": session.project,
        "created_at": session.created_at.isoformat(),
        "updated_at": session.updated_at.isoformat(),
        "tags": list(session.tags),
    }
    last = session.messages[-1].id if session.messages else None
    fields |= _unusual(
        {
            "title_source": (session.title_source.value, "imported"),
            "memory_mode": (session.memory_mode.value, "normal"),
            "system_prompt": (session.system_prompt, None),
            "model": (session.model, None),
            "starred": (session.starred, False),
            "important": (session.important, False),
            "pinned_at": (_moment(session.pinned_at), None),
            "archived_at": (_moment(session.archived_at), None),
            "category": (session.category, ""),
            "category_source": (session.category_source.value, "none"),
            "head": (session.head, last),
        }
    )
    fields |= json.loads(session.meta)
    before: str | None = None
    lines = []
    for message in session.messages:
        lines.append(_message(message, before))
        before = message.id
    fields["messages"] = lines
    return fields


def _moment(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _message(message: TravellingMessage, before: str | None) -> dict[str, Any]:
    return {
        "id": message.id,
        "role": message.role.value,
        "speaker": message.speaker,
        "content": message.content,
        "created_at": message.created_at.isoformat(),
        **_unusual(
            {
                "parent": (message.parent, before),
                "status": (message.status.value, "complete"),
                "stop_reason": (message.stop_reason, None),
                "important": (message.important, False),
                "model": (message.model, None),
            }
        ),
        **json.loads(message.meta),
    }


def _unusual(fields: dict[str, tuple[Any, Any]]) -> dict[str, Any]:
    return {name: value for name, (value, usual) in fields.items() if value != usual}


class LinesWriter(BaseWriter):
    """Writes one session per line and nothing else, as the import expects; memories are separate lines."""

    def session(self, session: TravellingSession) -> None:
        self.write(line_of(session) + "\n")

    def memories(self, memories: Sequence[MemoryRecord]) -> None:
        for memory in memories:
            self.write(dumps(memory.fields()) + "\n")


class JsonWriter(BaseWriter):
    """Writes one object: `sessions`, each with the fields of its line, and `memories` if there are any."""

    def __init__(self, out: BinaryIO, about: About) -> None:
        super().__init__(out, about)
        self._any = False
        self._kept: list[MemoryRecord] = []

    def begin(self) -> None:
        head = {"format": "atlas-export", "version": 1, "exported_at": self.about.written_at.isoformat()}
        self.write(dumps(head, indent=2).removesuffix("\n}") + ',\n  "sessions": [')

    def session(self, session: TravellingSession) -> None:
        body = dumps(fields_of(session), indent=2).replace("\n", "\n    ")
        self.write(f"{',' if self._any else ''}\n    {body}")
        self._any = True

    def memories(self, memories: Sequence[MemoryRecord]) -> None:
        self._kept.extend(memories)

    def end(self) -> None:
        self.write("\n  ]" if self._any else "]")
        if self._kept:
            body = dumps([memory.fields() for memory in self._kept], indent=2).replace("\n", "\n  ")
            self.write(f',\n  "memories": {body}')
        self.write("\n}\n")


COLUMNS = (
    "session", "title", "project", "tags", "message", "parent", "shown", "role", "speaker", "created_at",
    "status", "important", "model", "content",
)  # fmt: skip
MEMORY_COLUMNS = (
    "id", "kind", "state", "subject", "text", "importance", "confidence", "pinned", "created_at",
    "updated_at", "project", "sources",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def cell(text: str) -> str:
    """Returns text that no spreadsheet treats as a formula, prefixed with an apostrophe if necessary.

    The check ignores leading spaces because some programs skip them.
    """
    text = clean(text)
    return "'" + text if text.lstrip(" \u00a0").startswith(_FORMULA) else text


class TableWriter(BaseWriter):
    """Writes CSV (RFC 4180, UTF-8): the messages of all branches, or memories alone."""

    def __init__(self, out: BinaryIO, about: About) -> None:
        super().__init__(out, about)
        self._text = io.StringIO(newline="")
        self._csv = csv.writer(self._text)

    def begin(self) -> None:
        if self.about.sessions:
            self._row(COLUMNS)

    def session(self, session: TravellingSession) -> None:
        shown = {message.id for message in shown_branch(session)}
        tags = ", ".join(session.tags)
        for message in session.messages:
            self._csv.writerow(
                [
                    cell(session.id),
                    cell(session.title),
                    cell(session.project or ""),
                    cell(tags),
                    cell(message.id),
                    cell(message.parent or ""),
                    "yes" if message.id in shown else "no",
                    message.role.value,
                    cell(message.speaker),
                    message.created_at.isoformat(),
                    message.status.value,
                    "yes" if message.important else "no",
                    cell(message.model or ""),
                    cell(message.content),
                ]
            )
        self._flush()

    def memories(self, memories: Sequence[MemoryRecord]) -> None:
        self._row(MEMORY_COLUMNS)
        for memory in memories:
            fields = memory.fields() | {"sources": " ".join(memory.sources)}
            self._row([_plain(fields[name]) for name in MEMORY_COLUMNS])

    def _row(self, row: Sequence[str]) -> None:
        self._csv.writerow(row)
        self._flush()

    def _flush(self) -> None:
        self.write(self._text.getvalue())
        self._text.seek(0)
        self._text.truncate()


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else cell(value) if isinstance(value, str) else json.dumps(value)
