"""A session as it travels: everything that is known of it, under the ids that its origin gave it."""

from dataclasses import dataclass, field
from datetime import datetime

from memory.entities import CategorySource, MemoryMode, MessageStatus, TitleSource
from memory.memories.entities import MemoryKind, MemoryState
from models.messages import Role


@dataclass(frozen=True, slots=True)
class TravellingMessage:
    """`parent` is the id of an earlier message of the same session; `meta` is a JSON object in text form."""

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
    """What was read out of a file that belongs to a session; `size` is that of the file in bytes."""

    name: str
    media_type: str
    size: int
    added_at: datetime
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TravellingSession:
    """Messages stand in the order in which they were stored. `head` is the id of one of them."""

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
    """What is to be attached, unless it is; `TransferStore.give` leaves that to the store of attachments."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """What taking a session in came to. `already` counts messages that were there before."""

    session_id: str
    new_session: bool
    messages: int
    already: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A session that was left out whole: `missing` is the parent or the head that is none of its messages."""

    missing: str


@dataclass(frozen=True, slots=True)
class TravellingEvidence:
    """The person's words behind a memory, by the ids under which session and message travel."""

    session: str
    message: str
    quote: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TravellingMemory:
    """A memory as it travels. `project` is a name."""

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
