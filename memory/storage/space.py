"""Giving back the space that a change of the schema has left free."""

from contextlib import suppress

from memory.errors import StorageFull
from memory.storage.connection import Connection
from memory.storage.faults import translated

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
