"""Creates, opens and changes the keys of one room. Synchronous, and slow on purpose: call it in a thread."""

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from memory.clock import SystemClock
from memory.errors import (
    KeyringOff,
    KeyringUnavailable,
    KeyslotsDamaged,
    KeyslotsMissing,
    StorageFull,
    VaultExists,
    VaultMissing,
    WrongPassphrase,
    WrongRecoveryKey,
)
from memory.kinds import RoomKind
from memory.vault import passphrase as words
from memory.vault import recovery
from memory.vault.files import make_private_folder
from memory.vault.keyring import KeyringOfARoom, KeyringPort, KeyringTrouble
from memory.vault.keys import RoomKey
from memory.vault.keyslots import (
    CopyState,
    KeyringSlot,
    KeyslotFile,
    Keyslots,
    PassphraseSlot,
    RecoverySlot,
    Slot,
    SlotFactory,
    open_slot,
)
from memory.vault.passphrase import DEFAULT_KDF, KdfParams, Passphrase
from memory.vault.status import VaultStatus, flaw, vault_status

if TYPE_CHECKING:
    from memory.clock import Clock


SlotT = TypeVar("SlotT", PassphraseSlot, RecoverySlot, KeyringSlot)


class Vault:
    """The keyslots of one room, in `folder`, beside the room's database.

    All reading methods raise `VaultMissing`, `KeyslotsMissing` (a database without keyslots) and
    `KeyslotsDamaged`. All writing methods also raise `StorageFull`, and then nothing has changed.
    """

    def __init__(
        self,
        folder: Path,
        room: RoomKind,
        kdf: KdfParams = DEFAULT_KDF,
        keyring: KeyringPort | None = None,
        clock: "Clock | None" = None,
    ) -> None:
        if room is RoomKind.OFF_RECORD:
            raise ValueError("what is off the record has no keys to keep")
        self._folder = folder
        self._room = room
        self._kdf = kdf.checked()
        self._keyring = KeyringOfARoom(room, keyring)
        self._clock = clock or SystemClock()
        self._file = KeyslotFile(folder / f"{room.value}.keys")

    @property
    def room(self) -> RoomKind:
        return self._room

    @property
    def database_path(self) -> Path:
        return self._folder / f"{self._room.value}.db"

    def exists(self) -> bool:
        """Returns whether there is a keyslot file, sound or not, or a database."""
        return self._file.exists() or self.database_path.exists()

    def create(
        self,
        passphrase: str | Passphrase,
        *,
        confirm: bool = False,
        ways: SlotFactory | None = None,
        recoverable: bool = True,
        private_made: bool = False,
    ) -> tuple[RoomKey, str]:
        """Creates a key, wrapped for the passphrase and for a new recovery key; returns the key, and the
        recovery key as text, once.

        With `confirm` the status reports the recovery key as unseen until `recovery_key_seen`. Rooms made
        with the same `ways` open with one derivation and one recovery key. A room that is not `recoverable`
        has no slot for one.

        Raises `VaultExists`, `WeakPassphrase`, `StorageFull`.
        """
        if isinstance(passphrase, str):
            words.checked(passphrase)
        if self.exists():
            raise VaultExists
        make_private_folder(self._folder)
        key = RoomKey.generate()
        made = ways or SlotFactory(self._kdf)
        now = self._clock.now()
        empty = Keyslots(
            vault_id=secrets.token_hex(16),
            room=self._room.value,
            salt=key.salt,
            generation=1,
            created_at=now,
            room_made=False,
            recovery_unseen=confirm,
            private_made=private_made,
            slots=(),
        )
        slots: list[Slot] = [made.by_passphrase(empty.place, key, words.as_passphrase(passphrase), now)]
        if recoverable:
            slots.append(made.by_recovery_key(empty.place, key, now))
        self._file.write(msgspec.structs.replace(empty, slots=tuple(slots)))
        return key, recovery.to_text(made.secret)

    def take_back(self, key: RoomKey) -> bool:
        """Removes the keyslots that `create` made for `key`, if they have never protected a database.

        Returns whether they were removed. They stay if there is, or ever was, a database.
        """
        keyslots = self.matching(key)
        if keyslots.room_made or self.database_path.exists():
            return False
        self.discard()
        return True

    def unlock(self, passphrase: str | Passphrase) -> RoomKey:
        """Returns the room's key. Raises `WrongPassphrase`."""
        given = words.as_passphrase(passphrase)
        key = self._opened(PassphraseSlot, lambda slot: slot.kek(given))
        if key is None:
            raise WrongPassphrase
        return key

    def unlock_with_recovery(self, key_text: str) -> RoomKey:
        """Returns the room's key. Raises `RecoveryKeyMistyped`, `WrongRecoveryKey`."""
        secret = recovery.from_text(key_text)
        key = self._opened(RecoverySlot, lambda slot: slot.kek(secret))
        if key is None:
            raise WrongRecoveryKey
        return key

    def unlock_with_keyring(self) -> RoomKey:
        """Returns the room's key. Raises `KeyringOff`, `KeyringUnavailable`."""
        slot = self._keyring_slot(self._load()[0])
        if slot is None:
            raise KeyringOff
        kek = self._keyring.secret_of(slot)
        key = self._opened(KeyringSlot, lambda _: kek)
        if key is None:
            raise KeyringUnavailable(slot.backend, KeyringTrouble.LOST)
        return key

    def change_passphrase(self, key: RoomKey, new: str) -> None:
        """Replaces the passphrase slot by one for the new passphrase; the data do not change.

        Raises `WeakPassphrase`. After a crash one of the two passphrases works, never neither.
        """
        words.checked(new)
        keyslots = self.matching(key)
        slot = SlotFactory(self._kdf).by_passphrase(keyslots.place, key, Passphrase(new), self._clock.now())
        self._replace(keyslots, PassphraseSlot, slot)

    def new_recovery_key(self, key: RoomKey) -> str:
        """Returns a new recovery key, shown once; the old one no longer opens anything."""
        keyslots = self.matching(key)
        ways = SlotFactory(self._kdf)
        slot = ways.by_recovery_key(keyslots.place, key, self._clock.now())
        self._replace(keyslots, RecoverySlot, slot)
        return recovery.to_text(ways.secret)

    def rewrite(self, change: Callable[[Keyslots], Keyslots]) -> None:
        """Replaces the keyslots by the result of `change`, if it differs. Raises `StorageFull`."""
        keyslots, _ = self._load()
        if (changed := change(keyslots)) != keyslots:
            self._write(changed)

    def keyslots(self) -> Keyslots:
        return self._load()[0]

    def discard(self) -> None:
        """Removes the keyslots, whatever they protect. Raises `StorageFull`."""
        self._file.remove()

    def recovery_key_seen(self) -> None:
        """Records that the user has written the recovery key down. Raises `StorageFull`."""
        self.rewrite(lambda found: msgspec.structs.replace(found, recovery_unseen=False))

    def keyring_backend(self) -> str:
        """Returns the name of a system keyring that answers and is trusted. Raises `KeyringUnavailable`."""
        return self._keyring.trusted().backend()

    def keyring_on(self, key: RoomKey) -> str:
        """Lets the system keyring open the room; returns the keyring's name. Raises `KeyringUnavailable`."""
        keyslots = self.matching(key)
        old = self._keyring_slot(keyslots)
        slot = self._keyring.wrap(keyslots.place, key, self._clock.now())
        self._replace(keyslots, KeyringSlot, slot)
        if old is not None:
            self._keyring.forget(old.id)
        return slot.backend

    def keyring_off(self) -> bool:
        """Removes the keyring's slot; what is left in the keyring then opens nothing.

        Returns whether the keyring's entry is deleted too. Raises `KeyringOff` when there is no such slot.
        """
        keyslots, _ = self._load()
        slot = self._keyring_slot(keyslots)
        if slot is None:
            raise KeyringOff
        self._replace(keyslots, KeyringSlot)
        return self._keyring.forget(slot.id)

    def mark_room_made(self) -> None:
        """Records that the room's database exists: from now on its absence is a loss."""
        self.rewrite(lambda found: msgspec.structs.replace(found, room_made=True))

    def status(self) -> VaultStatus:
        keyslots, states = self._load()
        copies = {path.name: state for path, state in zip(self._file.paths, states, strict=True)}
        return vault_status(
            keyslots,
            copies,
            database_present=self.database_path.exists(),
            flaw=flaw(self.database_path, keyslots.salt),
        )

    def _load(self) -> tuple[Keyslots, tuple[CopyState, ...]]:
        if not self._file.exists():
            if self.database_path.exists():
                raise KeyslotsMissing(self._room)
            raise VaultMissing
        keyslots, states = self._file.read()
        if keyslots.room != self._room.value:
            raise KeyslotsDamaged("the keyslots of another room")
        return keyslots, states

    def _opened(self, kind: type[SlotT], kek: Callable[[SlotT], bytes]) -> RoomKey | None:
        keyslots, states = self._load()
        for slot in _of_kind(keyslots.slots, kind):
            key = open_slot(slot, keyslots.place, kek(slot))
            if key is not None:
                self._heal(keyslots, states)
                return key
        return None

    def _heal(self, keyslots: Keyslots, states: Iterable[CopyState]) -> None:
        """Makes both copies equal again, now that this one has proved to be right."""
        if any(state is not CopyState.SOUND for state in states):
            # A disk that cannot be written must not keep anyone out; the status still shows the damage.
            with suppress(StorageFull):
                self._file.write(keyslots)

    def matching(self, key: RoomKey) -> Keyslots:
        """Returns the keyslots that belong to the key. Raises ValueError for another room's."""
        keyslots, _ = self._load()
        if key.salt != keyslots.salt:
            raise ValueError("the key belongs to another room")
        return keyslots

    def _replace(self, keyslots: Keyslots, kind: type[Slot], *slots: Slot) -> None:
        kept = tuple(slot for slot in keyslots.slots if not isinstance(slot, kind))
        self._write(msgspec.structs.replace(keyslots, slots=(*kept, *slots)))

    def _write(self, keyslots: Keyslots) -> None:
        self._file.write(msgspec.structs.replace(keyslots, generation=keyslots.generation + 1))

    def _keyring_slot(self, keyslots: Keyslots) -> KeyringSlot | None:
        return next(_of_kind(keyslots.slots, KeyringSlot), None)

    def forget_keyring_entry(self, slot_id: str) -> bool:
        """Deletes the secret of a removed slot from the keyring; returns whether it did."""
        return self._keyring.forget(slot_id)


def _of_kind(slots: Iterable[Slot], kind: type[SlotT]) -> Iterator[SlotT]:
    return (slot for slot in slots if isinstance(slot, kind))
