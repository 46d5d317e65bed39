"""Upkeep of the vault: values of backups, restores and repairs, and the replacement of all rooms at once."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Protocol

import msgspec

from memory.errors import ExchangeUnfinished, StorageFull
from memory.kinds import RoomKind
from memory.vault.files import make_private_folder, shred_folder, sync_folder, translated_os, write_durably
from memory.vault.keys import RoomKey

RoomKeys = Mapping[RoomKind, RoomKey]
SUFFIX = ".atlas-backup"
"""The file name extension of backups."""


@dataclass(frozen=True, slots=True)
class RoomContents:
    """The ids of a room's contents, to compare it with another. `others` are those of smaller things, by
    their table: skills, tasks, projects, personas, templates, saved searches and clients."""

    schema_version: int
    sessions: frozenset[str] = frozenset()
    messages: frozenset[str] = frozenset()
    memories: frozenset[str] = frozenset()
    documents: frozenset[str] = frozenset()
    receipts: frozenset[str] = frozenset()
    others: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BackupMade:
    """A backup that was read back and found intact.

    `checked` are the rooms whose key was available: their copies were opened and every page was checked. The
    others were copied unchecked. `missing` are rooms that should be in it but of which a file does not exist
    or cannot be read.
    """

    path: Path
    made_at: datetime
    rooms: tuple[RoomKind, ...]
    checked: tuple[RoomKind, ...]
    sizes: Mapping[RoomKind, int]
    missing: tuple[RoomKind, ...] = ()

    @property
    def bytes(self) -> int:
        return self.path.stat().st_size

    @property
    def verified(self) -> bool:
        return not self.missing


@dataclass(frozen=True, slots=True)
class BackupFacts:
    """The facts that a backup reveals without a key. `sizes` are those in the backup, in bytes."""

    sequence: int
    made_at: datetime
    rooms: tuple[RoomKind, ...]
    checked: tuple[RoomKind, ...]
    sizes: Mapping[RoomKind, int]


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The rooms of a backup, unpacked into a folder; all parts are intact."""

    made_at: datetime
    program: str
    rooms: tuple[RoomKind, ...]


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The result of recovering a damaged room into a new one.

    `pages` counts all pages of the file, `bad_pages` the unreadable ones. `expected` is the least number of
    messages that there were. `rows` counts the recovered rows by table.
    """

    pages: int
    bad_pages: int
    sessions: int
    messages: int
    expected: int
    placeholders: int
    rows: dict[str, int] = field(default_factory=dict)


class RoomFiles(Protocol):
    """Operations on rooms as files. Synchronous: call them in a thread. Errors are those of
    `memory.errors`."""

    def back_up(
        self, rooms: Path, keys: RoomKeys, target: Path, *, program: str, sequence: int = 1
    ) -> BackupMade:
        """Writes one encrypted file with every room, including rooms in use.

        The private room is left out, and reported as `missing`, where its database or its key file does not
        exist or cannot be read, so that the sound room can still be backed up.

        Raises `OutputRefused`, `BackupDamaged`, `StorageFull`, `StorageBusy`, `NotARoom`, `RoomMissing`.
        """
        ...

    def unpack(self, file: Path, folder: Path) -> Unpacked:
        """Unpacks a backup's rooms into an empty folder. Raises `NotABackup`, `BackupDamaged`,
        `FutureBackup`, `StorageFull`."""
        ...

    def remove_drafts(self, folder: Path) -> None:
        """Removes the drafts of killed backups from a folder; a draft being written stays."""
        ...

    def facts(self, file: Path) -> BackupFacts:
        """Returns the facts that a backup reveals without a key. Raises `NotABackup`, `BackupDamaged`,
        `FutureBackup`.
        """
        ...

    def check_seals(self, file: Path, keys: RoomKeys) -> None:
        """Raises `BackupDamaged` when the list of parts was not made with these rooms' keys."""
        ...

    def contents(self, path: Path, key: RoomKey) -> RoomContents:
        """Reads what a room contains without changing it. Raises `NotARoom`, `RoomMissing`, `FutureSchema`,
        `RoomDamaged`."""
        ...

    def check(self, path: Path, key: RoomKey) -> None:
        """Reads every page of a room's file. Raises `RoomDamaged`, and the errors of `contents`."""
        ...

    def start_counting(self, path: Path, room: RoomKind, key: RoomKey) -> None:
        """Starts the commit counter at the room's own count. Raises `StorageFull`."""
        ...


