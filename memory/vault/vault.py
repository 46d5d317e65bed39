"""Creates, opens and changes the keys of a room, and of both stored rooms together."""

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
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
from memory.vault import keys as vault_keys
from memory.vault.files import make_private_folder, translated_os
from memory.vault.keyring import KeyringOfARoom, KeyringPort, KeyringTrouble
from memory.vault.keys import DEFAULT_KDF, KdfParams, Passphrase, RoomKey, as_passphrase
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
from memory.vault.status import VaultStatus, flaw, private_missing, vault_status

if TYPE_CHECKING:
    from memory.clock import Clock


SlotT = TypeVar("SlotT", PassphraseSlot, RecoverySlot, KeyringSlot)


class Vault:
    """The keyslots of one room, in `folder`, next to the room's database.

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
            raise ValueError("a room off the record has no keys to store")
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
            vault_keys.checked(passphrase)
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
        slots: list[Slot] = [made.by_passphrase(empty.place, key, vault_keys.as_passphrase(passphrase), now)]
        if recoverable:
            slots.append(made.by_recovery_key(empty.place, key, now))
        self._file.write(msgspec.structs.replace(empty, slots=tuple(slots)))
        return key, vault_keys.to_text(made.secret)

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
        given = vault_keys.as_passphrase(passphrase)
        key = self._opened(PassphraseSlot, lambda slot: slot.kek(given))
        if key is None:
            raise WrongPassphrase
        return key

    def unlock_with_recovery(self, key_text: str) -> RoomKey:
        """Returns the room's key. Raises `RecoveryKeyMistyped`, `WrongRecoveryKey`."""
        secret = vault_keys.from_text(key_text)
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
        vault_keys.checked(new)
        keyslots = self.matching(key)
        slot = SlotFactory(self._kdf).by_passphrase(keyslots.place, key, Passphrase(new), self._clock.now())
        self._replace(keyslots, PassphraseSlot, slot)

    def new_recovery_key(self, key: RoomKey) -> str:
        """Returns a new recovery key, shown once; the old one no longer opens anything."""
        keyslots = self.matching(key)
        ways = SlotFactory(self._kdf)
        slot = ways.by_recovery_key(keyslots.place, key, self._clock.now())
        self._replace(keyslots, RecoverySlot, slot)
        return vault_keys.to_text(ways.secret)

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
        """Removes the keyring's slot; an entry left in the keyring then opens nothing.

        Returns whether the keyring's entry is also deleted. Raises `KeyringOff` when there is no such slot.
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


MakeSlot = Callable[[Keyslots, RoomKey], Slot]
_NOT_THERE = (VaultMissing, KeyslotsMissing, KeyslotsDamaged)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of the rooms. `private` is None when the given secret does not open that room."""

    open: RoomKey
    private: RoomKey | None = None


