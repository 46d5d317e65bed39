"""What every readable format shares (branch, speakers, times), and plain text."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, BinaryIO, Protocol

from atlas_desktop.services.cleaning import clean, clean_line
from memory.entities import MessageStatus
from memory.transfer import TravellingEvidence, TravellingMessage, TravellingSession
from models.messages import Role

_PLAIN_NAMES = frozenset({"", "user", "assistant", "system", "you", "person", "human", "ai", "bot", "model"})
_ROLES = {Role.USER: "You", Role.ASSISTANT: "Assistant", Role.SYSTEM: "System"}


ATTACHMENTS = "attachments"
"""The field of a session that lists files: objects with `name`, `type`, `bytes`, `added_at` and `text`."""


@dataclass(frozen=True, slots=True)
class About:
    """What a document is told of itself: when it is written (aware), and how many sessions will follow."""

    written_at: datetime
    sessions: int


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """A memory as it travels; `project` is a name. `sources` are ids of the messages it rests on, `evidence`
    are these with their sessions, by the ids under which they travel, and the words."""

    id: str
    kind: str
    state: str
    text: str = field(repr=False)
    subject: str = field(repr=False)
    importance: float
    confidence: float
    pinned: bool
    created_at: datetime
    updated_at: datetime
    project: str | None = field(default=None, repr=False)
    sources: tuple[str, ...] = ()
    evidence: tuple[TravellingEvidence, ...] = field(default=(), repr=False)

    def fields(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "id": self.id,
            "kind": self.kind,
            "state": self.state,
            "text": self.text,
            "subject": self.subject,
            "importance": self.importance,
            "confidence": self.confidence,
            "pinned": self.pinned,
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
            "project": self.project,
            "sources": list(self.sources),
            "evidence": [asdict(one) for one in self.evidence],
        }


class Writer(Protocol):
    """A document that grows: `begin`, then sessions and memories in any number, then `end`.

    What has been taken may be written at once or at the end; nothing else is kept.
    """

    def begin(self) -> None: ...

    def session(self, session: TravellingSession) -> None: ...

    def memories(self, memories: Sequence[MemoryRecord]) -> None: ...

    def end(self) -> None: ...

    @property
    def missing(self) -> int:
        """How many characters could not be shown and were replaced."""
        ...


class BaseWriter:
    """Writes UTF-8; a document without a beginning or an end of its own leaves these out."""

    missing = 0

    def __init__(self, out: BinaryIO, about: About) -> None:
        self._out = out
        self.about = about

    def write(self, text: str) -> None:
        """Lone surrogates, which UTF-8 cannot hold, become question marks."""
        self._out.write(text.encode("utf-8", errors="replace"))

    def begin(self) -> None:
        """Nothing stands before the first session."""

    def end(self) -> None:
        """Nothing stands after the last one."""


def shown_branch(session: TravellingSession) -> tuple[TravellingMessage, ...]:
    """The messages from the root to the head; of a session without one, those to its last message."""
    if not session.messages:
        return ()
    by_id = {message.id: message for message in session.messages}
    at: TravellingMessage | None = by_id.get(session.head or "", session.messages[-1])
    branch = []
    while at is not None:
        branch.append(at)
        # A parent always stands before its child; taking it out keeps a broken tree from going round.
        at = None if at.parent is None else by_id.pop(at.parent, None)
    branch.reverse()
    return tuple(branch)


def told_branch(session: TravellingSession) -> tuple[TravellingMessage, ...]:
    """The shown branch as it is read: without replies that were stopped or failed before their first word."""
    return tuple(message for message in shown_branch(session) if not _wordless(message))


def _wordless(message: TravellingMessage) -> bool:
    return message.status is MessageStatus.FAILED and not message.content.strip()


def speaker_of(message: TravellingMessage) -> str:
    """Whom a person reads above a message: one line, cleaned."""
    return (named_speaker(message) if message.speaker else "") or _ROLES[message.role]


def named_speaker(message: TravellingMessage) -> str:
    """A speaker's own name; empty when it is only the role."""
    name = clean_line(message.speaker)
    return "" if name.lower() in _PLAIN_NAMES else name


def title_of(session: TravellingSession) -> str:
    """Never empty; one line, cleaned."""
    return clean_line(session.title) or "Untitled conversation"


def attachments(session: TravellingSession) -> list[str]:
    """Names of the files that were attached: cleaned, each on one line."""
    if f'"{ATTACHMENTS}"' not in session.meta:
        return []
    listed = json.loads(session.meta).get(ATTACHMENTS)
    names = [one.get("name") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return [clean_line(name) for name in names if isinstance(name, str) and name.strip()]


def moment(at: datetime) -> str:
    """A time as people read it: `2024-02-03 04:05 UTC`."""
    return f"{at.year:04}-{at.month:02}-{at.day:02} {at.hour:02}:{at.minute:02} UTC"


def marks(message: TravellingMessage) -> list[str]:
    """What is special about a message, in words."""
    said = []
    if message.important:
        said.append("important")
    if message.status is MessageStatus.PARTIAL:
        said.append("stopped before its end")
    elif message.status is MessageStatus.FAILED:
        said.append("failed")
    return said


def remarks(session: TravellingSession) -> str:
    """What a readable format leaves out that was said, in words; empty when it is nothing."""
    shown = {message.id for message in shown_branch(session)}
    left = sum(message.id not in shown and not _wordless(message) for message in session.messages)
    if not left:
        return ""
    many = "message is" if left == 1 else "messages are"
    return f"{left} {many} on other branches; JSON and JSONL hold them."


def memory_line(memory: MemoryRecord) -> str:
    """What stands beside a memory."""
    parts = [memory.kind, memory.state, moment(memory.created_at)]
    if memory.pinned:
        parts.append("pinned")
    if memory.project:
        parts.append(clean_line(memory.project))
    return " · ".join(parts)


class TextWriter(BaseWriter):
    """What was said stands indented below who said it, so that no message can look like another's."""

    _any = False

    def session(self, session: TravellingSession) -> None:
        title = title_of(session)
        shown = told_branch(session)
        parts = [title, "=" * min(len(title), 80), f"begun {moment(session.created_at)}"]
        if session.project:
            parts.append(f"project {clean_line(session.project)}")
        if session.tags:
            parts.append("tags " + ", ".join(map(clean_line, session.tags)))
        if files := attachments(session):
            parts.append("attached " + ", ".join(files))
        if left := remarks(session):
            parts.append(left)
        for message in shown:
            said = "".join(f", {mark}" for mark in marks(message))
            parts.append(f"\n[{moment(message.created_at)}] {speaker_of(message)}{said}:")
            parts.append(_indented(message.content))
        self._put(parts)

    def memories(self, memories: Sequence[MemoryRecord]) -> None:
        parts = ["Memories", "========"]
        for memory in memories:
            parts.append(f"\n[{memory_line(memory)}]")
            parts.append(_indented(memory.text))
        self._put(parts)

    def _put(self, parts: Sequence[str]) -> None:
        self.write(("\n\n\n" if self._any else "") + "\n".join(parts) + "\n")
        self._any = True


def _indented(text: str) -> str:
    lines = (f"    {line}".rstrip() for line in clean(text).split("\n"))
    return "\n".join(lines)
