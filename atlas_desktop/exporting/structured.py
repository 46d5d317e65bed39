"""JSON for programs: lines, one object for everything, and a table of messages."""

import csv
import io
import json
from collections.abc import Sequence
from typing import BinaryIO

from atlas_desktop.exporting.document import About, BaseWriter, MemoryRecord, shown_branch
from atlas_desktop.exporting.lines import dumps, fields_of, line_of
from atlas_desktop.services.cleaning import clean
from memory.transfer.entities import TravellingSession


class LinesWriter(BaseWriter):
    """One session a line, nothing else: what an import takes in again. Memories are lines of their own."""

    def session(self, session: TravellingSession) -> None:
        self.write(line_of(session) + "\n")

    def memories(self, memories: Sequence[MemoryRecord]) -> None:
        for memory in memories:
            self.write(dumps(memory.fields()) + "\n")


class JsonWriter(BaseWriter):
    """One object: `sessions`, each with the fields of its line, and `memories` if there are any."""

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
    """A cell that no spreadsheet takes for a formula: one that begins like a formula gets an apostrophe.

    Spaces before it do not help a formula to hide: some programs skip them.
    """
    text = clean(text)
    return "'" + text if text.lstrip(" \u00a0").startswith(_FORMULA) else text


class TableWriter(BaseWriter):
    """Messages as CSV (RFC 4180, UTF-8), all branches; or memories, when there are only these."""

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