class RoomRepairs(Protocol):
    """Operations on closed rooms as files. See `RoomFiles`."""

    def rekey(self, path: Path, key: RoomKey, target: Path, new: RoomKey) -> None:
        """Writes a checked copy of a closed room under another key. Raises the errors of `back_up`."""
        ...

    def salvage(self, path: Path, key: RoomKey, target: Path) -> Salvaged:
        """Makes a new room at `target` with everything readable in a closed one. Raises `StorageFull`."""
        ...


WAIT_S = 10.0


class _Note(msgspec.Struct, frozen=True):
    """`keep` is the name under which the former rooms are kept; empty when they are to be destroyed."""

    keep: str = ""


class AtomicRoomSwap:
    """The exchange of the rooms of one home."""

    def __init__(self, rooms: Path) -> None:
        self.rooms = rooms
        self.next = rooms.with_name(f"{rooms.name}.next")
        self._former = rooms.with_name(f"{rooms.name}.former")
        self._note = rooms.with_name(f"{rooms.name}.exchange")
        self._lock = rooms.with_name(f"{rooms.name}.lock")

    @contextmanager
    def prepared(self) -> Iterator[Path]:
        """Yields an empty folder for the new rooms, removed at the end unless `put_in_place` was called.

        Raises `ExchangeUnfinished` while another process does the same, `StorageFull`.
        """
        with self._locked(WAIT_S):
            self._finish()
            make_private_folder(self.next)
            try:
                yield self.next
            finally:
                shred_folder(self.next)

    def put_in_place(self, *, keep: str = "") -> None:
        """Makes the prepared rooms the present ones; call it inside `prepared`. Raises `StorageFull`: nothing
        changed."""
        with translated_os():
            for file in self.next.iterdir():
                _sync(file)
            sync_folder(self.next)
        write_durably(self._note, msgspec.json.encode(_Note(keep)))
        self._finish()

    def carry_over(self, name: str) -> None:
        """Copies a file of the present rooms unchanged to the prepared ones. Raises `StorageFull`."""
        source, target = self.rooms / name, self.next / name
        with translated_os():
            try:
                os.link(source, target)
            except OSError:
                shutil.copyfile(source, target)
                target.chmod(0o600)

    def recover(self) -> None:
        """Finishes an exchange that a killed process had begun; removes rooms that were only prepared.

        Does nothing while another process is doing this. Raises `StorageFull`.
        """
        if not (self._note.exists() or self.next.exists()):
            return
        with suppress(ExchangeUnfinished), self._locked(WAIT_S if self._note.exists() else 0.0):
            self._finish()

    @contextmanager
    def _locked(self, wait_s: float) -> Iterator[None]:
        from filelock import FileLock, Timeout

        make_private_folder(self.rooms.parent)
        lock = FileLock(self._lock, mode=0o600, thread_local=False)
        try:
            lock.acquire(timeout=wait_s, poll_interval=0.05)
        except Timeout as error:
            raise ExchangeUnfinished from error
        except OSError as error:
            raise StorageFull(error.strerror or type(error).__name__) from error
        try:
            yield
        finally:
            lock.release()

    def _finish(self) -> None:
        with translated_os():
            note = self._read_note()
            if note is None:
                shred_folder(self.next)
                self._note.unlink(missing_ok=True)
                return
            if self.next.exists():
                if self._former.exists() and self.rooms.exists():
                    # Created by a process that looked in between; it is empty.
                    self.rooms.rmdir()
                elif self.rooms.exists():
                    self.rooms.rename(self._former)
                self.next.rename(self.rooms)
                sync_folder(self.rooms.parent)
            if self._former.exists():
                if note.keep:
                    self._former.rename(self.rooms.with_name(note.keep))
                else:
                    shred_folder(self._former)
                sync_folder(self.rooms.parent)
            self._note.unlink(missing_ok=True)
            sync_folder(self.rooms.parent)

    def _read_note(self) -> _Note | None:
        try:
            return msgspec.json.decode(self._note.read_bytes(), type=_Note)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError:
            # Empty, or written by another program. The exchange is finished, and the former rooms are kept.
            return _Note(self._unused_name()) if self._former.exists() else None

    def _unused_name(self) -> str:
        names = (f"{self.rooms.name}.kept-{number}" for number in count(1))
        return next(name for name in names if not self.rooms.with_name(name).exists())


def _sync(file: Path) -> None:
    descriptor = os.open(file, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
