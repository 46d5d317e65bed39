"""What can be told of a room's file without its key."""

from enum import StrEnum
from pathlib import Path

from memory.errors import KeyslotsDamaged
from memory.kinds import RoomKind
from memory.vault.files import open_regular
from memory.vault.keys import SALT_BYTES
from memory.vault.keyslots import KeyslotFile

PAGE = 4096


class Flaw(StrEnum):
    """Why a file cannot be the room that its keyslots belong to."""

    EMPTY = "empty"
    CUT = "cut"
    FOREIGN = "foreign"


def private_missing(folder: Path) -> bool:
    """Whether the rooms in a folder have, or had, a private room of which the database or the key file is not
    there or holds nothing. False where the open room's keys cannot be read: then there is more to worry
    about."""
    database = folder / f"{RoomKind.PRIVATE}.db"
    there = database.is_file() and flaw(database, b"") is not Flaw.EMPTY
    keys = KeyslotFile(folder / f"{RoomKind.PRIVATE}.keys")
    try:
        if keys.exists():
            return keys.read()[0].room_made and not there
        return database.exists() or KeyslotFile(folder / f"{RoomKind.OPEN}.keys").read()[0].private_made
    except KeyslotsDamaged:
        return keys.exists()


def flaw(database: Path, salt: bytes) -> Flaw | None:
    """What is wrong with a database at first sight; None for one that is not there, too.

    SQLCipher writes the salt at the beginning of the file, as it is: where something else stands the file is
    not this room's, or its first page is gone. What follows is seen only by who has the key.
    """
    try:
        size = database.stat().st_size
        with open_regular(database) as file:
            head = file.read(SALT_BYTES)
    except FileNotFoundError:
        return None
    except OSError:
        # It cannot be read, or is no file at all.
        return Flaw.FOREIGN
    if size == 0:
        return Flaw.EMPTY
    if head != salt:
        return Flaw.FOREIGN
    # While the log holds pages the file may end within one: it gets them from there.
    log = database.with_name(f"{database.name}-wal")
    cut = size % PAGE != 0 and not (log.exists() and log.stat().st_size)
    return Flaw.CUT if cut else None
