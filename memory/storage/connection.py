"""Opening a SQLCipher connection the one way that is safe.

The key is the first thing a connection hears, in its raw form, and nothing is created or changed before a
read with that key has succeeded.
"""

import json
import os
import sys
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from sqlcipher3 import dbapi2 as sqlcipher

from memory.errors import NotARoom, RoomMissing, StorageFull
from memory.storage.faults import translated
from memory.storage.words import beginnings
from memory.vault.keys import RoomKey

SQLITE_FLOOR = (3, 51, 3)
BUSY_MS = 5_000
_UNLOCKED = "" if sys.platform == "win32" else "&vfs=unix-none"
_MAPPED_AT_A_TIME = 4096
_INDEX_BYTES = 1024 * 1024
CACHE_KIB = 8 * 1024
"""Of each connection. Four times as much finds nothing sooner among 300,000 messages, and takes in no more a
second; a long evening would fill it."""
APPLICATION_ID = 0x41544C53  # "ATLS"


class Connection(Protocol):
    """The part of a DB-API connection that queries use."""

    @property
    def in_transaction(self) -> bool: ...

    @property
    def total_changes(self) -> int: ...

    def execute(self, sql: str, parameters: Any = ..., /) -> Any: ...

    def executemany(self, sql: str, parameters: Any, /) -> Any: ...

    def create_function(self, name: str, narg: int, func: Any, /, *, deterministic: bool) -> None: ...

    def interrupt(self) -> None: ...

    def set_progress_handler(self, handler: Callable[[], bool] | None, n: int, /) -> None: ...

    def close(self) -> None: ...


def fold(text: str) -> str:
    """Text in the form in which titles are compared: case-folded and composed."""
    return unicodedata.normalize("NFC", text).casefold()


def folded(column: str) -> str:
    """SQL for a column as `fold` makes it.

    SQLite folds plain text by itself: each call of a function of ours waits for the interpreter.
    """
    return f"iif(octet_length({column}) = length({column}), lower({column}), fold({column}))"


def in_folded(column: str) -> str:
    """SQL for where its one parameter, which is folded, stands in a folded column; 0 is nowhere."""
    return f"instr({folded(column)}, ?)"


def columns(
    conn: Connection, rows: str, names: Sequence[str], parameters: Sequence[object], *, blobs: str = "NULL"
) -> tuple[list[list[Any]], bytes]:
    """The values of a query's rows by column, in the order of the rows, and those of the column `blobs` one
    after another.

    SQLite writes each column as one JSON text, and the interpreter runs other threads until all are done.
    Every row that is fetched by itself waits for the interpreter's lock once more.
    """
    texts = ", ".join(f"json_group_array({name})" for name in names)
    *found, data = conn.execute(
        f"SELECT {texts}, CAST(group_concat({blobs}, '') AS BLOB) FROM ({rows})",  # noqa: S608 - names of ours
        parameters,
    ).fetchone()
    return [json.loads(one) for one in found], data or b""


def spaced(text: str) -> str:
    """The folded words of a text, each behind a space."""
    return "".join(f" {word}" for word in beginnings(fold(text)))


def _check_library(conn: Connection) -> None:
    found = tuple(int(part) for part in sqlcipher.sqlite_version.split("."))
    if found < SQLITE_FLOOR:
        raise RuntimeError(
            f"SQLite {sqlcipher.sqlite_version} is older than {'.'.join(map(str, SQLITE_FLOOR))}"
        )
    if conn.execute("PRAGMA cipher_version").fetchone() is None:
        raise RuntimeError("this SQLite was built without SQLCipher")


def _keyed(target: str, key: RoomKey | None, form: tuple[str, ...] = ()) -> Connection:
    conn: Connection = sqlcipher.connect(
        target, isolation_level=None, check_same_thread=False, uri=target.startswith("file:")
    )
    if key is not None:
        conn.execute(f"PRAGMA key = \"x'{key.sqlcipher_hex()}'\"")
    for pragma in form:
        conn.execute(f"PRAGMA {pragma}")
    # SQLCipher reports a failed page check on stderr, where it would be drawn over the screen.
    conn.execute("PRAGMA cipher_log_level = NONE")
    conn.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    return conn


def _settle(conn: Connection, *, journal: str | None) -> None:
    """`journal` is SQLite's journal mode; None for a database in memory."""
    if journal is not None:
        conn.execute(f"PRAGMA journal_mode = {journal}")
        conn.execute("PRAGMA synchronous = FULL")
    conn.execute("PRAGMA foreign_keys = ON")
    conn.execute("PRAGMA secure_delete = ON")
    conn.execute("PRAGMA temp_store = MEMORY")
    # Pages in the cache are decrypted already.
    conn.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    conn.execute("PRAGMA trusted_schema = OFF")
    conn.create_function("fold", 1, fold, deterministic=True)
    conn.create_function("spaced", 1, spaced, deterministic=True)


