"""Builds a new room from everything readable in a damaged one, page by page."""
# ruff: noqa: S608  # the names put into SQL come from the schema

import hashlib
import hmac
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlcipher3 import dbapi2 as sqlcipher

from memory.clock import micros
from memory.documents.entities import DocumentState
from memory.errors import MemoryFault
from memory.storage import connection
from memory.storage.connection import Connection, fault_of, translated
from memory.storage.room import make_room_file
from memory.vault.keys import RoomKey
from memory.vault.upkeep import Salvaged

PAGE = 4096
_VECTOR, _CODE = 16, 64
USABLE = PAGE - _VECTOR - _CODE
_HEAD = b"SQLite format 3\0"
_LEAF = 0x0D
_LOG_HEAD, _FRAME_HEAD = 32, 24
_MOST_PAYLOAD = 1 << 30

Value = int | float | str | bytes | None


class BadPage(Exception):
    """A page that is missing, or has changed since it was written."""


class PageReader:
    """Pages by number, from 1. A page in the log takes precedence over the one in the file."""

    def __init__(self, path: Path, key: RoomKey) -> None:
        self._key = key
        # https://www.zetetic.net/sqlcipher/design/: the HMAC key is derived from the page key and the salt.
        salt = bytes(byte ^ 0x3A for byte in key.salt)
        self._code_key = hashlib.pbkdf2_hmac("sha512", key.data, salt, 2, 32)
        self._data = path.read_bytes() if path.exists() else b""
        log = path.with_name(path.name + "-wal")
        self._frames = dict(_log_frames(log.read_bytes() if log.exists() else b""))
        self.count = (
            max(-(-len(self._data) // PAGE), *self._frames, 0)
            if self._frames
            else -(-len(self._data) // PAGE)
        )

    def page(self, number: int) -> bytes:
        """Returns the decrypted page, `USABLE` bytes long. Raises `BadPage`."""
        for raw in (self._frames.get(number), self._data[(number - 1) * PAGE : number * PAGE]):
            if raw is not None and len(raw) == PAGE and self._sound(raw, number):
                return self._decrypted(raw, number)
        raise BadPage(number)

    def _sound(self, raw: bytes, number: int) -> bool:
        body = raw[len(_HEAD) if number == 1 else 0 : -_CODE]
        made = hmac.digest(self._code_key, body + struct.pack("<I", number), "sha512")
        return hmac.compare_digest(made, raw[-_CODE:])

    def _decrypted(self, raw: bytes, number: int) -> bytes:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        begin = len(_HEAD) if number == 1 else 0
        cipher = Cipher(algorithms.AES(self._key.data), modes.CBC(raw[USABLE : USABLE + _VECTOR]))
        decryptor = cipher.decryptor()
        text = decryptor.update(raw[begin:USABLE]) + decryptor.finalize()
        return (_HEAD if begin else b"") + text


def _log_frames(log: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields numbers and pages of the log up to its last commit, the newest version of a page last.

    SQLite stops at the first frame whose checksum is wrong; this uses each page's own HMAC instead.
    """
    if len(log) < _LOG_HEAD:
        return
    salts = log[16:24]
    found: list[tuple[int, bytes]] = []
    committed = 0
    for at in range(_LOG_HEAD, len(log) - _FRAME_HEAD - PAGE + 1, _FRAME_HEAD + PAGE):
        number, size = struct.unpack_from(">II", log, at)
        if log[at + 8 : at + 16] != salts:
            break
        found.append((number, log[at + _FRAME_HEAD : at + _FRAME_HEAD + PAGE]))
        if size:
            committed = len(found)
    yield from found[:committed]


@dataclass(slots=True)
class Rows:
    """The rows of all readable table leaves; the caller determines their tables.

    `bad` are the numbers of pages that cannot be read, `cut` counts rows whose overflow pages cannot be.
    """

    reader: PageReader
    bad: list[int] = field(default_factory=list)
    cut: int = 0

    def __iter__(self) -> Iterator[tuple[int, list[Value]]]:
        """Yields row ids and values."""
        for number in range(1, self.reader.count + 1):
            try:
                page = self.reader.page(number)
            except BadPage:
                self.bad.append(number)
                continue
            start = 100 if number == 1 else 0
            if page[start] == _LEAF:
                yield from self._leaf(page, start)

    def _leaf(self, page: bytes, start: int) -> Iterator[tuple[int, list[Value]]]:
        cells = struct.unpack_from(">H", page, start + 3)[0]
        for n in range(cells):
            try:
                (at,) = struct.unpack_from(">H", page, start + 8 + 2 * n)
                size, at = _varint(page, at)
                row_id, at = _varint(page, at)
                yield row_id, _record(self._payload(page, at, size))
            except (BadPage, struct.error, IndexError, ValueError):
                self.cut += 1

    def _payload(self, page: bytes, at: int, size: int) -> bytes:
        most = USABLE - 35
        if size <= most:
            return page[at : at + size]
        if size > _MOST_PAYLOAD:
            raise ValueError(size)
        least = (USABLE - 12) * 32 // 255 - 23
        local = least + (size - least) % (USABLE - 4)
        local = local if local <= most else least
        parts = [page[at : at + local]]
        left = size - local
        (following,) = struct.unpack_from(">I", page, at + local)
        while left > 0:
            if not 0 < following <= self.reader.count:
                raise BadPage(following)
            more = self.reader.page(following)
            parts.append(more[4 : 4 + min(left, USABLE - 4)])
            left -= len(parts[-1])
            (following,) = struct.unpack_from(">I", more)
        return b"".join(parts)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Returns a number of up to nine bytes, and where it ends."""
    value = 0
    for n in range(8):
        byte = data[at + n]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + n + 1
    return value << 8 | data[at + 8], at + 9


_NUMBERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def _record(data: bytes) -> list[Value]:
    """Returns the values of a row. Raises ValueError, IndexError, `struct.error` for invalid data."""
    end, at = _varint(data, 0)
    kinds = []
    while at < end:
        kind, at = _varint(data, at)
        kinds.append(kind)
    values: list[Value] = []
    for kind in kinds:
        value, at = _value(data, at, kind)
        values.append(value)
    if at != len(data):
        raise ValueError("a record of another length")
    return values


def _value(data: bytes, at: int, kind: int) -> tuple[Value, int]:
    if kind == 0:
        return None, at
    if kind in _NUMBERS:
        size = _NUMBERS[kind]
        return int.from_bytes(data[at : at + size], "big", signed=True), at + size
    if kind == 7:
        return struct.unpack_from(">d", data, at)[0], at + 8
    if kind in (8, 9):
        return kind - 8, at
    size = (kind - 12) // 2
    if kind < 12 or at + size > len(data):
        raise ValueError("no value")
    found = data[at : at + size]
    return (found.decode("utf-8") if kind % 2 else found), at + size


_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_ROLES = {"system", "user", "assistant"}
_TITLES = {"first_words", "model", "person", "imported"}
_DERIVED = {
    "schema_migrations",
    "jobs",
    "job_results",
    "duties",
    "summaries",
    "summary_messages",
    "epochs",
    "turns",
    "vectors",
    "learned",
    "left_open",
}
_RAW = {"sessions", "messages", "moves", "documents", "chunks"}
_FEWEST = {"sessions": 13, "messages": 14, "moves": 4, "documents": 25, "chunks": 14}
_NUMBERED = {"messages", "documents", "chunks"}
"""Tables whose `seq` is the number of the row."""
_STATES = {state.value for state in DocumentState}
_DESTINATIONS = {"open", "private"}
# In its table the name of a value and the value are adjacent.
_PARCEL_KEY = re.compile(rb"parcel_key([0-9a-f]{64})")

Row = dict[str, Value]


def salvage(path: Path, key: RoomKey, target: Path, now: datetime) -> Salvaged:
    """See `memory.vault.upkeep.RoomRepairs.salvage`. The damaged room is only read."""
    make_room_file(target, key, now)
    conn = connection.open_file(target, key, journal="DELETE")
    try:
        with translated():
            conn.execute("PRAGMA foreign_keys = OFF")
            conn.execute("BEGIN IMMEDIATE")
            columns = {table: _columns(conn, table) for table in tables(conn)}
            reader = PageReader(path, key)
            rows = Rows(reader)
            found = _in_pages(rows, columns)
            counts = {table: insert(conn, table, found[table]) for table in sorted(_RAW)}
            for table in sorted(columns.keys() - _RAW - _DERIVED):
                counts[table] = insert(conn, table, _readable(path, key, table, columns[table]))
            keep_parcel_key(conn, _parcel_key(reader))
            expected = mend(conn, now)
            counts = {table: count(conn, table) for table in counts}
            conn.execute("COMMIT")
            rebuild_full_text(conn)
    finally:
        conn.close()
    return Salvaged(
        pages=reader.count,
        bad_pages=len(rows.bad),
        sessions=counts["sessions"],
        messages=counts["messages"],
        expected=expected.messages,
        placeholders=expected.placeholders,
        rows={table: count for table, count in counts.items() if count and table != "meta"},
    )


def _columns(conn: Connection, table: str) -> list[str]:
    return [str(row[1]) for row in conn.execute(f"PRAGMA table_info({table})")]


def _in_pages(rows: Rows, columns: dict[str, list[str]]) -> dict[str, list[Row]]:
    """Returns rows by table. A row found twice (in a page that was moved) is taken once."""
    found: dict[str, dict[Value, Row]] = {table: {} for table in _RAW}
    for row_id, values in rows:
        for table in _RAW:
            row: Row = dict(zip(columns[table], values, strict=False))
            if len(values) >= _FEWEST[table] and _is_of(table, row):
                if table in _NUMBERED:
                    row["seq"] = row_id
                found[table][row["item_id" if table == "moves" else "id"]] = row
    return {table: list(one.values()) for table, one in found.items()}


def _is_of(table: str, row: Row) -> bool:
    """Returns whether a row's values are those of a row of that table."""
    if table == "moves":
        parcel = row["parcel"]
        return _is_id(row["item_id"]) and row["destination"] in _DESTINATIONS and isinstance(parcel, bytes)
    if not _is_id(row["id"]):
        return False
    if table == "documents":
        return row["state"] in _STATES and isinstance(row["text"], str) and isinstance(row["sha256"], str)
    if table == "chunks":
        return _is_id(row["document_id"]) and isinstance(row["text"], str) and isinstance(row["key"], bytes)
    if table == "sessions":
        return row["title_source"] in _TITLES and isinstance(row["title"], str)
    return row["role"] in _ROLES and _is_id(row["session_id"]) and isinstance(row["content"], str)


def _is_id(value: Value) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _parcel_key(reader: PageReader) -> str | None:
    """Returns the key for sessions on their way to this room, from whatever page contains it."""
    for number in range(1, reader.count + 1):
        try:
            found = _PARCEL_KEY.search(reader.page(number))
        except BadPage:
            continue
        if found is not None:
            return found[1].decode()
    return None


def _readable(path: Path, key: RoomKey, table: str, wanted: list[str]) -> Iterable[Row]:
    """Returns rows of a table from its beginning and from its end, each up to an unreadable page."""
    found: dict[tuple[Value, ...], Row] = {}
    for direction in ("ASC", "DESC"):
        try:
            # After a bad page a connection refuses everything else, so each direction has its own.
            conn = connection.open_to_read(path, key)
        except MemoryFault:
            return found.values()
        try:
            known = [name for name in _columns(conn, table) if name in wanted]
            order = ", ".join(f"{n + 1} {direction}" for n in range(len(_primary(conn, table))))
            for values in conn.execute(
                f"SELECT {_quoted([*_primary(conn, table), *known])} FROM {table} ORDER BY {order}"
            ):
                own = len(values) - len(known)
                found[tuple(values[:own])] = dict(zip(known, values[own:], strict=True))
        except sqlcipher.Error as error:
            if fault_of(error) is None and "no such" not in str(error):
                raise
        finally:
            conn.close()
    return found.values()


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _primary(conn: Connection, table: str) -> list[str]:
    """Returns the names of the primary key's columns, in its order."""
    keyed = [(int(row[5]), str(row[1])) for row in conn.execute(f"PRAGMA table_info({table})") if row[5]]
    return [name for _, name in sorted(keyed)]


TITLE = "Recovered"
_MOST_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class Expected:
    """The least number of messages that there were, according to the sessions, and the number of sessions
    created for messages without one."""

    messages: int
    placeholders: int


def tables(conn: Connection) -> list[str]:
    """Returns the tables of the schema, without the internal tables of full-text indexes."""
    names = conn.execute(
        """
        SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
        AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
        """
    )
    return [str(row[0]) for row in names]


def insert(conn: Connection, table: str, rows: Iterable[Mapping[str, Any]]) -> int:
    """Inserts rows, without those that violate a constraint; returns how many were inserted."""
    done = 0
    for row in rows:
        names = _quoted(row)
        marks = ", ".join("?" for _ in row)
        try:
            conn.execute(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))
        except sqlcipher.IntegrityError:
            continue
        done += 1
    return done


def keep_parcel_key(conn: Connection, key: str | None) -> None:
    """Stores the key that was found, unless the room has one."""
    if key is not None:
        conn.execute("INSERT OR IGNORE INTO meta (key, value) VALUES ('parcel_key', ?)", (key,))


def count(conn: Connection, table: str) -> int:
    return int(conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def mend(conn: Connection, now: datetime) -> Expected:
    """Gives every message an existing session and parent, and every session a head.

    Other rows with references to lost rows are deleted, or the references are cleared where they may be.
    """
    made = conn.execute(
        """
        INSERT INTO sessions (id, title, title_source, memory_mode, created_at, updated_at)
        SELECT session_id, ?, 'imported', 'normal', coalesce(min(created_at), ?), coalesce(max(created_at), ?)
        FROM messages WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id
        """,
        (TITLE, micros(now), micros(now)),
    ).rowcount
    conn.execute(
        """
        UPDATE messages SET parent_id = (
            SELECT p.id FROM messages AS p WHERE p.session_id = messages.session_id AND p.seq < messages.seq
            ORDER BY p.seq DESC LIMIT 1
        )
        WHERE parent_id IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM messages AS p
            WHERE p.id = messages.parent_id AND p.session_id = messages.session_id AND p.seq < messages.seq
        )
        """
    )
    conn.execute(
        """
        UPDATE sessions SET head_id = (
            SELECT id FROM messages WHERE session_id = sessions.id ORDER BY seq DESC LIMIT 1
        )
        WHERE head_id IS NULL
        OR NOT EXISTS (SELECT 1 FROM messages AS m WHERE m.id = head_id AND m.session_id = sessions.id)
        """
    )
    counted = "(SELECT count(*) FROM messages WHERE session_id = sessions.id)"
    expected = conn.execute(
        f"SELECT coalesce(sum(max(message_count, {counted})), 0) FROM sessions"
    ).fetchone()
    conn.execute(f"UPDATE sessions SET message_count = {counted}")
    for _ in range(_MOST_ROUNDS):
        if not _cut_loose_ends(conn):
            break
    _read_again(conn)
    return Expected(int(expected[0]), max(made, 0))


def _read_again(conn: Connection) -> None:
    """Marks documents that lost chunks, so that the next scan reads their files again: a search would not
    find the missing parts. Without its file, such a document keeps its text.
    """
    conn.execute(
        """
        UPDATE documents SET parser = '' WHERE text <> '' AND id NOT IN (
            SELECT document_id FROM chunks GROUP BY document_id HAVING count(*) = max(number) + 1
                AND max("end") >= length(rtrim(documents.text, ' ' || char(9) || char(10)))
        )
        """
    )


def _cut_loose_ends(conn: Connection) -> int:
    """Deletes or changes rows whose references are broken; returns how many."""
    changed = 0
    for table in tables(conn):
        keys: dict[int, list[tuple[str, str, str, str]]] = {}
        for row in conn.execute(f"PRAGMA foreign_key_list({table})"):
            keys.setdefault(int(row[0]), []).append((str(row[2]), str(row[3]), str(row[4]), str(row[6])))
        for parts in keys.values():
            parent, on_delete = parts[0][0], parts[0][3]
            same = " AND ".join(f"p.{theirs} = {table}.{ours}" for _, ours, theirs, _ in parts)
            column = parts[0][1]
            lost = f"{table}.{column} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {parent} AS p WHERE {same})"
            cut = f"DELETE FROM {table}" if on_delete == "CASCADE" else f"UPDATE {table} SET {column} = NULL"
            changed += conn.execute(f"{cut} WHERE {lost}").rowcount
    return changed


def rebuild_full_text(conn: Connection) -> None:
    """Rebuilds every full-text index from its content."""
    indices = conn.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%fts5%'"
    ).fetchall()
    for (name,) in indices:
        conn.execute(f"INSERT INTO {name} ({name}) VALUES ('rebuild')")
