"""Rooms as files: the operations that the vault needs, and copying a room under another key."""

import os
from pathlib import Path
from typing import Any

from sqlcipher3 import dbapi2 as sqlcipher

from memory.clock import Clock
from memory.entities import RoomKind
from memory.errors import NotARoom, RoomDamaged, StorageFull
from memory.storage import backup, connection, verification
from memory.storage.backup import check_copy, remove_room_file
from memory.storage.connection import translated
from memory.storage.room import start_counting
from memory.vault.keys import RoomKey
from memory.vault.upkeep import BackupFacts, BackupMade, RoomContents, RoomKeys, Salvaged, Unpacked


class SqlRoomFiles:
    """Operations on rooms as files, with SQLCipher."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def back_up(
        self, rooms: Path, keys: RoomKeys, target: Path, *, program: str, sequence: int = 1
    ) -> BackupMade:
        return backup.back_up(rooms, keys, target, program=program, sequence=sequence, clock=self._clock)

    def unpack(self, file: Path, folder: Path) -> Unpacked:
        return backup.unpack(file, folder)

    def remove_drafts(self, folder: Path) -> None:
        backup.remove_drafts(folder)

    def facts(self, file: Path) -> BackupFacts:
        return backup.facts(file)

    def check_seals(self, file: Path, keys: RoomKeys) -> None:
        backup.check_seals(file, keys)

    def contents(self, path: Path, key: RoomKey) -> RoomContents:
        return backup.contents(path, key)

    def start_counting(self, path: Path, room: RoomKind, key: RoomKey) -> None:
        conn = connection.open_file(path, key, journal="DELETE")
        try:
            start_counting(conn, path, room, key)
        finally:
            conn.close()

    def check(self, path: Path, key: RoomKey) -> None:
        backup.check_copy(path, key)

    def rekey(self, path: Path, key: RoomKey, target: Path, new: RoomKey) -> None:
        from memory.storage.files import rekey

        rekey(path, key, target, new)

    def salvage(self, path: Path, key: RoomKey, target: Path) -> Salvaged:
        from memory.storage.salvage import salvage

        return salvage(path, key, target, self._clock.now())


def rekey(path: Path, key: RoomKey, target: Path, new: RoomKey) -> None:
    """Writes a copy of a closed room to a new file under another key, and checks it; the room is unchanged.

    `PRAGMA rekey` would rewrite the file in place: killed half-way, it opens with neither key. Raises
    `RoomMissing`, `NotARoom`, `RoomDamaged`, `StorageFull`; then there is no new file.
    """
    check_copy(path, key)
    try:
        with translated(path):
            source: Any = connection.open_file(path, key)
            counted = verification.counts(source)
            copied: Any = connection.create_file(target, new)
            try:
                source.backup(copied)
            except sqlcipher.Error as error:
                # The error has no code. The source has just been found sound, so the target is to blame.
                raise StorageFull(str(error)) from error
            finally:
                copied.close()
                source.close()
        check_copy(target, new)
        _compare(target, new, counted)
    except NotARoom as error:
        remove_room_file(target)
        raise RoomDamaged(error.detail) from error
    except BaseException:
        remove_room_file(target)
        raise


def _compare(target: Path, new: RoomKey, counted: tuple[int, int]) -> None:
    conn = connection.open_file(target, new, journal="DELETE")
    with translated(target):
        try:
            if verification.counts(conn) != counted:
                raise RoomDamaged("the copy contains less than the room")
        finally:
            conn.close()
    with target.open("rb") as file:
        os.fsync(file.fileno())
