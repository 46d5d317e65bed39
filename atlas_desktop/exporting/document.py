"""Shared parts of the readable export formats (branch, speakers, times), and the plain-text format."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, BinaryIO, Protocol

from atlas_desktop.services.cleaning import clean, clean_line
from memory.documents.entities import StoredCitation
from memory.entities import MessageStatus
from memory.transfer import TravellingEvidence, TravellingMessage, TravellingSession
from models.messages import Role

_PLAIN_NAMES = frozenset({"", "user", "assistant", "system", "you", "person", "human", "ai", "bot", "model"})
_ROLES = {Role.USER: "You", Role.ASSISTANT: "Assistant", Role.SYSTEM: "System"}


ATTACHMENTS = "attachments"
"""Session field that lists attached files: objects with `name`, `type`, `bytes`, `added_at` and `text`."""


CITATIONS = "citations"
"""Message field that lists the citations of a reply: objects as `citation_fields` returns them."""
UNSUPPORTED = "unsupported"
"""Message field that lists the ranges of a reply's sentences that are not in its sources."""


@dataclass(frozen=True, slots=True)
class About:
    """The input of a document writer: the time of writing (aware) and the number of sessions to come."""

    written_at: datetime
    sessions: int


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """A memory in exported form.

    `project` is a name. `sources` are the ids of the messages it is based on. `evidence` contains the
    exported ids of these messages and their sessions, and the quoted text.
    """

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
        """Returns the memory as a JSON-compatible dictionary."""
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
    """A document written incrementally: `begin`, then any number of sessions and memories, then `end`.

    An implementation may write its input at once or at the end; it keeps nothing else.
    """

    def begin(self) -> None: ...

    def session(self, session: TravellingSession) -> None: ...

    def memories(self, memories: Sequence[MemoryRecord]) -> None: ...

    def end(self) -> None: ...

    @property
    def missing(self) -> int:
        """Number of characters that could not be shown and were replaced."""
        ...


class BaseWriter:
    """Base class that writes UTF-8; `begin` and `end` write nothing unless overridden."""

    missing = 0

    def __init__(self, out: BinaryIO, about: About) -> None:
        self._out = out
        self.about = about

    def write(self, text: str) -> None:
        """Writes `text`; lone surrogates, which UTF-8 cannot encode, become question marks."""
        self._out.write(text.encode("utf-8", errors="replace"))

    def begin(self) -> None:
        """Writes nothing before the first session."""

    def end(self) -> None:
        """Writes nothing after the last session."""


def shown_branch(session: TravellingSession) -> tuple[TravellingMessage, ...]:
    """Returns the messages from the root to the head, or to the last message if the head is missing."""
    if not session.messages:
        return ()
    by_id = {message.id: message for message in session.messages}
    at: TravellingMessage | None = by_id.get(session.head or "", session.messages[-1])
    branch = []
    while at is not None:
        branch.append(at)
        # Parents come before children. Removing each parent keeps a cyclic tree from looping forever.
        at = None if at.parent is None else by_id.pop(at.parent, None)
    branch.reverse()
    return tuple(branch)


def told_branch(session: TravellingSession) -> tuple[TravellingMessage, ...]:
    """Returns the shown branch without failed messages that have no text."""
    return tuple(message for message in shown_branch(session) if not _wordless(message))


def _wordless(message: TravellingMessage) -> bool:
    return message.status is MessageStatus.FAILED and not message.content.strip()


def speaker_of(message: TravellingMessage) -> str:
    """Returns the speaker shown above a message: one line, cleaned."""
    return (named_speaker(message) if message.speaker else "") or _ROLES[message.role]


def named_speaker(message: TravellingMessage) -> str:
    """Returns the speaker's own name, or an empty string if it only repeats the role."""
    name = clean_line(message.speaker)
    return "" if name.lower() in _PLAIN_NAMES else name


def title_of(session: TravellingSession) -> str:
    """Returns the session's title: one line, cleaned, never empty."""
    return clean_line(session.title) or "Untitled conversation"


