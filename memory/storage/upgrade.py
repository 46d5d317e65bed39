"""A room of an earlier schema is brought up to date with a checked copy of it at hand until that is done.

Each step is one transaction: killed in between, the room is whole, of one version or another. The copy is for
what no transaction helps against: what comes out is counted, and if it is not what went in, the room is put
back. The copy goes when the upgrade is done: what is forgotten later must be in no older copy.
"""

from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlcipher3 import dbapi2 as sqlcipher

from memory.errors import NotARoom, RoomDamaged, StorageFull, UpgradeFailed
from memory.storage import connection, migrations, verification
from memory.storage.connection import Connection
from memory.storage.copying import remove_room_file
from memory.storage.faults import translated
from memory.storage.migrations import LATEST
from memory.vault.files import translated_os
from memory.vault.keys import RoomKey


def copy_of(path: Path) -> Path:
    """Where the copy is while a room is brought up to date."""
    return path.with_name(path.name + ".before")


def bring_up_to_date(conn: Connection, path: Path, key: RoomKey, now: datetime) -> bool:
    """Whether there was anything to do.

    Raises `UpgradeFailed` when the room came out with other than it held; it then is what it was before.
    Raises `StorageFull` (the copy needs space too), `RoomDamaged`.
    """
    copy = copy_of(path)
    if migrations.version_of(conn) == LATEST:
        if copy.exists():
            # Ended before what came out was counted.
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
    """How much is in a copy that was left; None for one that holds nothing which can be read."""
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
    """Removes the copy, after the room has been made what the copy is if it does not hold as much."""
    found = verification.counts(conn)
    failed = counted is not None and counted != found
    if failed:
        _put_back(conn, copy, key)
    _remove(copy)
    if failed:
        assert counted is not None
        raise UpgradeFailed(counted, found)


def _put_back(conn: Any, copy: Path, key: RoomKey) -> None:
    """In one transaction: killed in between, the copy is still there for the next opening."""
    source: Any = connection.open_to_read(copy, key)
    try:
        source.backup(conn)
    except sqlcipher.Error as error:
        raise StorageFull(str(error)) from error
    finally:
        source.close()


def _copied(conn: Any, copy: Path, key: RoomKey) -> tuple[int, int]:
    """How many sessions and messages are in the copy, of which every page has been read."""
    made: Any = connection.create_file(copy, key)
    try:
        conn.backup(made)
    except sqlcipher.Error as error:
        # It bears no code, and does not say which of the two is to blame.
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
"""SQLite makes the room anew in memory; in a larger one the free pages are left to what is written next."""


def give_back(conn: Connection) -> bool:
    """Makes the file as small as what it holds, if a good part of it is free; whether it did.

    Killed in between, the file is as it was. A disk without the space for it leaves it so, too.
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
