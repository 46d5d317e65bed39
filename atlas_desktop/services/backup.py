"""Backups of all rooms, and repairs: rekeying, salvage and destruction."""

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from operator import attrgetter
from pathlib import Path

import msgspec

from atlas_desktop.interrupts import run_to_completion
from atlas_desktop.services.background import BackgroundService
from atlas_desktop.settings.schema import BackupSettings
from memory.clock import Clock
from memory.entities import RoomKind
from memory.errors import (
    BackupDamaged,
    FutureBackup,
    KeyringUnavailable,
    MemoryFault,
    NotABackup,
    NothingReadable,
    NothingToSalvage,
    OutputRefused,
    VaultMissing,
    WrongBackupPassphrase,
    WrongPassphrase,
    WrongRecoveryKey,
)
from memory.jobs.queue import Job
from memory.jobs.runner import Duty
from memory.vault.files import Shredded, shred_file, shred_folder, sync_folder, translated_os
from memory.vault.keys import RoomKey
from memory.vault.keyslots import KeyringSlot
from memory.vault.upkeep import (
    SUFFIX,
    AtomicRoomSwap,
    BackupFacts,
    BackupMade,
    RoomContents,
    RoomFiles,
    RoomKeys,
    RoomRepairs,
    Salvaged,
    Unpacked,
)
from memory.vault.vault import Keys, Vault, Vaults

PREFIX = "atlas-"

Unlock = Callable[[Vaults], Keys]
"""Opens vaults with what the user entered. Raises `WrongPassphrase`, `WrongRecoveryKey`, …"""


def by_room(keys: Keys) -> dict[RoomKind, RoomKey]:
    """Returns the available keys, by room."""
    found = {RoomKind.OPEN: keys.open}
    if keys.private is not None:
        found[RoomKind.PRIVATE] = keys.private
    return found


@dataclass(frozen=True, slots=True)
class Loss:
    """The content of a current room that the backup's room does not have, so a restore would lose it.

    `forgotten` is how many times something was forgotten since: the restore would bring it back. `others` is
    how many smaller things there are, as in `RoomContents`; none that is 0.
    """

    sessions: int
    messages: int
    memories: int
    documents: int = 0
    forgotten: int = 0
    others: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.sessions or self.messages or self.memories or self.documents or self.others)


def _loss(now: RoomContents, then: RoomContents) -> Loss:
    return Loss(
        len(now.sessions - then.sessions),
        len(now.messages - then.messages),
        len(now.memories - then.memories),
        len(now.documents - then.documents),
        len(now.receipts - then.receipts),
        {
            table: gone
            for table, ids in now.others.items()
            if (gone := len(ids - then.others.get(table, frozenset())))
        },
    )


class Restoration:
    """A verified backup, compared with the rooms that it would replace.

    `contents` is what the backup's open room contains. `present` is what the present one contains; None if
    there is none or it cannot be opened; `replaces` tells the two apart. `kept` are rooms that the backup
    does not contain; they do not change. `private_loss` is None unless it was requested and is known.
    """

    def __init__(
        self,
        exchange: AtomicRoomSwap,
        unpacked: Unpacked,
        contents: RoomContents,
        present: RoomContents | None,
        *,
        replaces: bool,
        kept: tuple[RoomKind, ...],
        private_loss: Loss | None = None,
    ) -> None:
        self._exchange = exchange
        self.unpacked = unpacked
        self.contents = contents
        self.present = present
        self.replaces = replaces
        self.kept = kept
        self.private_loss = private_loss

    @property
    def loss(self) -> Loss | None:
        """What a restore would lose from the open room; None if unknown."""
        if self.present is None:
            return None if self.replaces else Loss(0, 0, 0)
        return _loss(self.present, self.contents)

    async def put_in_place(self) -> None:
        """Replaces the current rooms with the backup's.

        If the process is killed at any point, either the old rooms or the new ones are there. Raises
        `StorageFull`; then nothing has changed.
        """
        await asyncio.to_thread(self._exchange.put_in_place)