def attachments(session: TravellingSession) -> list[str]:
    """Returns the names of attached files, each cleaned and on one line."""
    if f'"{ATTACHMENTS}"' not in session.meta:
        return []
    listed = json.loads(session.meta).get(ATTACHMENTS)
    names = [one.get("name") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return [clean_line(name) for name in names if isinstance(name, str) and name.strip()]


def citation_fields(citation: StoredCitation) -> dict[str, Any]:
    """Returns a citation as a JSON-compatible dictionary."""
    return {
        "marker": citation.marker,
        "document": citation.document,
        "title": citation.title,
        "page": citation.page,
        "lines": None if citation.page is not None else list(citation.lines),
        "chars": [citation.begin, citation.end],
        "quote": citation.quote,
        "verified": citation.verified,
    }


def citations(message: TravellingMessage) -> list[str]:
    """Returns the citations of a reply, one cleaned line each: number, title, place and quote; then its
    sentences that are not in the sources."""
    if f'"{CITATIONS}"' not in message.meta:
        return []
    meta = json.loads(message.meta)
    listed = meta.get(CITATIONS)
    found = [_cited(one) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    for begin, end in unsupported(meta):
        if said := clean_line(message.content[begin:end]).strip():
            found.append(f"✗ not in the sources: “{said}”")
    return list(dict.fromkeys(filter(None, found)))


def unsupported(meta: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Returns the ranges of a reply's sentences that are not in its sources. Another program's field of that
    name has none."""
    listed = meta.get(UNSUPPORTED)
    return [
        (begin, end)
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, list) and len(one) == 2
        for begin, end in [one]
        if isinstance(begin, int) and isinstance(end, int) and 0 <= begin < end
    ]


def _cited(given: dict[str, Any]) -> str:
    """Returns the line of a citation; empty if it lacks number or title, as in another program's file."""
    marker, title, page, quote = (given.get(name) for name in ("marker", "title", "page", "quote"))
    if not isinstance(marker, int) or not isinstance(title, str):
        return ""
    verified = given.get("verified") is not False
    where = f", page {page}" if isinstance(page, int) else ""
    said = clean_line(quote) if isinstance(quote, str) else ""
    # What the source does not say must not look like a quotation from it.
    place = f"[{marker}] {clean_line(title)}{where}" + (", ✗ not found there" if not verified else "")
    return place + (f": “{said}”" if said else "")


def moment(at: datetime) -> str:
    """Formats a time for readers: `2024-02-03 04:05 UTC`."""
    return f"{at.year:04}-{at.month:02}-{at.day:02} {at.hour:02}:{at.minute:02} UTC"


def marks(message: TravellingMessage) -> list[str]:
    """Returns the message's special states as text: important, stopped, failed."""
    said = []
    if message.important:
        said.append("important")
    if message.status is MessageStatus.PARTIAL:
        said.append("stopped before its end")
    elif message.status is MessageStatus.FAILED:
        said.append("failed")
    return said


def remarks(session: TravellingSession) -> str:
    """Returns a note on messages of other branches, which readable formats leave out; empty if none."""
    shown = {message.id for message in shown_branch(session)}
    left = sum(message.id not in shown and not _wordless(message) for message in session.messages)
    if not left:
        return ""
    many = "message is" if left == 1 else "messages are"
    return f"{left} {many} on other branches; JSON and JSONL hold them."


def memory_line(memory: MemoryRecord) -> str:
    """Returns the line shown with a memory: kind, state, creation time, pinned, project."""
    parts = [memory.kind, memory.state, moment(memory.created_at)]
    if memory.pinned:
        parts.append("pinned")
    if memory.project:
        parts.append(clean_line(memory.project))
    return " · ".join(parts)


class TextWriter(BaseWriter):
    """Writes plain text, with messages indented below their speaker so that none can imitate another."""

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
            if sources := citations(message):
                parts.append(_indented("\n".join(["", "Sources:", *sources])))
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
