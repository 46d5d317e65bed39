"""The value types of organising: marks, undoable changes, tags, projects, and links between sessions."""

from dataclasses import dataclass, field
from datetime import datetime

from memory.entities import CategorySource, RoomKind


@dataclass(frozen=True, slots=True)
class Marks:
    """All marks by which a user organises a session. `project` is a name."""

    tags: tuple[str, ...] = field(default=(), repr=False)
    starred: bool = False
    important: bool = False
    pinned_at: datetime | None = None
    archived_at: datetime | None = None
    deleted_at: datetime | None = None
    category: str = field(default="", repr=False)
    category_source: CategorySource = CategorySource.NONE
    project: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class MarksPatch:
    """What to change; None leaves a mark as it is.

    A `category` or `project` of "" removes it. Tags are compared without case.
    """

    add_tags: tuple[str, ...] = field(default=(), repr=False)
    remove_tags: tuple[str, ...] = field(default=(), repr=False)
    starred: bool | None = None
    important: bool | None = None
    pinned: bool | None = None
    archived: bool | None = None
    binned: bool | None = None
    category: str | None = field(default=None, repr=False)
    project: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Organised:
    """One session before and after a change."""

    session_id: str
    title: str = field(repr=False)
    before: Marks
    after: Marks

    @property
    def changed(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class TagCount:
    """A tag, and how many sessions outside the bin have it."""

    tag: str = field(repr=False)
    sessions: int


@dataclass(frozen=True, slots=True)
class TagSuggestion:
    """A tag that would suit a session. `score` is between 0 and 1."""

    session_id: str
    tag: str = field(repr=False)
    score: float
    title: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Filed:
    """What categories and tags of a session are suggested from.

    `words` are the title and the beginning of the user's messages. `vector` is the mean of the messages'
    vectors, of length 1, as little-endian float32 (None without any). `locked` says that the user chose the
    category; `rejected` are tags that the user refused for this session.
    """

    session_id: str
    words: str = field(repr=False)
    tags: tuple[str, ...] = field(repr=False)
    category: str = field(repr=False)
    locked: bool
    vector: bytes | None = field(repr=False)
    rejected: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Merged:
    """A session that others were merged into.

    `sources` are those sessions: now empty and in the bin. Restoring one moves its messages back.
    """

    session_id: str
    sources: tuple[str, ...]
    messages: int


@dataclass(frozen=True, slots=True)
class Project:
    """A project with the counts of what belongs to it; sessions in the bin are not counted."""

    id: str
    name: str = field(repr=False)
    room: RoomKind
    created_at: datetime
    archived_at: datetime | None = None
    sessions: int = 0
    messages: int = 0
    memories: int = 0
    used_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ProjectDeleted:
    """A deleted project. Its sessions remain without one; `binned` says that they were moved to the bin."""

    project: Project
    sessions: tuple[str, ...]
    memories: int
    binned: bool


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """A memory related to both sessions: learned in one, and learned or used in the other."""

    session_id: str
    memory_id: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Backlink:
    """A session that a memory links to.

    `how` is learned, or its strongest use there: opened, confirmed, cited, recalled. `message_id` is the
    first such message, `count` how many there are.
    """

    session_id: str
    title: str = field(repr=False)
    how: str
    message_id: str
    at: datetime
    count: int
