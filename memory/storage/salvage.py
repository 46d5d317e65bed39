"""A new room from all that can be read of a damaged one.

Sessions and messages, and sessions on their way between rooms, are taken from every page that is as it was
written, whatever has become of the trees above; what else a person made (projects, tags, memories, drafts) is
read by SQLite from both ends of its tables, as far as it comes. What was derived (summaries, vectors, the
full text) is made anew.
"""

import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from sqlcipher3 import dbapi2 as sqlcipher

from memory.errors import MemoryFault
from memory.storage import connection
from memory.storage.connection import Connection
from memory.storage.faults import fault_of, translated
from memory.storage.pages import BadPage, PageReader, Rows, Value
from memory.storage.queries import salvaged
from memory.storage.room import make_room_file
from memory.vault.keys import RoomKey
from memory.vault.upkeep import Salvaged

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
_RAW = {"sessions", "messages", "moves"}
_FEWEST = {"sessions": 13, "messages": 14, "moves": 4}
_DESTINATIONS = {"open", "private"}
# In its table the name of a value and the value stand side by side.
_PARCEL_KEY = re.compile(rb"parcel_key([0-9a-f]{64})")

Row = dict[str, Value]


def salvage(path: Path, key: RoomKey, target: Path, now: datetime) -> Salvaged:
    """As `memory.vault.upkeep.RoomRepairs.salvage`. The damaged room is only read."""
    make_room_file(target, key, now)
    conn = connection.open_file(target, key, journal="DELETE")
    try:
        with translated():
            conn.execute("PRAGMA foreign_keys = OFF")
            conn.execute("BEGIN IMMEDIATE")
            columns = {table: _columns(conn, table) for table in salvaged.tables(conn)}
            reader = PageReader(path, key)
            rows = Rows(reader)
            found = _in_pages(rows, columns)
            counts = {table: salvaged.insert(conn, table, found[table]) for table in sorted(_RAW)}
            for table in sorted(columns.keys() - _RAW - _DERIVED):
                counts[table] = salvaged.insert(conn, table, _readable(path, key, table, columns[table]))
            salvaged.keep_parcel_key(conn, _parcel_key(reader))
            expected = salvaged.mend(conn, now)
            counts = {table: salvaged.count(conn, table) for table in counts}
            conn.execute("COMMIT")
            salvaged.rebuild_full_text(conn)
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
    """By table. A row that was found twice (in a page that was moved) is taken once."""
    found: dict[str, dict[Value, Row]] = {table: {} for table in _RAW}
    for row_id, values in rows:
        for table in _RAW:
            row: Row = dict(zip(columns[table], values, strict=False))
            if len(values) >= _FEWEST[table] and _is_of(table, row):
                if table == "messages":
                    row["seq"] = row_id
                found[table][row["session_id" if table == "moves" else "id"]] = row
    return {table: list(one.values()) for table, one in found.items()}


def _is_of(table: str, row: Row) -> bool:
    """Whether a row's values are those of a message, of a session, or of one on its way."""
    if table == "moves":
        parcel = row["parcel"]
        return _is_id(row["session_id"]) and row["destination"] in _DESTINATIONS and isinstance(parcel, bytes)
    if not _is_id(row["id"]):
        return False
    if table == "sessions":
        return row["title_source"] in _TITLES and isinstance(row["title"], str)
    return row["role"] in _ROLES and _is_id(row["session_id"]) and isinstance(row["content"], str)


def _is_id(value: Value) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _parcel_key(reader: PageReader) -> str | None:
    """What opens the sessions that are on their way to this room, wherever it stands."""
    for number in range(1, reader.count + 1):
        try:
            found = _PARCEL_KEY.search(reader.page(number))
        except BadPage:
            continue
        if found is not None:
            return found[1].decode()
    return None


def _readable(path: Path, key: RoomKey, table: str, wanted: list[str]) -> Iterable[Row]:
    """Rows of a table from its beginning and from its end, each until a page cannot be read."""
    found: dict[tuple[Value, ...], Row] = {}
    for direction in ("ASC", "DESC"):
        try:
            # A connection that has met a bad page refuses all that follows: each way has its own.
            conn = connection.open_to_read(path, key)
        except MemoryFault:
            return found.values()
        try:
            known = [name for name in _columns(conn, table) if name in wanted]
            order = ", ".join(f"{n + 1} {direction}" for n in range(len(_primary(conn, table))))
            for values in conn.execute(
                f"SELECT {', '.join([*_primary(conn, table), *known])} FROM {table} ORDER BY {order}"  # noqa: S608
            ):
                own = len(values) - len(known)
                found[tuple(values[:own])] = dict(zip(known, values[own:], strict=True))
        except sqlcipher.Error as error:
            if fault_of(error) is None and "no such" not in str(error):
                raise
        finally:
            conn.close()
    return found.values()


def _primary(conn: Connection, table: str) -> list[str]:
    """The names of the primary key's columns, in its order."""
    keyed = [(int(row[5]), str(row[1])) for row in conn.execute(f"PRAGMA table_info({table})") if row[5]]
    return [name for _, name in sorted(keyed)]