class BackupService:
    """The backups of one home."""

    def __init__(
        self,
        rooms: Path,
        folder: Callable[[], Path],
        vaults_of: Callable[[Path], Vaults],
        files: RoomFiles,
        clock: Clock,
        program: str,
    ) -> None:
        """`folder` returns the default folder of backups.

        `vaults_of` returns the vaults whose keyslots are in a folder. `program` is the version recorded in a
        backup.
        """
        self._rooms = rooms
        self._folder = folder
        self._vaults_of = vaults_of
        self._files = files
        self._clock = clock
        self._program = program

    # --- making -----------------------------------------------------------------------------------

    @property
    def folder(self) -> Path:
        return self._folder()

    def target(self, output: Path | None = None) -> Path:
        """Returns the file of a new backup: a dated name in the folder, unless `output` names a file.

        Raises `OutputRefused` if that file's folder is missing: a stick may not be plugged in.
        """
        if output is not None and not output.is_dir():
            if not output.parent.is_dir():
                raise OutputRefused(os.strerror(errno.ENOENT))
            return output
        folder = self.folder if output is None else output
        name = f"{PREFIX}{self._clock.now().astimezone():%Y-%m-%d-%H%M%S}"
        # Times repeat when a clock is set back: no backup may replace another.
        names = (f"{name}{SUFFIX}" if n == 1 else f"{name}-{n}{SUFFIX}" for n in count(1))
        return next(folder / one for one in names if not (folder / one).exists())

    async def make(self, keys: RoomKeys, target: Path | None = None) -> BackupMade:
        """Backs up every room. Those in `keys` are opened and checked, the others copied as they are.

        The result is not `verified` when it lacks an expected room, or one that the last backup in the same
        folder contains. The rooms may be in use, in this or another process. Raises what `RoomFiles.back_up`
        raises.
        """
        return await asyncio.to_thread(self._make, keys, target or self.target())

    def _make(self, keys: RoomKeys, target: Path) -> BackupMade:
        last = max(self._known(target.parent).values(), key=_order, default=None)
        made = self._files.back_up(
            self._rooms,
            keys,
            target,
            program=self._program,
            sequence=1 if last is None else last.sequence + 1,
        )
        gone = () if last is None else tuple(room for room in last.rooms if room not in made.rooms)
        return replace(made, missing=tuple(dict.fromkeys((*made.missing, *gone))))

    def _known(self, folder: Path) -> dict[Path, BackupFacts]:
        """Returns the readable dated backups in a folder, with their descriptions."""
        found = {}
        for file in folder.glob(f"{PREFIX}*{SUFFIX}"):
            with suppress(NotABackup, BackupDamaged, FutureBackup):
                found[file] = self._files.facts(file)
        return found

    def kept(self) -> list[Path]:
        """Returns the dated backups in the folder in the order in which they were made.

        The order does not depend on the clock. Unreadable ones come first.
        """
        known = self._known(self.folder)
        unread = sorted(set(self.folder.glob(f"{PREFIX}*{SUFFIX}")) - known.keys())
        return [*unread, *sorted(known, key=lambda file: _order(known[file]))]

    def remove_drafts(self) -> None:
        """Removes the drafts of killed backups from the folder, if it is in the home.

        A start must not wait for a USB stick or a network.
        """
        if self.folder.is_relative_to(self._rooms.parent):
            self._files.remove_drafts(self.folder)

    def held(self, rooms: Iterable[RoomKind]) -> tuple[int, int]:
        """Returns the number of backups in the folder, and how many bytes these rooms take in them."""
        known = self._known(self.folder).values()
        return len(known), sum(one.sizes.get(room, 0) for one in known for room in rooms)

    def newest(self) -> datetime | None:
        """Returns when the newest readable backup in the folder was made; None without one."""
        newest = max(self._known(self.folder).values(), key=_order, default=None)
        return None if newest is None else newest.made_at

    def lacking(self) -> tuple[RoomKind, ...]:
        """Returns the rooms that older backups in the folder contain and the newest does not."""
        known = sorted(self._known(self.folder).values(), key=_order)
        held = {room for one in known for room in one.rooms}
        return tuple(room for room in RoomKind if room in held and room not in known[-1].rooms)

    async def make_in_turn(self, keys: RoomKeys, keep: int) -> BackupMade:
        """Makes a backup and, once it has been read back, deletes all but the newest `keep`.

        Raises what `make` raises. For each room, also keeps the newest backup that contains it and the newest
        whose copy of it was checked: a copy made without the room's key may be damaged, and every later one
        as well. Unreadable backups are kept.
        """
        made = await self.make(keys)
        await asyncio.to_thread(self._drop_old, keep)
        return made

    def _drop_old(self, keep: int) -> None:
        known = self._known(self.folder)
        newest = sorted(known, key=lambda file: _order(known[file]), reverse=True)
        needed = {
            next((file for file in newest if room in rooms_of(known[file])), None)
            for room in RoomKind
            for rooms_of in (attrgetter("rooms"), attrgetter("checked"))
        }
        old = [file for file in newest[max(keep, 1) :] if file not in needed]
        with translated_os():
            for file in old:
                file.unlink(missing_ok=True)
        if old:
            sync_folder(self.folder)

    # --- restoring --------------------------------------------------------------------------------

    @asynccontextmanager
    async def restoring(
        self, file: Path, unlock: Unlock, *, private: bool = False
    ) -> AsyncIterator[Restoration]:
        """Unpacks and verifies a backup, so that the effect of restoring it is known.

        `unlock` is called for the keys of the backup and of the current rooms; with `private`, the private
        rooms are compared as well. Nothing changes without `put_in_place`.

        Raises `NotABackup`, `BackupDamaged`, `FutureBackup`, `FutureSchema`, `WrongBackupPassphrase`,
        `StorageFull`, `ExchangeUnfinished`.
        """
        exchange = AtomicRoomSwap(self._rooms)
        preparing = exchange.prepared()
        folder = await asyncio.to_thread(preparing.__enter__)
        try:
            yield await asyncio.to_thread(self._prepare, exchange, folder, file, unlock, private=private)
        finally:
            await asyncio.to_thread(_leave, preparing)

    def _prepare(
        self, exchange: AtomicRoomSwap, folder: Path, file: Path, unlock: Unlock, *, private: bool
    ) -> Restoration:
        unpacked = self._files.unpack(file, folder)
        kept = self._carry_over_others(exchange, unpacked.rooms)
        vaults = self._vaults_of(folder)
        try:
            keys = unlock(vaults)
        except (WrongPassphrase, WrongRecoveryKey) as error:
            raise WrongBackupPassphrase from error
        self._files.check_seals(file, by_room(keys))
        opened = vaults.open.database_path
        contents = self._files.contents(opened, keys.open)
        for vault in vaults.rooms:
            key = by_room(keys).get(vault.room)
            if key is None or vault.room not in unpacked.rooms:
                continue
            self._files.check(vault.database_path, key)
            self._files.start_counting(vault.database_path, vault.room, key)
        present = self._vaults_of(self._rooms)
        replaces = present.open.exists()
        return Restoration(
            exchange,
            unpacked,
            contents,
            self._present(present.open, keys.open, lambda: unlock(present).open) if replaces else None,
            replaces=replaces,
            kept=kept,
            private_loss=self._private_loss(vaults, present, keys, unlock) if private and not kept else None,
        )

    def _private_loss(self, vaults: Vaults, present: Vaults, keys: Keys, unlock: Unlock) -> Loss | None:
        if keys.private is None:
            return None
        if not present.private.exists():
            return Loss(0, 0, 0)
        now = self._present(present.private, keys.private, lambda: unlock(present).private)
        if now is None:
            return None
        return _loss(now, self._files.contents(vaults.private.database_path, keys.private))

    def _present(
        self, vault: Vault, key: RoomKey, unlock: Callable[[], RoomKey | None]
    ) -> RoomContents | None:
        """Returns what the current room contains, if one of the available keys opens it."""
        candidates: tuple[Callable[[], RoomKey | None], ...] = (
            lambda: key,
            vault.unlock_with_keyring,
            unlock,
        )
        for candidate in candidates:
            with suppress(MemoryFault):
                if (found := candidate()) is not None:
                    return self._files.contents(vault.database_path, found)
        return None

    def _carry_over_others(
        self, exchange: AtomicRoomSwap, rooms: tuple[RoomKind, ...]
    ) -> tuple[RoomKind, ...]:
        if RoomKind.PRIVATE in rooms or not self._vaults_of(self._rooms).private.exists():
            return ()
        for file in self._rooms.glob(f"{RoomKind.PRIVATE}*"):
            exchange.carry_over(file.name)
        return (RoomKind.PRIVATE,)


