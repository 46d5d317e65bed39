"""Tracks changes of a room since it was opened, by triggers, for caches and for sync."""

import hashlib
import hmac
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from memory.clock import Clock, micros
from memory.storage.connection import Connection
from memory.sync.entities import DRIFT, HybridClock, KeySet
from memory.sync.tables import ALL, BY_NAME, EMPTIED, SyncedTable

# One version counts all changes; each item has the version of its last change.
_TRIGGERS = """
CREATE TEMP TRIGGER note_message_added AFTER INSERT ON main.messages WHEN new.status <> 'streaming'
BEGIN SELECT note('message', new.seq); END;

CREATE TEMP TRIGGER note_message_removed AFTER DELETE ON main.messages
BEGIN SELECT note('message', old.seq); END;

CREATE TEMP TRIGGER note_message_changed AFTER UPDATE OF content, status, important, parent_id, session_id
ON main.messages WHEN old.status <> 'streaming' OR new.status <> 'streaming'
BEGIN SELECT note('message', new.seq); END;

CREATE TEMP TRIGGER note_session_added AFTER INSERT ON main.sessions
BEGIN SELECT note('session', new.id); END;

CREATE TEMP TRIGGER note_session_removed AFTER DELETE ON main.sessions
BEGIN SELECT note('session', old.id); END;

CREATE TEMP TRIGGER note_session_changed AFTER UPDATE OF project_id, memory_mode, deleted_at ON main.sessions
WHEN old.project_id IS NOT new.project_id OR old.memory_mode <> new.memory_mode
  OR old.deleted_at IS NOT new.deleted_at
BEGIN SELECT note('session', new.id); END;

CREATE TEMP TRIGGER note_project_renamed AFTER UPDATE OF name ON main.projects
BEGIN
SELECT note('document', id) FROM main.documents WHERE project_id = new.id;
SELECT note('session', id) FROM main.sessions WHERE project_id = new.id;
SELECT note('memory', id), note('vector', id) FROM main.memories WHERE project_id = new.id;
END;

CREATE TEMP TRIGGER note_memory_added AFTER INSERT ON main.memories
BEGIN SELECT note('memory', new.id); END;

CREATE TEMP TRIGGER note_memory_removed AFTER DELETE ON main.memories
BEGIN SELECT note('memory', old.id); END;

CREATE TEMP TRIGGER note_memory_changed AFTER UPDATE OF updated_at, state ON main.memories
BEGIN SELECT note('memory', new.id); END;

CREATE TEMP TRIGGER note_memory_used AFTER UPDATE OF uses ON main.memories
BEGIN SELECT note('use', new.id); END;

CREATE TEMP TRIGGER note_memory_moved AFTER UPDATE OF project_id ON main.memories
WHEN old.project_id IS NOT new.project_id
BEGIN SELECT note('vector', new.id); END;

CREATE TEMP TRIGGER note_memory_gained_source AFTER INSERT ON main.memory_sources
BEGIN SELECT note('memory', new.memory_id); END;

CREATE TEMP TRIGGER note_memory_lost_source AFTER DELETE ON main.memory_sources
BEGIN SELECT note('memory', old.memory_id); END;

CREATE TEMP TRIGGER note_summary_added AFTER INSERT ON main.summaries
BEGIN SELECT note('summary', new.id); END;

CREATE TEMP TRIGGER note_summary_removed AFTER DELETE ON main.summaries
BEGIN SELECT note('summary', old.id); END;

CREATE TEMP TRIGGER note_summary_changed AFTER UPDATE OF text, state ON main.summaries
BEGIN SELECT note('summary', new.id); END;

CREATE TEMP TRIGGER note_vector_added AFTER INSERT ON main.vectors
BEGIN SELECT note('vector', new.owner_id); END;

CREATE TEMP TRIGGER note_vector_removed AFTER DELETE ON main.vectors
BEGIN SELECT note('vector', old.owner_id); END;

CREATE TEMP TRIGGER note_document_added AFTER INSERT ON main.documents
BEGIN SELECT note('document', new.id); END;

CREATE TEMP TRIGGER note_document_removed AFTER DELETE ON main.documents
BEGIN SELECT note('document', old.id); END;

CREATE TEMP TRIGGER note_document_changed AFTER UPDATE OF state, project_id, folder_id, location
ON main.documents
BEGIN SELECT note('document', new.id); END;

CREATE TEMP TRIGGER note_written AFTER UPDATE OF version ON main.notes
BEGIN SELECT note('note', new.document_id); END;

CREATE TEMP TRIGGER note_added AFTER INSERT ON main.notes
BEGIN SELECT note('note', new.document_id); END;

CREATE TEMP TRIGGER note_removed AFTER DELETE ON main.notes
BEGIN SELECT note('note', old.document_id); END;

CREATE TEMP TRIGGER note_binned AFTER UPDATE OF deleted_at ON main.notes
WHEN old.deleted_at IS NOT new.deleted_at
BEGIN SELECT note('note', new.document_id), note('document', new.document_id); END;

CREATE TEMP TRIGGER note_chunk_added AFTER INSERT ON main.chunks
BEGIN SELECT note('chunk', new.seq); END;

CREATE TEMP TRIGGER note_chunk_removed AFTER DELETE ON main.chunks
BEGIN SELECT note('chunk', old.seq), note('chunk_vector', old.id); END;

CREATE TEMP TRIGGER note_chunk_moved AFTER UPDATE OF number, page ON main.chunks
WHEN old.number <> new.number OR old.page IS NOT new.page
BEGIN SELECT note('chunk', new.seq); END;

CREATE TEMP TRIGGER note_chunk_vector_added AFTER INSERT ON main.chunk_vectors
BEGIN SELECT note('chunk_vector', new.chunk_id); END;

CREATE TEMP TRIGGER note_chunk_vector_removed AFTER DELETE ON main.chunk_vectors
BEGIN SELECT note('chunk_vector', old.chunk_id); END;
"""


