"""Migrates a room of an earlier schema, with a checked copy at hand until that is done.

Each step is one transaction: if killed in between, the room is whole, in one version or another. The copy
protects against what transactions do not: the result is counted, and if it differs from the original, the
room is restored. The copy is deleted when the upgrade is done: content forgotten later must not remain in an
older copy.
"""

from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlcipher3 import dbapi2 as sqlcipher

from memory.errors import NotARoom, RoomDamaged, StorageFull, UpgradeFailed
from memory.storage import connection, migrations, verification
from memory.storage.connection import Connection, translated
from memory.storage.copying import remove_room_file
from memory.storage.migrations import LATEST
from memory.vault.files import translated_os
from memory.vault.keys import RoomKey


def copy_of(path: Path) -> Path:
    """Returns the path of the copy during a migration."""
    return path.with_name(path.name + ".before")


def bring_up_to_date(conn: Connection, path: Path, key: RoomKey, now: datetime) -> bool:
    """Migrates the room if needed; returns whether there was anything to do.

    Raises `UpgradeFailed` when the contents differ afterwards; the room is then as it was before. Raises
    `StorageFull` (the copy needs space too), `RoomDamaged`.
    """
    copy = copy_of(path)
    if migrations.version_of(conn) == LATEST:
        if copy.exists():
            # A previous run ended before the result was counted.
            _compare(conn, copy, key, _held(copy, key))
        return False
    _remove(copy)
    try:
        counted = _copied(conn, copy, key)
        migrations.migrate(conn, now)
    except StorageFull:
        _remove(copy)
        raise
    _compare(conn, copy, key, counted)
    give_back(conn)
    return True


def _held(copy: Path, key: RoomKey) -> tuple[int, int] | None:
    """Returns the counts of a copy left behind; None if it contains nothing that can be read."""
    try:
        read = connection.open_to_read(copy, key)
    except NotARoom:
        return None
    try:
        with translated():
            return verification.counts(read)
    except RoomDamaged:
        return None
    finally:
        read.close()


def _compare(conn: Connection, copy: Path, key: RoomKey, counted: tuple[int, int] | None) -> None:
    """Restores the room from the copy if their counts differ, then removes the copy."""
    found = verification.counts(conn)
    failed = counted is not None and counted != found
    if failed:
        _put_back(conn, copy, key)
    _remove(copy)
    if failed:
        assert counted is not None
        raise UpgradeFailed(counted, found)


def _put_back(conn: Any, copy: Path, key: RoomKey) -> None:
    """Restores the room in one transaction: if killed in between, the copy is still there for the next
    opening."""
    source: Any = connection.open_to_read(copy, key)
    try:
        source.backup(conn)
    except sqlcipher.Error as error:
        raise StorageFull(str(error)) from error
    finally:
        source.close()


def _copied(conn: Any, copy: Path, key: RoomKey) -> tuple[int, int]:
    """Makes the copy and reads every page of it; returns how many sessions and messages it contains."""
    made: Any = connection.create_file(copy, key)
    try:
        conn.backup(made)
    except sqlcipher.Error as error:
        # The error has no code, and does not say which of the two is to blame.
        with translated():
            damaged = verification.pages(conn)
        raise (RoomDamaged(damaged[0]) if damaged else StorageFull(str(error))) from error
    finally:
        made.close()
    read = connection.open_to_read(copy, key)
    with translated():
        try:
            problems = verification.structure(read)
            counted = verification.counts(read)
        finally:
            read.close()
    if problems:
        raise RoomDamaged(problems[0])
    return counted


def _remove(copy: Path) -> None:
    with translated_os():
        remove_room_file(copy)


_FREE_SHARE = 0.25
_FEWEST_PAGES = 256
_MOST_PAGES = 65_536
"""SQLite rebuilds the room in memory; in a larger one the free pages are left for later writes."""


def give_back(conn: Connection) -> bool:
    """Shrinks the file to its contents, if a good part of it is free; returns whether it did.

    If killed in between, or without the disk space for it, the file is unchanged.
    """
    pages = int(conn.execute("PRAGMA page_count").fetchone()[0])
    free = int(conn.execute("PRAGMA freelist_count").fetchone()[0])
    if not _FEWEST_PAGES <= pages <= _MOST_PAGES or free < pages * _FREE_SHARE:
        return False
    with suppress(StorageFull), translated():
        conn.execute("VACUUM")
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return True
    return False
