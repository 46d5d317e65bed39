"""The portable form of a session, and the sealed parcels in which things move between rooms."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from memory.documents.entities import CitedReply
from memory.entities import CategorySource, MemoryMode, MessageStatus, RoomKind, TitleSource
from memory.errors import ParcelUnreadable
from memory.kinds import MovedKind
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
class TravellingCitations:
    """The citations of a reply for a room that has their documents, where `meta` replaces that of the
    message, which contains them."""

    cited: CitedReply
    meta: str = field(repr=False)


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
    citations: Mapping[str, TravellingCitations] = field(default_factory=dict, repr=False)
    """Citations by message. `TransferStore.give` leaves them to `TransferStore.cited`."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """The result of importing a session. `already` counts messages that existed before."""

    session_id: str
    new_session: bool
    messages: int
    already: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A session that was left out entirely: `missing` is a parent or head that is not one of its messages."""

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


@dataclass(frozen=True, slots=True)
class Move:
    """A session or document that has left its room for another, where it may not have arrived yet."""

    item_id: str
    destination: RoomKind
    begun_at: datetime
    kind: MovedKind = MovedKind.SESSION


@dataclass(frozen=True, slots=True)
class Losses:
    """What sessions lose when they leave their room.

    `documents` that they use stay in it. `tasks` that read them are deleted with their reports. `notes` that
    link to them stay, with the words of their links.
    """

    documents: int = 0
    tasks: int = 0
    notes: int = 0

    def __add__(self, other: "Losses") -> "Losses":
        return Losses(self.documents + other.documents, self.tasks + other.tasks, self.notes + other.notes)


@dataclass(frozen=True, slots=True)
class Departure:
    """A session that has left, and what needs attention in the room it left.

    `recalled_in` are the sessions that stay and whose prompts contained text of it. `verified`: nothing of it
    was found in the room afterwards, except the sealed parcel.
    """

    move: Move
    messages: int
    memories: int
    recalled_in: tuple[str, ...]
    verified: bool


@dataclass(frozen=True, slots=True)
class DocumentDeparture:
    """A document that has left, and what left with it or was removed because of it.

    `citations` are those of replies that stay. `recalled_in` and `verified` are as in `Departure`.
    """

    move: Move
    chunks: int
    citations: int
    recalled_in: tuple[str, ...]
    verified: bool


class Sealer(Protocol):
    """Encrypts parcels so that only the room that owns the sealer can read them."""

    def seal(self, data: bytes, item_id: str) -> bytes: ...

    def unseal(self, data: bytes, item_id: str) -> bytes:
        """Raises `ParcelUnreadable` when it was sealed with another key or for another item."""
        ...


KEY_BYTES = 32
_NONCE_BYTES = 12


class RoomSealer:
    """A `Sealer` with a key of 32 random bytes."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"a sealing key is {KEY_BYTES} bytes")
        self._key = key

    def seal(self, data: bytes, item_id: str) -> bytes:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + AESGCM(self._key).encrypt(nonce, data, item_id.encode())

    def unseal(self, data: bytes, item_id: str) -> bytes:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce, sealed = data[:_NONCE_BYTES], data[_NONCE_BYTES:]
        try:
            return AESGCM(self._key).decrypt(nonce, sealed, item_id.encode())
        except (InvalidTag, ValueError) as error:
            raise ParcelUnreadable from error

    def __repr__(self) -> str:
        return "RoomSealer(<redacted>)"
