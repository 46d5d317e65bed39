"""The ways into a room that two rooms can share: one derivation of a passphrase, one recovery key."""

from datetime import datetime

from memory.vault import recovery
from memory.vault.kdf import KdfParams
from memory.vault.keys import RoomKey
from memory.vault.passphrase import Passphrase
from memory.vault.slots import (
    PassphraseSlot,
    Place,
    RecoverySlot,
    new_salt,
    passphrase_slot,
    recovery_slot,
)


class Ways:
    """Makes slots with one salt, for as many rooms as it is asked to. Its recovery secret is new.

    Slots of different rooms that were made together are known by their salts.
    """

    def __init__(self, kdf: KdfParams, salt: bytes | None = None, secret: bytes | None = None) -> None:
        self.secret = secret or recovery.generate()
        self._kdf = kdf
        self._salt = salt or new_salt()
        self._recovery_salt = new_salt()

    def by_passphrase(
        self, place: Place, key: RoomKey, passphrase: Passphrase, now: datetime
    ) -> PassphraseSlot:
        return passphrase_slot(place, key, passphrase, self._kdf, now, salt=self._salt)

    def by_recovery_key(self, place: Place, key: RoomKey, now: datetime) -> RecoverySlot:
        return recovery_slot(place, key, self.secret, now, salt=self._recovery_salt)

    def __repr__(self) -> str:
        return "Ways(<redacted>)"