def probe(path: Path, key: RoomKey, *, form: tuple[str, ...] = ()) -> int:
    """The schema version of a room file, found without changing a byte of it or of its log.

    `form` are settings of SQLCipher in which the file differs from a room's, here and below.
    Raises `RoomMissing`, `NotARoom`, `StorageBusy`.
    """
    with translated(path):
        conn = open_to_read(path, key, form=form)
        try:
            application = conn.execute("PRAGMA application_id").fetchone()[0]
            version = conn.execute("PRAGMA user_version").fetchone()[0]
        finally:
            conn.close()
    if application != APPLICATION_ID:
        raise NotARoom(path, "another program's database")
    return int(version)


def open_to_read(path: Path, key: RoomKey, *, form: tuple[str, ...] = ()) -> Connection:
    """A connection to a room file that changes no byte of it or of its log. Raises as `probe`."""
    if not path.exists():
        raise RoomMissing(path)
    if not path.is_file() or path.stat().st_size == 0:
        raise NotARoom(path, "empty or not a regular file")
    log = path.with_name(path.name + "-wal")
    # A connection that may only read never moves the write-ahead log into the file when it closes. Without
    # a log nobody has the file open; calling it immutable then keeps SQLite from making an empty one.
    if not log.exists() or log.stat().st_size == 0:
        return _open_to_read(path, key, "mode=ro&immutable=1", form)
    if has_room_to_map(path):
        with suppress(StorageFull):
            return _open_to_read(path, key, "mode=ro", form)
    return open_alone(path, key, form=form)


def open_alone(path: Path, key: RoomKey, *, form: tuple[str, ...] = ()) -> Connection:
    """As `open_to_read`, where nothing can be written. SQLite would make a file beside the log to index
    it in; here it keeps that index in memory. Nobody else may write to the room meanwhile: nothing is locked.
    """
    log = path.with_name(path.name + "-wal")
    settled = not log.exists() or log.stat().st_size == 0
    options = "mode=ro&immutable=1" if settled else f"mode=ro{_UNLOCKED}"
    return _open_to_read(path, key, options, form)


def _open_to_read(path: Path, key: RoomKey, options: str, form: tuple[str, ...]) -> Connection:
    with translated(path):
        conn = _keyed(f"{path.resolve().as_uri()}?{options}", key, form)
        try:
            _check_library(conn)
            if _UNLOCKED and options.endswith(_UNLOCKED):
                conn.execute("PRAGMA locking_mode = EXCLUSIVE")
            conn.execute("SELECT count(*) FROM sqlite_master").fetchone()
            _settle(conn, journal=None)
        except BaseException:
            conn.close()
            raise
    return conn


def has_room_to_map(path: Path) -> bool:
    """Whether SQLite can make the file in which it indexes the log and maps it to memory.

    It writes a byte to every 4 KiB of that file, which takes the space for all of it where blocks are that
    large. Where they are smaller, the rest are holes. When one is filled and the disk is full, the process is
    killed by SIGBUS. `IndexSpace` fills them beforehand.
    """
    if not hasattr(os, "statvfs"):
        return True
    with suppress(OSError):
        found = os.statvfs(path.parent)
        return found.f_frsize >= _MAPPED_AT_A_TIME or found.f_bavail * found.f_frsize >= 2 * _INDEX_BYTES
    return True


class IndexSpace:
    """The space of the file in which the log of an open room is indexed, where blocks are small: for logs of
    half a gigabyte.

    The file is kept open: to close it would end SQLite's locks on it, which belong to the process.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + "-shm")
        self._file: int | None = None

    def take(self) -> None:
        """To be called when the room has been read from. Raises `StorageFull`; call `release` even then."""
        if not hasattr(os, "posix_fallocate") or not self._path.exists():
            return
        if self._file is None and os.statvfs(self._path).f_frsize < _MAPPED_AT_A_TIME:
            self._file = os.open(self._path, os.O_RDWR)
            try:
                os.posix_fallocate(self._file, 0, _INDEX_BYTES)
            except OSError as error:
                raise StorageFull(error.strerror or "") from error

    def release(self) -> None:
        """To be called when every connection to the room is closed."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


def open_file(path: Path, key: RoomKey, *, journal: str = "WAL", form: tuple[str, ...] = ()) -> Connection:
    """A connection to a room file that `probe` accepted. Raises `NotARoom`, `StorageFull`, `StorageBusy`."""
    with translated(path):
        conn = _keyed(str(path), key, form)
        try:
            conn.execute("SELECT count(*) FROM sqlite_master").fetchone()
            _settle(conn, journal=journal)
        except BaseException:
            conn.close()
            raise
    return conn


def create_file(path: Path, key: RoomKey, *, form: tuple[str, ...] = ()) -> Connection:
    """A connection to a new, empty file of mode 0600. Raises `FileExistsError`, `StorageFull`.

    Its commits go into the file itself: what a write-ahead log could not hand over when the connection closes
    would stay behind under a name of its own, and SQLite does not tell.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return open_file(path, key, journal="DELETE", form=form)


def open_memory() -> Connection:
    """A connection to a database that lives and dies with it."""
    with translated():
        conn = _keyed(":memory:", None)
        _check_library(conn)
        _settle(conn, journal=None)
    return conn
