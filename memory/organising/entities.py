"""The value types of organising: marks, undoable changes, tags, projects, and links between sessions."""

from dataclasses import dataclass, field
from datetime import datetime

from memory.entities import CategorySource, MemoryMode, RoomKind
from memory.memories.entities import UNSET, Unset


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
class ProjectSettings:
    """What a project adds to its sessions.

    `instructions` are added to the system prompt of all of them. `persona` (an id, with `persona_name`),
    `model` and `memory_mode` are what a new one begins with; None leaves it to the room. `isolated`: nothing
    of the project is recalled elsewhere, and nothing from elsewhere in it.
    """

    instructions: str = field(default="", repr=False)
    persona: str | None = None
    persona_name: str | None = field(default=None, repr=False)
    model: str | None = None
    memory_mode: MemoryMode | None = None
    isolated: bool = False


@dataclass(frozen=True, slots=True)
class ProjectPatch:
    """What to change of a project's settings. `persona` is an id; None removes a default."""

    instructions: str | None = field(default=None, repr=False)
    persona: str | Unset | None = UNSET
    model: str | Unset | None = UNSET
    memory_mode: MemoryMode | Unset | None = UNSET
    isolated: bool | None = None


@dataclass(frozen=True, slots=True)
class ProjectContents:
    """How much belongs to a project, without what is in a bin.

    `sessions` includes the `archived_sessions`. `tiers` counts its memories that are in use, by tier;
    `archived_memories` those in the archive. `used_at` is when one of its sessions, documents or notes was
    last added to or changed.
    """

    sessions: int = 0
    archived_sessions: int = 0
    messages: int = 0
    documents: int = 0
    notes: int = 0
    tiers: dict[str, int] = field(default_factory=dict)
    archived_memories: int = 0
    used_at: datetime | None = None


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
    settings: ProjectSettings = ProjectSettings()


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