class Vaults:
    """The vaults of both rooms. Raises the errors of `Vault`.

    A home from before the private room existed gets that room's keys at the first unlock by passphrase. A
    recovery key opens it from the next `new_recovery_key` on.
    """

    def __init__(
        self, opened: Vault, private: Vault, kdf: KdfParams = DEFAULT_KDF, clock: "Clock | None" = None
    ) -> None:
        self.open = opened
        self.private = private
        self._kdf = kdf.checked()
        self._clock = clock or SystemClock()

    @property
    def rooms(self) -> tuple[Vault, Vault]:
        """Both vaults, the open one first."""
        return (self.open, self.private)

    # --- made --------------------------------------------------------------------------------------

    def create(self, passphrase: str, *, confirm: bool = False) -> tuple[Keys, str]:
        """Creates keys for both rooms, and one recovery key for both. See `Vault.create`."""
        given = Passphrase(vault_keys.checked(passphrase))
        if self.open.exists():
            raise VaultExists
        self._clear_what_was_never_finished()
        ways = SlotFactory(self._kdf)
        private, _ = self.private.create(given, confirm=confirm, ways=ways)
        opened, text = self.open.create(given, confirm=confirm, ways=ways, private_made=True)
        return Keys(opened, private), text

    def take_back(self, keys: Keys) -> bool:
        """Like `Vault.take_back`; the private room's keys are removed with the open one's."""
        if not self.open.take_back(keys.open):
            return False
        if keys.private is not None:
            self.private.take_back(keys.private)
        return True

    def undo_create(self, keys: Keys) -> None:
        """Removes rooms that were just made, with their keys. If killed midway, they count as an interrupted
        creation. Raises `StorageFull`."""
        for vault, key in ((self.open, keys.open), (self.private, keys.private)):
            if key is None:
                continue
            vault.matching(key)
            vault.rewrite(lambda found: msgspec.structs.replace(found, room_made=False))
            with translated_os():
                for file in vault.database_path.parent.glob(f"{vault.room}*"):
                    if ".keys" not in file.name:
                        file.unlink(missing_ok=True)
            vault.discard()

    def _clear_what_was_never_finished(self) -> None:
        """Removes private keyslots of a creation interrupted before the open room had its own."""
        with suppress(*_NOT_THERE):
            keyslots = self.private.keyslots()
            if not keyslots.room_made and not self.private.database_path.exists():
                self.private.discard()

    # --- opened ------------------------------------------------------------------------------------

    def unlock(self, passphrase: str | Passphrase) -> RoomKey:
        """Returns the open room's key. Makes missing keys of the private room and finishes an interrupted
        change."""
        given = as_passphrase(passphrase)
        key = self.open.unlock(given)
        # A disk that cannot be written must not keep anyone out.
        with suppress(StorageFull):
            self._make_private(given)
            self.settle()
        return key

    def unlock_private(self, passphrase: str | Passphrase) -> RoomKey:
        """Returns the private room's key. Raises `WrongPassphrase`; `KeyslotsMissing` when its keys existed
        once."""
        given = as_passphrase(passphrase)
        if not self.private.exists():
            # Whoever makes the room must know the current passphrase.
            self.open.unlock(given)
            self._make_private(given)
            if not self.private.exists():
                raise KeyslotsMissing(self.private.room)
        with suppress(StorageFull):
            self.settle()
        return self.private.unlock(given)

    def unlock_both(self, passphrase: str | Passphrase) -> Keys:
        """Unlocks both with one derivation, unless the open room got a separate passphrase when the keyring
        had opened it."""
        given = as_passphrase(passphrase)
        opened = self.unlock(given)
        try:
            return Keys(opened, self.private.unlock(given))
        except (*_NOT_THERE, WrongPassphrase):
            return Keys(opened)

    def unlock_with_recovery(self, key_text: str) -> Keys:
        opened = self.open.unlock_with_recovery(key_text)
        with suppress(StorageFull):
            self.settle()
        try:
            return Keys(opened, self.private.unlock_with_recovery(key_text))
        except (*_NOT_THERE, WrongRecoveryKey):
            return Keys(opened)

    def private_missing(self) -> bool:
        """See `memory.vault.status.private_missing`."""
        return private_missing(self.open.database_path.parent)

    def _make_private(self, given: Passphrase) -> None:
        found = self.open.keyslots()
        # A lost private room must not be silently replaced by an empty one.
        if self.private.exists() or found.private_made:
            return
        for slot in found.slots:
            if isinstance(slot, PassphraseSlot):
                self.private.create(given, ways=SlotFactory(slot.params, slot.salt), recoverable=False)
                self._note_private_made()
                return

    def _note_private_made(self) -> None:
        self.open.rewrite(lambda found: msgspec.structs.replace(found, private_made=True))

    # --- changed -----------------------------------------------------------------------------------

    def change_passphrase(self, keys: Keys, new: str) -> None:
        """Sets one passphrase for every room whose key is given. See `Vault.change_passphrase`."""
        given, ways = Passphrase(vault_keys.checked(new)), SlotFactory(self._kdf)
        self._change(
            keys,
            PassphraseSlot,
            lambda keyslots, key: ways.by_passphrase(keyslots.place, key, given, self._clock.now()),
        )

    def new_recovery_key(self, keys: Keys) -> str:
        """Makes one recovery key for every room whose key is given. See `Vault.new_recovery_key`."""
        ways = SlotFactory(self._kdf)
        self._change(
            keys,
            RecoverySlot,
            lambda keyslots, key: ways.by_recovery_key(keyslots.place, key, self._clock.now()),
        )
        return vault_keys.to_text(ways.secret)

    def add_recovery_key(self, keys: Keys) -> tuple[str, bytes]:
        """Adds a second recovery key for every room whose key is given; returns it with the salt that
        identifies it. Both open until `end_recovery_keys`. Raises `StorageFull`."""
        ways = SlotFactory(self._kdf)

        def add(vault: Vault, key: RoomKey) -> bytes:
            slot = ways.by_recovery_key(vault.matching(key).place, key, self._clock.now())
            vault.rewrite(lambda found: _with(found, (*found.slots, slot)))
            return slot.salt

        if keys.private is not None:
            add(self.private, keys.private)
        return vault_keys.to_text(ways.secret), add(self.open, keys.open)

    def end_recovery_keys(self, salt: bytes, *, added: bool) -> None:
        """Removes the recovery key of `add_recovery_key` if it was `added` but is not needed, else all
        others.
        """

        def stays(slot: Slot) -> bool:
            return not isinstance(slot, RecoverySlot) or (slot.salt == salt) is not added

        self.open.rewrite(lambda found: _with(found, tuple(filter(stays, found.slots))))
        with suppress(StorageFull):
            self.settle()

    def recovery_key_seen(self) -> None:
        self.open.recovery_key_seen()
        with suppress(*_NOT_THERE):
            self.private.recovery_key_seen()

    def settle(self) -> None:
        """Finishes an interrupted change: the private room keeps the slots that the open one has.

        If none of its slots of a kind is shared with the open room, all of that kind stay: they are the only
        way in.
        """
        with suppress(*_NOT_THERE):
            shared = _salts(self.open.keyslots().slots)
            self.private.rewrite(lambda keyslots: _only(keyslots, shared))
            self._note_private_made()

    def _change(self, keys: Keys, kind: type[Slot], make: MakeSlot) -> None:
        # Made beforehand, so that a lack of memory fails before anything is changed.
        slot = make(self.open.matching(keys.open), keys.open)
        private = keys.private
        if private is not None:
            beside = make(self.private.matching(private), private)
            self.private.rewrite(lambda found: _with(found, (*found.slots, beside)))
        self.open.rewrite(lambda found: _with(found, (*_others(found.slots, kind), slot)))
        with suppress(StorageFull):
            self.settle()


def _salts(slots: Iterable[Slot]) -> frozenset[tuple[str, bytes]]:
    """Returns the kinds and salts of slots; slots of different rooms made together share them."""
    return frozenset(
        (slot.KIND, slot.salt) for slot in slots if isinstance(slot, PassphraseSlot | RecoverySlot)
    )


def _only(keyslots: Keyslots, shared: frozenset[tuple[str, bytes]]) -> Keyslots:
    """Returns the keyslots without unshared slots of a kind of which others are shared."""
    kinds = {kind for kind, _ in _salts(keyslots.slots) & shared}
    kept = tuple(slot for slot in keyslots.slots if slot.KIND not in kinds or _salts([slot]) <= shared)
    return _with(keyslots, kept)


def _others(slots: Iterable[Slot], kind: type[Slot]) -> tuple[Slot, ...]:
    return tuple(slot for slot in slots if not isinstance(slot, kind))


def _with(keyslots: Keyslots, slots: tuple[Slot, ...]) -> Keyslots:
    return msgspec.structs.replace(keyslots, slots=slots)
