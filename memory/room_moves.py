"""Sessions and documents that move between rooms: their parcels, sealed with AES-256-GCM."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from memory.entities import RoomKind
from memory.errors import ParcelUnreadable
from memory.kinds import MovedKind


@dataclass(frozen=True, slots=True)
class Move:
    """A session or document that has left its room for another, where it may not have arrived yet."""

    item_id: str
    destination: RoomKind
    begun_at: datetime
    kind: MovedKind = MovedKind.SESSION


@dataclass(frozen=True, slots=True)
class Departure:
    """A session that has left, and what needs attention in the room it left.

    `recalled_in` are the sessions that stay and whose prompts contained text of it. `verified` says that
    nothing of it was found in the room afterwards, except the sealed parcel.
    """

    move: Move
    messages: int
    memories: int
    recalled_in: tuple[str, ...]
    verified: bool


@dataclass(frozen=True, slots=True)
class DocumentDeparture:
    """A document that has left, and what it took along or took away.

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
    """A `memory.room_moves.Sealer` with a key of 32 random bytes."""

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
