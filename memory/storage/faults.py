"""Translates SQLite's errors into errors of this package."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlcipher3 import dbapi2 as sqlcipher

from memory.errors import MemoryFault, NotARoom, RoomDamaged, StorageBusy, StorageFull

BUSY, LOCKED, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB = 5, 6, 8, 10, 11, 13, 14, 26
PERMISSION, AUTHORISATION = 3, 23

_DAMAGE = {CORRUPT, NOTADB}
_REFUSED = {FULL, IOERR, READONLY, CANTOPEN, PERMISSION}


def primary_code(error: BaseException) -> int:
    """Returns SQLite's primary result code, 0 when there is none."""
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else 0


def fault_of(error: BaseException, *, opening: Path | None = None) -> MemoryFault | None:
    """Returns the typed fault for an SQLite error; None for program errors (syntax, constraints, types).

    `opening` is the file being opened for the first time: there, damage cannot be distinguished from a wrong
    key.
    """
    code = primary_code(error)
    name = str(getattr(error, "sqlite_errorname", "") or "")
    if code in _DAMAGE:
        return RoomDamaged(name) if opening is None else NotARoom(opening, name)
    if code in _REFUSED:
        return StorageFull(name)
    if code in {BUSY, LOCKED}:
        return StorageBusy(name)
    return None


@contextmanager
def translated(opening: Path | None = None) -> Iterator[None]:
    """Raises typed faults in place of SQLite's errors."""
    try:
        yield
    except sqlcipher.Error as error:
        fault = fault_of(error, opening=opening)
        if fault is None:
            raise
        raise fault from error
