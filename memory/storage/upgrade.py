"""A room of an earlier schema is brought up to date with a checked copy of it at hand until that is done.

Each step is one transaction: killed in between, the room is whole, of one version or another. The copy is for
what no transaction helps against. It goes when the upgrade is done: what is forgotten later must be in no
older copy.
"""

from datetime import datetime
from pathlib import Path
from typing import Any

from sqlcipher3 import dbapi2 as sqlcipher

from memory.errors import RoomDamaged, StorageFull
from memory.storage import connection, schema, space
from memory.storage.connection import Connection
from memory.storage.copying import remove_room_file
from memory.storage.faults import translated
from memory.storage.migrations import LATEST
from memory.storage.queries import check
from memory.vault.files import translated_os
from memory.vault.keys import RoomKey


def copy_of(path: Path) -> Path:
    """Where the copy is while a room is brought up to date."""
    return path.with_name(path.name + ".before")


def bring_up_to_date(conn: Connection, path: Path, key: RoomKey, now: datetime) -> bool:
    """Whether there was anything to do. Raises `StorageFull` (the copy needs space too), `RoomDamaged`.

    When it fails otherwise than for want of space, the copy stays until the room is opened again.
    """
    copy = copy_of(path)
    if schema.version_of(conn) == LATEST:
        if copy.exists():
            _remove(copy)
        return False
    _remove(copy)
    try:
        counted = _copied(conn, copy, key)
        schema.migrate(conn, now)
    except StorageFull:
        _remove(copy)
        raise
    if check.counts(conn) != counted:
        raise RoomDamaged("what was brought up to date holds less than before")
    _remove(copy)
    space.give_back(conn)
    return True


def _copied(conn: Any, copy: Path, key: RoomKey) -> tuple[int, int]:
    """How many sessions and messages are in the copy, of which every page has been read."""
    made: Any = connection.create_file(copy, key)
    try:
        conn.backup(made)
    except sqlcipher.Error as error:
        # It bears no code, and does not say which of the two is to blame.
        with translated():
            damaged = check.pages(conn)
        raise (RoomDamaged(damaged[0]) if damaged else StorageFull(str(error))) from error
    finally:
        made.close()
    read = connection.open_to_read(copy, key)
    with translated():
        try:
            problems = check.structure(read)
            counted = check.counts(read)
        finally:
            read.close()
    if problems:
        raise RoomDamaged(problems[0])
    return counted


def _remove(copy: Path) -> None:
    with translated_os():
        remove_room_file(copy)
