"""Backups, restores and repairs as values, and the seam behind which they are made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from memory.kinds import RoomKind
from memory.vault.keys import RoomKey

RoomKeys = Mapping[RoomKind, RoomKey]


@dataclass(frozen=True, slots=True)
class RoomContents:
    """The ids of what a room holds, to compare it with another."""

    schema_version: int
    sessions: frozenset[str] = frozenset()
    messages: frozenset[str] = frozenset()
    memories: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class BackupMade:
    """A backup that was read back and found whole. `checked` are the rooms whose key was at hand: their
    copies were opened and every page of them was checked; the others were copied as they are."""

    path: Path
    bytes: int
    made_at: datetime
    rooms: tuple[RoomKind, ...]
    checked: tuple[RoomKind, ...]


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

    def back_up(self, rooms: Path, keys: RoomKeys, target: Path, *, program: str) -> BackupMade:
        """One encrypted file with every room, also of rooms that are in use.

        Raises `OutputRefused`, `BackupDamaged`, `StorageFull`, `StorageBusy`, `NotARoom`, `RoomMissing`.
        """
        ...

    def unpack(self, file: Path, folder: Path) -> Unpacked:
        """Puts a backup's rooms into an empty folder. Raises `NotABackup`, `BackupDamaged`, `FutureBackup`,
        `StorageFull`."""
        ...

    def checked(self, file: Path) -> tuple[RoomKind, ...]:
        """The rooms of a backup whose key was at hand when it was made. Raises `NotABackup`, `BackupDamaged`,
        `FutureBackup`."""
        ...

    def check_seal(self, file: Path, room: RoomKind, key: RoomKey) -> None:
        """Raises `BackupDamaged` when the list of parts is not the one that was made with this key."""
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
