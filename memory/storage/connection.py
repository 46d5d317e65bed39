"""Opens SQLCipher connections safely, and converts values to and from their columns."""

import json
import os
import re
import struct
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import uuid_utils
from sqlcipher3 import dbapi2 as sqlcipher

from memory.errors import MemoryFault, NotARoom, RoomDamaged, RoomMissing, StorageBusy, StorageFull
from memory.storage.words import beginnings
from memory.vault.keys import RoomKey

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


SQLITE_FLOOR = (3, 51, 3)
BUSY_MS = 5_000
_UNLOCKED = "" if sys.platform == "win32" else "&vfs=unix-none"
_MAPPED_AT_A_TIME = 4096
_INDEX_BYTES = 1024 * 1024
CACHE_KIB = 8 * 1024
"""Per connection. Four times as much finds nothing sooner among 300,000 messages and stores no more per
second; a long session would fill it."""
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
    """Returns text in the form in which titles are compared: case-folded and composed."""
    return unicodedata.normalize("NFC", text).casefold()


def folded(column: str) -> str:
    """Returns SQL that folds a column like `fold`.

    SQLite folds ASCII text without calling Python: each such call waits for the interpreter lock.
    """
    return f"iif(octet_length({column}) = length({column}), lower({column}), fold({column}))"


def in_folded(column: str) -> str:
    """Returns SQL for the position of its one parameter, which is folded, in a folded column; 0 if absent."""
    return f"instr({folded(column)}, ?)"


def columns(
    conn: Connection, rows: str, names: Sequence[str], parameters: Sequence[object], *, blobs: str = "NULL"
) -> tuple[list[list[Any]], bytes]:
    """Returns the values of a query's rows by column, in row order, and those of the column `blobs`
    concatenated.

    SQLite writes each column as one JSON text, and the interpreter runs other threads meanwhile. Each row
    fetched separately would wait for the interpreter lock again.
    """
    texts = ", ".join(f"json_group_array({name})" for name in names)
    *found, data = conn.execute(
        f"SELECT {texts}, CAST(group_concat({blobs}, '') AS BLOB) FROM ({rows})",  # noqa: S608 - names of ours
        parameters,
    ).fetchone()
    return [json.loads(one) for one in found], data or b""


def spaced(text: str) -> str:
    """Returns the folded words of a text, each after a space."""
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
        target,
        isolation_level=None,
        check_same_thread=False,
        uri=target.startswith("file:"),
        # When its cache is full, this library keeps old statements and compiles each new one every time. A
        # synced room alone uses more than its usual 128: merging a row took 2.2 times as long.
        cached_statements=500,
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
    """Sets the pragmas of a room. `journal` is SQLite's journal mode; None for a database in memory."""
    if journal is not None:
        conn.execute(f"PRAGMA journal_mode = {journal}")
        conn.execute("PRAGMA synchronous = FULL")
    conn.execute("PRAGMA foreign_keys = ON")
    conn.execute("PRAGMA secure_delete = ON")
    conn.execute("PRAGMA temp_store = MEMORY")
    # Cached pages are already decrypted.
    conn.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    conn.execute("PRAGMA trusted_schema = OFF")
    conn.create_function("fold", 1, fold, deterministic=True)
    conn.create_function("spaced", 1, spaced, deterministic=True)