class ChangeNotes:
    """The recorded changes of one connection. Used only on the thread that owns it."""

    def __init__(self) -> None:
        self._version = 0
        self._seen: dict[str, dict[int | str, int]] = {
            "message": {},
            "session": {},
            "vector": {},
            "memory": {},
            "summary": {},
            "use": {},
            "document": {},
            "chunk": {},
            "chunk_vector": {},
            "note": {},
        }

    @property
    def version(self) -> int:
        return self._version

    def listen(self, conn: Connection) -> None:
        """Starts recording the changes made by a connection."""
        note: Callable[[str, int | str], None] = self._note
        conn.create_function("note", 2, note, deterministic=False)
        for statement in _TRIGGERS.strip().split("\n\n"):
            conn.execute(statement)

    def since(self, kind: str, version: int) -> frozenset[int | str]:
        """Returns the items of a kind changed after a version: `seq` for messages and chunks, the owner's id
        for vectors, ids for everything else."""
        if version >= self._version:
            return frozenset()
        return frozenset(key for key, at in self._seen[kind].items() if at > version)

    def _note(self, kind: str, key: int | str) -> None:
        self._version += 1
        self._seen[kind][key] = self._version


# ruff: noqa: S608  # the names put into SQL are all written in `memory.sync.tables`


BORN, GONE, FORGOTTEN = "", "-", "!"
"""The values of a stamp's `field` that are not names of columns."""

_CAPTURING = "(SELECT capturing FROM sync_state)"


def key_of(table: SyncedTable, row: str) -> str:
    """Returns SQL for the key of a row; `row` is `new`, `old` or an alias."""
    if table.key == ("id",) or (len(table.key) == 1 and not table.digested):
        return f'{row}."{table.key[0]}"'
    parts = (
        f'sync_digest({row}."{name}")' if name in table.digested else f'{row}."{name}"' for name in table.key
    )
    return f"json_array({', '.join(parts)})"


