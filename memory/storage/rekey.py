"""A room under another key: every page is read with the old key and written with the new one."""

import os
from pathlib import Path
from typing import Any

from sqlcipher3 import dbapi2 as sqlcipher

from memory.errors import NotARoom, RoomDamaged, StorageFull
from memory.storage import connection
from memory.storage.backup import check_copy
from memory.storage.copying import remove_room_file
from memory.storage.faults import translated
from memory.storage.queries import check
from memory.vault.keys import RoomKey


def rekey(path: Path, key: RoomKey, target: Path, new: RoomKey) -> None:
    """Writes a copy of a closed room to a new file under another key, and checks it; the room stays.

    `PRAGMA rekey` would rewrite the file in place: killed half-way, it opens with neither key. Raises
    `RoomMissing`, `NotARoom`, `RoomDamaged`, `StorageFull`; then there is no new file.
    """
    check_copy(path, key)
    try:
        with translated(path):
            source: Any = connection.open_file(path, key)
            counted = check.counts(source)
            copied: Any = connection.create_file(target, new)
            try:
                source.backup(copied)
            except sqlcipher.Error as error:
                # It bears no code. What is read has just been found sound, so what is written is to blame.
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
            if check.counts(conn) != counted:
                raise RoomDamaged("the copy holds less than the room")
        finally:
            conn.close()
    with target.open("rb") as file:
        os.fsync(file.fileno())