def probe(path: Path, key: RoomKey, *, form: tuple[str, ...] = ()) -> int:
    """Returns the schema version of a room file, without changing a byte of it or of its log.

    `form` contains the SQLCipher settings in which the file differs from a room's, as in the functions below.
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
    """Opens a connection that changes no byte of a room file or of its log. Raises the errors of `probe`."""
    if not path.exists():
        raise RoomMissing(path)
    if not path.is_file() or path.stat().st_size == 0:
        raise NotARoom(path, "empty or not a regular file")
    log = path.with_name(path.name + "-wal")
    # A read-only connection never moves the write-ahead log into the file when it closes. Without a log
    # nobody has the file open; opening it as immutable then keeps SQLite from creating an empty log.
    if not log.exists() or log.stat().st_size == 0:
        return _open_to_read(path, key, "mode=ro&immutable=1", form)
    if has_room_to_map(path):
        with suppress(StorageFull):
            return _open_to_read(path, key, "mode=ro", form)
    return open_alone(path, key, form=form)


def open_alone(path: Path, key: RoomKey, *, form: tuple[str, ...] = ()) -> Connection:
    """Like `open_to_read`, where nothing can be written. SQLite would create an index file next to the log;
    this keeps the index in memory. Nothing is locked, so nobody else may write to the room meanwhile.
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
    """Returns whether SQLite can create the file with the log's index, which it maps to memory.

    SQLite writes a byte to every 4 KiB of that file, which allocates all of it where blocks are that large.
    With smaller blocks, the rest are holes. If one is written to when the disk is full, the process is killed
    by SIGBUS. `IndexSpace` allocates them beforehand.
    """
    if not hasattr(os, "statvfs"):
        return True
    with suppress(OSError):
        found = os.statvfs(path.parent)
        return found.f_frsize >= _MAPPED_AT_A_TIME or found.f_bavail * found.f_frsize >= 2 * _INDEX_BYTES
    return True


class IndexSpace:
    """Allocates the index file of an open room's log where blocks are small: for logs of half a gigabyte.

    The file is kept open: closing it would end SQLite's locks on it, which belong to the process.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + "-shm")
        self._file: int | None = None

    def take(self) -> None:
        """Allocates the space; call it after the room has been read from. Raises `StorageFull`; call
        `release` even then."""
        if not hasattr(os, "posix_fallocate") or not self._path.exists():
            return
        if self._file is None and os.statvfs(self._path).f_frsize < _MAPPED_AT_A_TIME:
            self._file = os.open(self._path, os.O_RDWR)
            try:
                os.posix_fallocate(self._file, 0, _INDEX_BYTES)
            except OSError as error:
                raise StorageFull(error.strerror or "") from error

    def release(self) -> None:
        """Closes the file; call it when every connection to the room is closed."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


def open_file(path: Path, key: RoomKey, *, journal: str = "WAL", form: tuple[str, ...] = ()) -> Connection:
    """Opens a room file that `probe` accepted. Raises `NotARoom`, `StorageFull`, `StorageBusy`."""
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
    """Opens a new, empty file of mode 0600. Raises `FileExistsError`, `StorageFull`.

    Its commits are written to the file itself: anything that a write-ahead log could not transfer when the
    connection closes would stay behind in a separate file, and SQLite does not report it.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return open_file(path, key, journal="DELETE", form=form)


def open_memory() -> Connection:
    """Opens a database in memory, which ends with the connection."""
    with translated():
        conn = _keyed(":memory:", None)
        _check_library(conn)
        _settle(conn, journal=None)
    return conn


_ID = re.compile(r"[0-9a-f-]{1,36}")
_FULL_LENGTH = 36
_AFTER_ANY_DIGIT = "g"


def pack_tokens(tokens: tuple[int, ...]) -> bytes | None:
    """Returns unsigned 32-bit little-endian numbers, concatenated; None for no tokens."""
    return struct.pack(f"<{len(tokens)}I", *tokens) if tokens else None


def unpack_tokens(blob: bytes | None) -> tuple[int, ...]:
    return struct.unpack(f"<{len(blob) // 4}I", blob) if blob else ()


def new_id() -> str:
    """Returns a UUIDv7; within one process later ids are greater."""
    return str(uuid_utils.uuid7())


def id_range(ref: str) -> tuple[str, str] | None:
    """Returns the bounds of the ids that `ref` is or begins, as texts; None if there can be none."""
    wanted = ref.strip().lower()
    if not _ID.fullmatch(wanted):
        return None
    return wanted, wanted if len(wanted) == _FULL_LENGTH else wanted + _AFTER_ANY_DIGIT


_NO_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")


def one_line(text: str) -> str:
    """Like `storable`, but replaces line ends, control characters and bidirectional marks by spaces. For
    titles and names: in a list each is a row, and must not look like several."""
    return storable(_NO_LINE.sub(" ", text)).strip() if _NO_LINE.search(text) else storable(text)


def storable(text: str) -> str:
    """Returns `text` with each lone surrogate, which UTF-8 cannot encode, replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text