def install(conn: Connection, clock: Clock) -> HybridClock | None:
    """Starts recording the changes made by a connection. Does nothing and returns None if the room is not
    synced.
    """
    row = conn.execute("SELECT keys FROM sync_state").fetchone()
    if row is None:
        return None
    keys = msgspec.msgpack.decode(row[0], type=KeySet)
    bound = micros(clock.now() + DRIFT)
    (last,) = conn.execute("SELECT coalesce(max(at), 0) FROM sync_stamps WHERE at <= ?", (bound,)).fetchone()
    ticking = HybridClock(clock, last)
    define(conn, ticking, keys.naming)
    uninstall(conn)
    for statement in _statements():
        conn.execute(statement)
    return ticking


def define(conn: Connection, clock: HybridClock, naming: bytes) -> None:
    """Defines the functions that the triggers and the queries of this package use."""

    def digest(text: str) -> str:
        return hmac.new(naming, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:32]

    conn.create_function("sync_at", 0, clock.next, deterministic=False)
    conn.create_function("sync_digest", 1, digest, deterministic=True)


def uninstall(conn: Connection) -> None:
    """Stops recording changes."""
    names = conn.execute("SELECT name FROM sqlite_temp_master WHERE type = 'trigger' AND name GLOB 'sync_*'")
    for (name,) in names.fetchall():
        conn.execute(f"DROP TRIGGER temp.{name}")


@contextmanager
def silent(conn: Connection) -> Iterator[None]:
    """Records nothing that is written inside it: changes that come from other devices."""
    conn.execute("UPDATE sync_state SET capturing = 0")
    try:
        yield
    finally:
        if conn.in_transaction:
            conn.execute("UPDATE sync_state SET capturing = 1")


@contextmanager
def leaving(conn: Connection) -> Iterator[None]:
    """Rows deleted inside it move to another room and may come back; other deletions are permanent."""
    conn.execute("UPDATE sync_state SET leaving = 1")
    try:
        yield
    finally:
        if conn.in_transaction:
            conn.execute("UPDATE sync_state SET leaving = 0")


def _statements() -> Iterator[str]:
    for table in ALL:
        yield from _of_table(table)
    emptied = _stamp(EMPTIED, "new.id", f"'{FORGOTTEN}'", "0", keep=True)
    yield f"""
        CREATE TEMP TRIGGER sync_messages_emptied AFTER UPDATE OF content ON main.messages
        WHEN {_CAPTURING} AND old.content <> '' AND new.content = '' AND new.status <> 'streaming'
        BEGIN {emptied} {_stale("messages", "new.id")} END
    """
    # A message is in the session of its parent; a device may know it only by that.
    placed = _stamp("messages", "new.id", "'session_id'", _after("messages", "new.id", BORN))
    yield f"""
        CREATE TEMP TRIGGER sync_messages_rooted AFTER UPDATE OF parent_id ON main.messages
        WHEN {_CAPTURING} AND old.parent_id IS NOT NULL AND new.parent_id IS NULL
            AND new.status <> 'streaming'
        BEGIN {placed} END
    """


def _of_table(table: SyncedTable) -> Iterator[str]:
    name = table.name
    new, old = key_of(table, "new"), key_of(table, "old")
    in_new = table.only.format(row="new") or "1"
    in_old = table.only.format(row="old") or "1"
    yield f"""
        CREATE TEMP TRIGGER sync_{name}_added AFTER INSERT ON main.{name} WHEN {_CAPTURING} AND {in_new}
        BEGIN {_born(name, new)} END
    """
    if table.only:
        yield f"""
            CREATE TEMP TRIGGER sync_{name}_settled AFTER UPDATE ON main.{name}
            WHEN {_CAPTURING} AND NOT ({in_old}) AND {in_new}
            BEGIN {_born(name, new)} END
        """
    for column in table.columns:
        changed = _stamp(name, new, f"'{column}'", _after(name, new, BORN))
        yield f"""
            CREATE TEMP TRIGGER sync_{name}_{column} AFTER UPDATE OF "{column}" ON main.{name}
            WHEN old."{column}" IS NOT new."{column}" AND {_CAPTURING} AND {in_old} AND {in_new}
            BEGIN {_stale(name, new, f'''new."{column}" IS '' ''')} {changed} END
        """
    keys = ", ".join(f'"{column}"' for column in table.key)
    if table.key != ("id",):
        yield f"""
            CREATE TEMP TRIGGER sync_{name}_moved AFTER UPDATE OF {keys} ON main.{name}
            WHEN {new} IS NOT {old} AND {_CAPTURING} AND {in_new}
            BEGIN {_gone(table, old)} {_born(name, new)} END
        """
    yield f"""
        CREATE TEMP TRIGGER sync_{name}_removed AFTER DELETE ON main.{name} WHEN {_CAPTURING}
        AND ({in_old} OR {int(table.lasting)})
        BEGIN {_gone(table, old)} END
    """


