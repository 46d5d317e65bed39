"""The keys of both stored rooms: created together, changed together, opened separately.

Both open with the same passphrase and the same recovery key, and their slots share salts, so that one
derivation serves both. The keyring opens only the open room.

A secret is changed in three steps: the new slot is added beside the old one in the private room, then
replaces the old one in the open room, then the old one is removed from the private room. If the program is
killed in between, whatever opens the open room opens the private one; `settle` does the last step at the next
unlock.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from memory.clock import SystemClock
from memory.errors import (
    KeyslotsDamaged,
    KeyslotsMissing,
    StorageFull,
    VaultExists,
    VaultMissing,
    WrongPassphrase,
    WrongRecoveryKey,
)
from memory.vault import passphrase as words
from memory.vault import recovery
from memory.vault.files import translated_os
from memory.vault.keys import RoomKey
from memory.vault.keyslots import Keyslots, PassphraseSlot, RecoverySlot, Slot, SlotFactory
from memory.vault.passphrase import DEFAULT_KDF, KdfParams, Passphrase, as_passphrase
from memory.vault.status import private_missing
from memory.vault.vault import Vault

if TYPE_CHECKING:
    from memory.clock import Clock


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
        given = Passphrase(words.checked(passphrase))
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
        given, ways = Passphrase(words.checked(new)), SlotFactory(self._kdf)
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
        return recovery.to_text(ways.secret)

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
        return recovery.to_text(ways.secret), add(self.open, keys.open)

    def end_recovery_keys(self, salt: bytes, *, added: bool) -> None:
        """Removes the recovery key of `add_recovery_key` if it was `added` in vain, else all others."""

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
    """Returns what slots of different rooms made together have in common."""
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
