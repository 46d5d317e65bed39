"""The protocol of the system keyring, and the random secret stored there that wraps a room's key."""

import secrets
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from memory.errors import KeyringUnavailable
from memory.kinds import RoomKind
from memory.vault.keys import KEK_BYTES, RoomKey
from memory.vault.keyslots import KeyringSlot, SlotPlace, keyring_slot, new_slot_id


class KeyringTrouble(StrEnum):
    """Why a keyring cannot be used (the `reason` of `memory.errors.KeyringUnavailable`)."""

    NONE = "none"
    UNTRUSTED = "untrusted"
    TIMEOUT = "timeout"
    LOCKED = "locked"
    FAILED = "failed"
    CHANGED = "changed"
    LOST = "lost"
    NOT_KEPT = "not_kept"
    NOT_FOR_THIS_ROOM = "not_for_this_room"


class KeyringPort(Protocol):
    """Stores small secrets under a name. Every call may raise `KeyringUnavailable` and ends within
    seconds."""

    def backend(self) -> str:
        """Returns the name of the keyring in use, if it is a trusted one."""
        ...

    def store(self, entry: str, secret: bytes) -> str:
        """Stores the secret, reads it back, and returns the name of the keyring that has it."""
        ...

    def fetch(self, entry: str) -> bytes | None:
        """Returns the secret; None when the keyring has no such entry."""
        ...

    def remove(self, entry: str) -> None:
        """Deletes the secret, if it exists."""
        ...


class KeyringOfARoom:
    """The secrets of one room's keyring slots. The private room never has any."""

    def __init__(self, room: RoomKind, keyring: KeyringPort | None) -> None:
        self._room = room
        self._keyring = keyring

    def trusted(self) -> KeyringPort:
        """Returns the keyring. Raises `KeyringUnavailable`."""
        if self._room is not RoomKind.OPEN:
            raise KeyringUnavailable("", KeyringTrouble.NOT_FOR_THIS_ROOM)
        if self._keyring is None:
            raise KeyringUnavailable("", KeyringTrouble.NONE)
        return self._keyring

    def wrap(self, place: SlotPlace, key: RoomKey, now: datetime) -> KeyringSlot:
        """Returns a slot whose secret is stored in the keyring. Raises `KeyringUnavailable`."""
        slot_id = new_slot_id()
        kek = secrets.token_bytes(KEK_BYTES)
        backend = self.trusted().store(self._entry(slot_id), kek)
        return keyring_slot(place, key, kek, slot_id=slot_id, backend=backend, now=now)

    def secret_of(self, slot: KeyringSlot) -> bytes:
        """Returns the slot's secret, from the keyring that stored it. Raises `KeyringUnavailable`."""
        keyring = self.trusted()
        backend = keyring.backend()
        if backend != slot.backend:
            raise KeyringUnavailable(backend, KeyringTrouble.CHANGED)
        kek = keyring.fetch(self._entry(slot.id))
        if kek is None or len(kek) != KEK_BYTES:
            raise KeyringUnavailable(backend, KeyringTrouble.LOST)
        return kek

    def forget(self, slot_id: str) -> bool:
        """Deletes the secret of a removed slot from the keyring; returns whether it did."""
        try:
            if self._keyring is not None:
                self._keyring.remove(self._entry(slot_id))
        except KeyringUnavailable:
            return False
        return self._keyring is not None

    def _entry(self, slot_id: str) -> str:
        return f"{self._room.value}-{slot_id}"