def _stamp(name: str, key: str, mark: str, least: str, *, where: str = "1", keep: bool = False) -> str:
    """Returns SQL that stamps a row with the present time, or `least` if that is later."""
    change = "NOTHING" if keep else "UPDATE SET at = max(excluded.at, at + 1), by = excluded.by, sent = NULL"
    return f"""
        INSERT INTO sync_stamps (tbl, key, field, at, by, sent)
        SELECT '{name}', {key}, {mark}, max(sync_at(), {least}), own, NULL FROM sync_state WHERE {where}
        ON CONFLICT (tbl, key, field) DO {change};
    """


def _after(name: str, key: str, mark: str) -> str:
    """Returns SQL for the time after a stamp of the row; 0 without one."""
    return f"""
        coalesce(
            (SELECT at + 1 FROM sync_stamps WHERE tbl = '{name}' AND key = {key} AND field = '{mark}'), 0
        )
    """


def _after_all(name: str, key: str) -> str:
    """Returns SQL for the time after all stamps of the row: those of its columns may be of a clock that is
    ahead, and on other devices they would count as later."""
    return f"coalesce((SELECT max(at) + 1 FROM sync_stamps WHERE tbl = '{name}' AND key = {key}), 0)"


def _born(name: str, key: str) -> str:
    # Its columns are written with it, so earlier stamps of them no longer matter.
    return f"""
        {_stamp(name, key, f"'{BORN}'", _after_all(name, key))}
        DELETE FROM sync_stamps WHERE tbl = '{name}' AND key = {key} AND field NOT IN ('', '-', '!');
    """


def _stale(name: str, key: str, where: str = "1") -> str:
    """Returns SQL that marks the files of this device that contain the row."""
    return f"""
        UPDATE sync_files SET stale = 1 WHERE {where} AND number IN (
            SELECT sent FROM sync_stamps WHERE tbl = '{name}' AND key = {key} AND sent > 0
        );
    """


def _gone(table: SyncedTable, key: str) -> str:
    name = table.name
    others = f"DELETE FROM sync_stamps WHERE tbl = '{name}' AND key = {key} AND field NOT IN "
    leave = "(SELECT leaving FROM sync_state)"
    if table.lasting:
        return f"""
            {_stale(name, key)}
            {_stamp(name, key, f"'{GONE}'", _after_all(name, key), where=leave)}
            {_stamp(name, key, f"'{FORGOTTEN}'", "0", where=f"NOT {leave}", keep=True)}
            {others} ('', '-', '!');
            DELETE FROM sync_stamps WHERE tbl = '{name}' AND key = {key} AND field <> '{FORGOTTEN}'
                AND NOT {leave};
            DELETE FROM sync_waiting WHERE tbl = '{name}' AND key = {key} AND NOT {leave};
        """
    # A row that is deleted with the one it belongs to cannot come back without it, and needs no stamp.
    there = " AND ".join(
        f'EXISTS (SELECT 1 FROM {one.table} WHERE "{_column(one.table)}" = old."{one.within or one.column}")'
        for one in table.refers
    )
    whole = f"({leave} OR ({there or '1'}))"
    return f"""
        {_stale(name, key)}
        {_stamp(name, key, f"'{GONE}'", _after_all(name, key), where=whole)}
        {others} ('', '-', '!');
        DELETE FROM sync_stamps WHERE tbl = '{name}' AND key = {key} AND NOT {whole};
    """


def _column(table: str) -> str:
    return BY_NAME[table].key[0]
