"""Notes what is written to the synced tables, by triggers of the connection, while a room is synced.

A room that is not synced has none of these triggers. They are temporary, so none is stored and migrations do
not meet them. What is noted are stamps (see migration 18), never values: those are read when they are sent.
"""
# ruff: noqa: S608  # the names put into SQL are all written in `memory.sync.tables`

import hashlib
import hmac
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from memory.clock import Clock, micros
from memory.storage.connection import Connection
from memory.sync.clock import DRIFT, HybridClock
from memory.sync.records import KeySet
from memory.sync.tables import ALL, BY_NAME, EMPTIED, SyncedTable

BORN, GONE, FORGOTTEN = "", "-", "!"
"""What the `field` of a stamp is if it is not the name of a column."""

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
    """Starts noting the changes made by a connection. Returns None, and does nothing, in a room that is not
    synced."""
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
    """Stops noting changes."""
    names = conn.execute("SELECT name FROM sqlite_temp_master WHERE type = 'trigger' AND name GLOB 'sync_*'")
    for (name,) in names.fetchall():
        conn.execute(f"DROP TRIGGER temp.{name}")


@contextmanager
def silent(conn: Connection) -> Iterator[None]:
    """Notes nothing of what is written meanwhile: changes that come from other devices."""
    conn.execute("UPDATE sync_state SET capturing = 0")
    try:
        yield
    finally:
        if conn.in_transaction:
            conn.execute("UPDATE sync_state SET capturing = 1")


@contextmanager
def leaving(conn: Connection) -> Iterator[None]:
    """What is deleted meanwhile moves to another room and may come back; otherwise a deletion is for good."""
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


def _born(name: str, key: str) -> str:
    # Its columns are written with it, so earlier stamps of them say nothing any more.
    return f"""
        DELETE FROM sync_stamps WHERE tbl = '{name}' AND key = {key} AND field NOT IN ('', '-', '!');
        {_stamp(name, key, f"'{BORN}'", _after(name, key, GONE))}
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
            {_stamp(name, key, f"'{GONE}'", _after(name, key, BORN), where=leave)}
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
        {_stamp(name, key, f"'{GONE}'", _after(name, key, BORN), where=whole)}
        {others} ('', '-', '!');
        DELETE FROM sync_stamps WHERE tbl = '{name}' AND key = {key} AND NOT {whole};
    """


def _column(table: str) -> str:
    return BY_NAME[table].key[0]