def _order(found: BackupFacts) -> tuple[int, datetime]:
    return (found.sequence, found.made_at)


def _leave(preparing: AbstractContextManager[Path]) -> None:
    preparing.__exit__(None, None, None)


KIND = "backup"


class ScheduledBackups:
    """The duty of the open room to back up all rooms, if the settings ask for it.

    A failed backup is in the list of jobs and is tried again later. Older backups stay until a new one has
    been verified.
    """

    def __init__(
        self,
        background: BackgroundService,
        backups: Callable[[], BackupService],
        key: RoomKey,
        settings: Callable[[], BackupSettings],
        on_missing: Callable[[RoomKind], None] = lambda _room: None,
    ) -> None:
        """`on_missing` is called with each room that a new backup should contain and does not."""
        self._on_missing = on_missing
        self._backups = backups
        self._key = key
        self._settings = settings
        background.register(KIND, self._do)
        if days := settings().every_days:
            background.register_duty(Duty(KIND, timedelta(days=days), KIND))

    async def make_now(self) -> BackupMade:
        """Makes a backup, and deletes the oldest as `make_in_turn` does, whose errors it raises."""
        # The private room is copied without being opened: its key is not kept for this.
        return await self._backups().make_in_turn({RoomKind.OPEN: self._key}, self._settings().keep)

    async def _do(self, _job: Job) -> None:
        for room in (await self.make_now()).missing:
            self._on_missing(room)


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
    """What was salvaged, and the folder that keeps the original files."""

    salvaged: Salvaged
    kept: Path


