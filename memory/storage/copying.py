"""Consistent copies of a room's file, made while it may be in use.

The bytes are copied encrypted, which takes a fraction of the time of reading them as pages. SQLite's
write-ahead log makes the copy consistent: while a reader is open, the log is not restarted, so whatever is
moved from the log into the file meanwhile is in the copied log too.
"""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from memory.errors import NotARoom, StorageBusy, StorageFull
from memory.storage import connection
from memory.storage.connection import Connection, translated
from memory.vault.keys import RoomKey
from models.confinement import child_environment

LIMIT_S = 600.0
_TRIES = 20
_LOG = "-wal"
_SIDE_FILES = ("-wal", "-shm", "-journal")


def log_of(path: Path) -> Path:
    return path.with_name(path.name + _LOG)


def remove_room_file(path: Path) -> None:
    """Removes a database file and its side files."""
    for suffix in ("", *_SIDE_FILES):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def copy_room(path: Path, key: RoomKey, target: Path) -> None:
    """Writes the current state of the room to one file at `target`. Writers do not wait.

    Raises `RoomMissing`, `NotARoom`, `StorageBusy`, `StorageFull`; then there is no file.
    """
    connection.probe(path, key)
    try:
        with _reading(path, key):
            _copy_files((path, target), (log_of(path), log_of(target)))
        _fold(target, key)
    except BaseException:
        remove_room_file(target)
        raise


def copy_closed_room(path: Path, target: Path) -> None:
    """Copies the room's file, and its log if there is one, for whoever has the key.

    Without the key writers cannot be blocked, so the copy is repeated if the files changed meanwhile. Raises
    `StorageBusy` when they keep changing, `StorageFull`.
    """
    for _ in range(_TRIES):
        before = _marks(path)
        _copy_files((path, target), (log_of(path), log_of(target)))
        if _marks(path) == before:
            return
        remove_room_file(target)
    raise StorageBusy("the room is written to all the time")


class _reading:  # noqa: N801 - used like a function
    """Keeps one state of a room readable while inside."""

    def __init__(self, path: Path, key: RoomKey) -> None:
        self._path = path
        self._conn: Connection = connection.open_file(path, key)

    def __enter__(self) -> Connection:
        with translated(self._path):
            self._conn.execute("BEGIN")
            self._conn.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return self._conn

    def __exit__(self, *_: object) -> None:
        with translated(self._path):
            self._conn.execute("ROLLBACK")
            self._conn.close()


def _fold(target: Path, key: RoomKey) -> None:
    """Moves the copied log into the copied file, so that one file contains everything."""
    conn = connection.open_file(target, key, journal="DELETE")
    with translated(target):
        conn.close()
    left = log_of(target)
    if left.exists() and left.stat().st_size:
        raise NotARoom(target, "its log cannot be read")
    with target.open("rb") as file:
        os.fsync(file.fileno())


def _marks(path: Path) -> list[tuple[int, int, int] | None]:
    found: list[tuple[int, int, int] | None] = []
    for file in (path, log_of(path)):
        state = None
        with suppress(FileNotFoundError):
            state = file.stat()
        found.append(None if state is None else (state.st_ino, state.st_size, state.st_mtime_ns))
    return found


def _copy_files(*pairs: tuple[Path, Path]) -> None:
    try:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "memory.storage.file_copier",
                *(str(path.absolute()) for pair in pairs for path in pair),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=LIMIT_S,
            check=False,
            text=True,
            env=child_environment(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StorageFull(type(error).__name__) from error
    if done.returncode:
        number = int(done.stdout) if done.stdout.isdigit() else 0
        raise StorageFull(os.strerror(number) if number else "the files could not be copied")
