"""Data types of an import: content, omissions, and the result."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from atlas_desktop.errors import Skipped, UnknownExport
from atlas_desktop.importing.formats import Format
from memory.entities import MemoryMode, MessageStatus
from models.messages import Role

MOST_TOLD = 1000
"""Maximum number of skipped items that are listed; further ones are only counted."""


class Unreadable(Exception):
    """Raised for invalid data; `why` names the place in it, never its content."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class NotJson(Unreadable):
    """Raised for data that should be JSON and is not."""


class NotASession(str):
    """The reason for skipping something that does not look like a conversation; it is not a fault of the
    file."""

    __slots__ = ()


@dataclass(slots=True)
class ImportedMessage:
    """A message as given by its origin; a message without content only links the tree.

    `parent` may name a message that is missing or comes later; `created_at` may be missing.
    """

    id: str
    parent: str | None
    role: Role
    content: str = field(repr=False)
    created_at: datetime | None = None
    speaker: str = field(default="", repr=False)
    model: str | None = None
    status: MessageStatus = MessageStatus.COMPLETE
    stop_reason: str | None = None
    important: bool = False
    meta: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(slots=True)
class ImportedSession:
    """A conversation as given by its origin, in any order and with any gaps."""

    id: str
    messages: list[ImportedMessage] = field(repr=False)
    title: str = field(default="", repr=False)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    head: str | None = None
    project: str | None = field(default=None, repr=False)
    tags: list[str] = field(default_factory=list, repr=False)
    system_prompt: str | None = field(default=None, repr=False)
    model: str | None = None
    memory_mode: MemoryMode = MemoryMode.NORMAL
    starred: bool = False
    important: bool = False
    pinned: bool = False
    archived: bool = False
    meta: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options for all files of an import.

    `format` None: each file's format is detected. `project` and `memory_mode` override what a file says.
    Without `learn`, nothing is learned from the imported messages.
    """

    format: Format | None = None
    project: str | None = None
    memory_mode: MemoryMode | None = None
    dry_run: bool = False
    learn: bool = False


@dataclass(slots=True)
class ImportReport:
    """Result of an import, with counts of what was stored.

    `already_there` counts messages and `known_sessions` sessions stored earlier. `elsewhere` counts those
    left out because they exist in another room or form. `formats` gives the format of each file. `unknown`
    contains files of no known format and, if known, what is wrong with them. `passed_over` are files without
    conversations. `first` and `last` are the times of the oldest and the newest message.
    """

    sessions: int = 0
    messages: int = 0
    already_there: int = 0
    known_sessions: int = 0
    elsewhere: int = 0
    memories: int = 0
    known_memories: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    more_skipped: int = 0
    formats: dict[str, Format] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    passed_over: list[str] = field(default_factory=list)
    more_passed_over: int = 0
    first: datetime | None = None
    last: datetime | None = None

    def require_known(self) -> None:
        """Raises `UnknownExport` if nothing in any of the files was understood."""
        found = self.sessions or self.known_sessions or self.elsewhere or self.memories or self.known_memories
        if not found and (self.unknown or self.skipped):
            raise UnknownExport(tuple(self.unexplained), tuple(self.skipped), self.more_skipped)

    @property
    def unexplained(self) -> list[Skipped]:
        """Entries of `unknown` whose reason is not among `skipped`."""
        places = [one.where for one in self.skipped]
        return [
            Skipped(name, why)
            for name, why in self.unknown.items()
            if not any(place == name or place.startswith((f"{name}/", f"{name}:")) for place in places)
        ]

    def skip(self, where: str, why: str) -> None:
        if len(self.skipped) < MOST_TOLD:
            self.skipped.append(Skipped(where, why))
        else:
            self.more_skipped += 1

    def pass_over(self, where: str) -> None:
        if len(self.passed_over) < MOST_TOLD:
            self.passed_over.append(where)
        else:
            self.more_passed_over += 1

    def seen(self, first: datetime, last: datetime) -> None:
        self.first = first if self.first is None else min(first, self.first)
        self.last = last if self.last is None else max(last, self.last)


@dataclass(slots=True)
class Meter:
    """Progress of an import in bytes of `total`, and its duration in seconds.

    Of the `done` bytes read, `ahead` are still buffered. Everything in the first `stored` bytes is in the
    room.
    """

    total: int = 0
    done: int = 0
    ahead: int = 0
    stored: int = 0
    seconds: float = 0.0

    @property
    def share(self) -> float:
        """Share stored, in whole hundredths, so that the last one is reported when nothing is left."""
        return min(100 * self.stored // self.total, 100) / 100 if self.total else 0.0

    @property
    def remaining(self) -> float | None:
        """Seconds left at the same rate; None while unknown, and when nothing is left."""
        if self.seconds < 1 or not 0 < self.stored < self.total:
            return None
        return self.seconds * (self.total - self.stored) / self.stored
