"""Rekeying, salvage of damaged rooms, and destruction of everything."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from atlas_desktop.services.backup import by_room
from atlas_desktop.services.run_to_completion import unbroken
from memory.clock import Clock
from memory.entities import RoomKind
from memory.errors import (
    KeyringUnavailable,
    MemoryFault,
    NothingReadable,
    NothingToSalvage,
    VaultMissing,
)
from memory.vault.exchange import AtomicRoomSwap
from memory.vault.files import Shredded, shred_file, shred_folder, translated_os
from memory.vault.keys import RoomKey
from memory.vault.keyslots import KeyringSlot
from memory.vault.upkeep import RoomFiles, RoomRepairs, Salvaged
from memory.vault.vault import Vault
from memory.vault.vaults import Keys, Vaults


@dataclass(frozen=True, slots=True)
class Rekeyed:
    """The result of a rekeying: `rooms` have new keys. The recovery key is shown once.

    `keyring` is the keyring that opens the vault from now on, if one did before and took the new secret.
    """

    recovery_key: str
    rooms: tuple[RoomKind, ...]
    keyring: str | None
    keyring_lost: bool


@dataclass(frozen=True, slots=True)
class Rescued:
    """What was salvaged, and the folder that keeps all files as they were found."""

    salvaged: Salvaged
    kept: Path


@dataclass(frozen=True, slots=True)
class Destroyed:
    """What was destroyed, and the backups that are left: they still open with the passphrase.

    `verified`: nothing was found where it had been.
    """

    shredded: Shredded
    keyring_entry_removed: bool | None
    backups_destroyed: int
    backups_left: tuple[Path, ...]
    verified: bool


class RepairService:
    """Repairs of one home. No room may be open meanwhile, in this or another process."""

    def __init__(
        self,
        rooms: Path,
        vaults_of: Callable[[Path], Vaults],
        files: RoomFiles,
        repairs: RoomRepairs,
        clock: Clock,
    ) -> None:
        self._rooms = rooms
        self._vaults_of = vaults_of
        self._files = files
        self._repairs = repairs
        self._clock = clock

    # --- rekeying ---------------------------------------------------------------------------------

    async def rekey(self, passphrase: str) -> Rekeyed:
        """Does `rekeying` without showing the recovery key first."""
        async with self.rekeying(passphrase) as made:
            return made

    @asynccontextmanager
    async def rekeying(self, passphrase: str) -> AsyncIterator[Rekeyed]:
        """Gives every room that the passphrase opens a new key, and the vault a new recovery key.

        Inside the context everything is prepared, and the recovery key is shown. Leaving it puts the rooms in
        place; an error changes nothing. If the process is killed at any point, the rooms open with the old
        keys or with the new ones. What is under the old keys is destroyed at the end; model states are made
        again. Raises `WrongPassphrase`, `RoomDamaged`, `StorageFull`, `ExchangeUnfinished`.
        """
        working = self._rekeying(passphrase)
        made = await asyncio.to_thread(working.__enter__)
        try:
            yield made
        except BaseException as error:
            await unbroken(asyncio.to_thread(working.__exit__, type(error), error, error.__traceback__))
            raise
        await unbroken(asyncio.to_thread(working.__exit__, None, None, None))

    @contextmanager
    def _rekeying(self, passphrase: str) -> Iterator[Rekeyed]:
        present = self._vaults_of(self._rooms)
        keys = by_room(present.unlock_both(passphrase))
        exchange = AtomicRoomSwap(self._rooms)
        with exchange.prepared() as folder:
            made = self._vaults_of(folder)
            new_keys, text = made.create(passphrase)
            new = by_room(new_keys)
            for old, fresh in zip(present.rooms, made.rooms, strict=True):
                if old.room in keys:
                    self._rekey_room(old, keys[old.room], fresh, new[old.room])
                elif old.exists() or present.open.keyslots().private_made:
                    # It has another passphrase, or is lost: what there is of it is carried over.
                    fresh.discard()
                    _carry_over(exchange, self._rooms, old.room)
            slot = next((s for s in present.open.keyslots().slots if isinstance(s, KeyringSlot)), None)
            backend = _keyring_on(made.open, new_keys) if slot is not None else None
            try:
                yield Rekeyed(text, tuple(keys), backend, slot is not None and backend is None)
                exchange.put_in_place()
            except BaseException:
                for slot_id in _keyring_slots(made.open):
                    made.open.forget_keyring_entry(slot_id)
                raise
        if slot is not None:
            present.open.forget_keyring_entry(slot.id)

    def _rekey_room(self, old: Vault, key: RoomKey, fresh: Vault, new: RoomKey) -> None:
        if not old.database_path.exists():
            return
        self._repairs.rekey(old.database_path, key, fresh.database_path, new)
        fresh.mark_room_made()
        self._files.start_counting(fresh.database_path, old.room, new)

    # --- salvage ----------------------------------------------------------------------------------

    async def damaged(self, room: RoomKind, key: RoomKey) -> bool:
        """Returns whether the room's file cannot be read from end to end."""
        path = self._rooms / f"{room}.db"
        try:
            await asyncio.to_thread(self._files.check, path, key)
        except MemoryFault:
            return True
        return False

    async def salvage(self, room: RoomKind, key: RoomKey, *, always: bool = False) -> Rescued:
        """Replaces a damaged room with a new one that contains everything readable; its files are kept aside.

        Raises `NothingToSalvage` for a sound room, unless `always`; `NothingReadable` when there is nothing
        to put in place; `StorageFull`, `ExchangeUnfinished`. Then nothing was changed.
        """
        if not always and not await self.damaged(room, key):
            raise NothingToSalvage
        return await asyncio.to_thread(self._salvage, room, key)

    def _salvage(self, room: RoomKind, key: RoomKey) -> Rescued:
        exchange = AtomicRoomSwap(self._rooms)
        kept = self._aside()
        with exchange.prepared() as folder:
            target = folder / f"{room}.db"
            salvaged = self._repairs.salvage(self._rooms / target.name, key, target)
            if not salvaged.rows and (salvaged.bad_pages or not salvaged.pages):
                raise NothingReadable(room, salvaged.pages, salvaged.bad_pages)
            for file in sorted(self._rooms.iterdir()):
                if not file.name.startswith((f"{room}.db", f"{room}-states.db", f"{room}.count")):
                    exchange.carry_over(file.name)
            self._files.start_counting(target, room, key)
            exchange.put_in_place(keep=kept)
        return Rescued(salvaged, self._rooms.with_name(kept))

    async def new_private_room(self, passphrase: str) -> Path:
        """Replaces a missing private room with an empty one.

        Returns the folder that keeps all files as they were. Raises `NothingToSalvage` when it is not
        missing, `WrongPassphrase`, `StorageFull`, `ExchangeUnfinished`.
        """
        return await asyncio.to_thread(self._new_private_room, passphrase)

    def _new_private_room(self, passphrase: str) -> Path:
        present = self._vaults_of(self._rooms)
        present.open.unlock(passphrase)
        if not present.private_missing():
            raise NothingToSalvage
        exchange = AtomicRoomSwap(self._rooms)
        kept = self._aside()
        with exchange.prepared() as folder:
            for file in sorted(self._rooms.iterdir()):
                if not file.name.startswith(RoomKind.PRIVATE):
                    exchange.carry_over(file.name)
            made = self._vaults_of(folder)
            made.open.rewrite(lambda found: msgspec.structs.replace(found, private_made=False))
            made.unlock(passphrase)
            exchange.put_in_place(keep=kept)
        return self._rooms.with_name(kept)

    def _aside(self) -> str:
        return f"{self._rooms.name}.damaged-{self._clock.now().astimezone():%Y-%m-%d-%H%M%S}"

    # --- destruction ------------------------------------------------------------------------------

    async def destroy(self, backups: tuple[Path, ...] = (), *, with_backups: bool = False) -> Destroyed:
        """Overwrites all keyslots, then removes every room and, on request, the given backups.

        No passphrase is needed: whoever can write the files can remove them. Raises `VaultMissing`,
        `StorageFull`.
        """
        return await asyncio.to_thread(self._destroy, backups, with_backups)

    def _destroy(self, backups: tuple[Path, ...], with_backups: bool) -> Destroyed:  # noqa: FBT001 - in a thread
        folders = [self._rooms, *sorted(self._rooms.parent.glob(f"{self._rooms.name}.*"))]
        folders = [folder for folder in folders if folder.is_dir() and any(folder.iterdir())]
        if not folders:
            raise VaultMissing
        vault = self._vaults_of(self._rooms).open
        slot_ids = _keyring_slots(vault)
        with translated_os():
            gone = [shred_folder(folder) for folder in folders]
            if with_backups:
                gone += [shred_file(file) for file in backups]
        removed = [vault.forget_keyring_entry(slot_id) for slot_id in slot_ids]
        return Destroyed(
            shredded=Shredded(
                sum(one.files for one in gone), sum(one.bytes for one in gone), sum(one.keys for one in gone)
            ),
            keyring_entry_removed=all(removed) if removed else None,
            backups_destroyed=len(backups) if with_backups else 0,
            backups_left=() if with_backups else backups,
            verified=not any(path.exists() for path in (*folders, *(backups if with_backups else ()))),
        )


def _carry_over(exchange: AtomicRoomSwap, rooms: Path, room: RoomKind) -> None:
    for file in sorted(rooms.glob(f"{room}*")):
        exchange.carry_over(file.name)


def _keyring_on(vault: Vault, keys: Keys) -> str | None:
    """Returns the keyring that took the new secret; None if none did.

    The passphrase then still opens the vault.
    """
    try:
        return vault.keyring_on(keys.open)
    except KeyringUnavailable:
        return None


def _keyring_slots(vault: Vault) -> list[str]:
    try:
        return [slot.id for slot in vault.keyslots().slots if isinstance(slot, KeyringSlot)]
    except MemoryFault:
        # Unreadable keyslots name no keyring entry; what the keyring then contains opens nothing.
        return []
