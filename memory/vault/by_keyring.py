"""What the system keyring has to do with a room: a random secret that wraps the room's key, under a name."""

import secrets
from datetime import datetime

from memory.errors import KeyringUnavailable
from memory.kinds import RoomKind
from memory.vault.kdf import KEK_BYTES
from memory.vault.keys import RoomKey
from memory.vault.ports import KeyringPort, KeyringTrouble
from memory.vault.slots import KeyringSlot, Place, keyring_slot, new_slot_id


class KeyringOfARoom:
    """The secrets of one room's keyring slots. The private room never has any."""

    def __init__(self, room: RoomKind, keyring: KeyringPort | None) -> None:
        self._room = room
        self._keyring = keyring

    def trusted(self) -> KeyringPort:
        """Raises `KeyringUnavailable`."""
        if self._room is not RoomKind.OPEN:
            raise KeyringUnavailable("", KeyringTrouble.NOT_FOR_THIS_ROOM)
        if self._keyring is None:
            raise KeyringUnavailable("", KeyringTrouble.NONE)
        return self._keyring

    def wrap(self, place: Place, key: RoomKey, now: datetime) -> KeyringSlot:
        """A slot whose secret the keyring holds. Raises `KeyringUnavailable`."""
        slot_id = new_slot_id()
        kek = secrets.token_bytes(KEK_BYTES)
        backend = self.trusted().store(self._entry(slot_id), kek)
        return keyring_slot(place, key, kek, slot_id=slot_id, backend=backend, now=now)

    def secret_of(self, slot: KeyringSlot) -> bytes:
        """From the same keyring that was given it. Raises `KeyringUnavailable`."""
        keyring = self.trusted()
        backend = keyring.backend()
        if backend != slot.backend:
            raise KeyringUnavailable(backend, KeyringTrouble.CHANGED)
        kek = keyring.fetch(self._entry(slot.id))
        if kek is None or len(kek) != KEK_BYTES:
            raise KeyringUnavailable(backend, KeyringTrouble.LOST)
        return kek

    def forget(self, slot_id: str) -> bool:
        """Has the keyring forget the secret of a slot that is gone; returns whether it did."""
        try:
            if self._keyring is not None:
                self._keyring.remove(self._entry(slot_id))
        except KeyringUnavailable:
            return False
        return self._keyring is not None

    def _entry(self, slot_id: str) -> str:
        return f"{self._room.value}-{slot_id}"
