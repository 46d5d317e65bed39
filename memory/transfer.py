"""The portable form of a session: everything known of it, under the ids its origin gave it."""

from dataclasses import dataclass, field
from datetime import datetime

from memory.entities import CategorySource, MemoryMode, MessageStatus, TitleSource
from memory.memories.entities import MemoryKind, MemoryState
from models.messages import Role


@dataclass(frozen=True, slots=True)
class TravellingMessage:
    """A message in transfer. `parent` is the id of an earlier message of the session; `meta` is a JSON
    object."""

    id: str
    parent: str | None
    role: Role
    speaker: str
    content: str = field(repr=False)
    created_at: datetime
    status: MessageStatus = MessageStatus.COMPLETE
    stop_reason: str | None = None
    important: bool = False
    model: str | None = None
    meta: str = field(default="{}", repr=False)


@dataclass(frozen=True, slots=True)
class TravellingAttachment:
    """The text extracted from a file that belongs to a session; `size` is the file's in bytes."""

    name: str
    media_type: str
    size: int
    added_at: datetime
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TravellingSession:
    """A session in transfer. Messages are in the order they were stored; `head` is the id of one of them."""

    id: str
    title: str = field(repr=False)
    created_at: datetime
    updated_at: datetime
    messages: tuple[TravellingMessage, ...] = field(repr=False)
    title_source: TitleSource = TitleSource.IMPORTED
    project: str | None = field(default=None, repr=False)
    tags: tuple[str, ...] = field(default=(), repr=False)
    memory_mode: MemoryMode = MemoryMode.NORMAL
    system_prompt: str | None = field(default=None, repr=False)
    model: str | None = None
    starred: bool = False
    important: bool = False
    head: str | None = None
    meta: str = field(default="{}", repr=False)
    pinned_at: datetime | None = None
    archived_at: datetime | None = None
    category: str = field(default="", repr=False)
    category_source: CategorySource = CategorySource.NONE
    attachments: tuple[TravellingAttachment, ...] = field(default=(), repr=False)
    """Attachments to add unless they exist. `TransferStore.give` leaves this to the attachment store."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """The result of importing a session. `already` counts messages that existed before."""

    session_id: str
    new_session: bool
    messages: int
    already: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A session that was left out entirely: `missing` is a parent or head that is none of its messages."""

    missing: str


@dataclass(frozen=True, slots=True)
class TravellingEvidence:
    """The user's words behind a memory, by the transfer ids of session and message."""

    session: str
    message: str
    quote: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TravellingMemory:
    """A memory in transfer. `project` is a name."""

    id: str
    kind: MemoryKind
    state: MemoryState
    text: str = field(repr=False)
    subject: str = field(repr=False)
    importance: float
    confidence: float
    pinned: bool
    created_at: datetime
    updated_at: datetime
    project: str | None = field(default=None, repr=False)
    evidence: tuple[TravellingEvidence, ...] = ()