@dataclass(frozen=True, slots=True)
class Destroyed:
    """The destroyed files, and the remaining backups, which still open with the passphrase.

    `verified`: nothing was found in their places.
    """

    shredded: Shredded
    keyring_entry_removed: bool | None
    backups_destroyed: int
    backups_left: tuple[Path, ...]
    verified: bool


class RepairService:
    """Repairs of one home. No room may be open at the same time, in this or another process."""

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
        keys or with the new ones. Everything encrypted with the old keys is destroyed at the end; model
        states are made again. Raises `WrongPassphrase`, `RoomDamaged`, `StorageFull`, `ExchangeUnfinished`.
        """
        working = self._rekeying(passphrase)
        made = await asyncio.to_thread(working.__enter__)
        try:
            yield made
        except BaseException as error:
            await run_to_completion(
                asyncio.to_thread(working.__exit__, type(error), error, error.__traceback__)
            )
            raise
        await run_to_completion(asyncio.to_thread(working.__exit__, None, None, None))

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
                    # It has another passphrase, or is lost: its existing files are carried over.
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
        """Replaces a damaged room with a new one that contains everything readable; its files are kept.

        Raises `NothingToSalvage` for a sound room, unless `always`; `NothingReadable` if there is nothing to
        replace it with; `StorageFull`, `ExchangeUnfinished`. Then nothing was changed.
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
        # Unreadable keyslots name no keyring entry; an entry left in the keyring opens nothing.
        return []
