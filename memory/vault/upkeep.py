"""Backups, restores and repairs as values, and the seam behind which they are made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from memory.kinds import RoomKind
from memory.vault.keys import RoomKey

RoomKeys = Mapping[RoomKind, RoomKey]
SUFFIX = ".atlas-backup"
"""How the names of backups end."""


@dataclass(frozen=True, slots=True)
class RoomContents:
    """The ids of what a room holds, to compare it with another."""

    schema_version: int
    sessions: frozenset[str] = frozenset()
    messages: frozenset[str] = frozenset()
    memories: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class BackupMade:
    """A backup that was read back and found to be as it was written.

    `checked` are the rooms whose key was at hand: their copies were opened and every page of them was
    checked; the others were copied as they are. `missing` are rooms that should be in it and of which a file
    is not there or cannot be read.
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
    """What a backup says of itself to someone without a key. `sizes` are in bytes, as in it."""

    sequence: int
    made_at: datetime
    rooms: tuple[RoomKind, ...]
    checked: tuple[RoomKind, ...]
    sizes: Mapping[RoomKind, int]


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A backup's rooms in a folder, whose parts are as they were written."""

    made_at: datetime
    program: str
    rooms: tuple[RoomKind, ...]


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What was brought out of a damaged room into a new one.

    `pages` and `bad_pages` count the file's pages, all and unreadable; `expected` is how many messages there
    were at least. `rows` counts what came along, by table.
    """

    pages: int
    bad_pages: int
    sessions: int
    messages: int
    expected: int
    placeholders: int
    rows: dict[str, int] = field(default_factory=dict)


class RoomFiles(Protocol):
    """What is done with rooms as files. Synchronous: call it in a thread. Errors are `memory.errors`."""

    def back_up(
        self, rooms: Path, keys: RoomKeys, target: Path, *, program: str, sequence: int = 1
    ) -> BackupMade:
        """One encrypted file with every room, also of rooms that are in use.

        The private room is left out, and `missing`, where its database or its key file is not there or cannot
        be read: what is sound is not kept from having a backup.

        Raises `OutputRefused`, `BackupDamaged`, `StorageFull`, `StorageBusy`, `NotARoom`, `RoomMissing`.
        """
        ...

    def unpack(self, file: Path, folder: Path) -> Unpacked:
        """Puts a backup's rooms into an empty folder. Raises `NotABackup`, `BackupDamaged`, `FutureBackup`,
        `StorageFull`."""
        ...

    def remove_drafts(self, folder: Path) -> None:
        """Removes what backups that were killed left in a folder; a draft that is being written stays."""
        ...

    def facts(self, file: Path) -> BackupFacts:
        """Raises `NotABackup`, `BackupDamaged`, `FutureBackup`."""
        ...

    def check_seals(self, file: Path, keys: RoomKeys) -> None:
        """Raises `BackupDamaged` when the list of parts is not the one that was made with these rooms'
        keys."""
        ...

    def contents(self, path: Path, key: RoomKey) -> RoomContents:
        """What a room holds, found without changing it. Raises `NotARoom`, `RoomMissing`, `FutureSchema`,
        `RoomDamaged`."""
        ...

    def check(self, path: Path, key: RoomKey) -> None:
        """Reads every page of a room's file. Raises `RoomDamaged`, and as `contents`."""
        ...

    def start_counting(self, path: Path, room: RoomKind, key: RoomKey) -> None:
        """Has the commit counter begin from what the room says of itself. Raises `StorageFull`."""
        ...


class RoomRepairs(Protocol):
    """What is done with closed rooms as files. As `RoomFiles`."""

    def rekey(self, path: Path, key: RoomKey, target: Path, new: RoomKey) -> None:
        """A copy of a closed room under another key, checked. Raises as `back_up`."""
        ...

    def salvage(self, path: Path, key: RoomKey, target: Path) -> Salvaged:
        """A new room at `target` with all that can be read of a closed one. Raises `StorageFull`."""
        ...
