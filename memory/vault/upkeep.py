"""The values of backups, restores and repairs, and the protocols of the code that makes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from memory.kinds import RoomKind
from memory.vault.keys import RoomKey

RoomKeys = Mapping[RoomKind, RoomKey]
SUFFIX = ".atlas-backup"
"""The file name extension of backups."""


@dataclass(frozen=True, slots=True)
class RoomContents:
    """The ids of a room's contents, to compare it with another."""

    schema_version: int
    sessions: frozenset[str] = frozenset()
    messages: frozenset[str] = frozenset()
    memories: frozenset[str] = frozenset()
    documents: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class BackupMade:
    """A backup that was read back and found intact.

    `checked` are the rooms whose key was available: their copies were opened and every page was checked. The
    others were copied as they are. `missing` are rooms that should be in it but of which a file does not
    exist or cannot be read.
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
    """What a backup reveals without a key. `sizes` are those in the backup, in bytes."""

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
    """What was recovered from a damaged room into a new one.

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
        """Returns what a backup reveals without a key. Raises `NotABackup`, `BackupDamaged`,
        `FutureBackup`."""
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
        """Makes a new room at `target` with all that can be read of a closed one. Raises `StorageFull`."""
        ...
