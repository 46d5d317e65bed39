"""Rows that were brought out of a damaged room, in a new one: put in, and made to agree with each other."""
# ruff: noqa: S608  # the names put into SQL come from the schema

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlcipher3 import dbapi2 as sqlcipher

from memory.clock import micros
from memory.storage.connection import Connection

TITLE = "Recovered"
_MOST_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class Expected:
    """How many messages there were at least, by what the sessions say, and how many sessions had to be made
    up for messages without one."""

    messages: int
    placeholders: int


def tables(conn: Connection) -> list[str]:
    """The tables of the schema, without those that the full-text indices are made of."""
    names = conn.execute(
        """
        SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
        AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
        """
    )
    return [str(row[0]) for row in names]


def insert(conn: Connection, table: str, rows: Iterable[Mapping[str, Any]]) -> int:
    """How many of the rows could be put in: one that breaks a rule of its table is left out."""
    done = 0
    for row in rows:
        names = ", ".join(row)
        marks = ", ".join("?" for _ in row)
        try:
            conn.execute(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))
        except sqlcipher.IntegrityError:
            continue
        done += 1
    return done


def keep_parcel_key(conn: Connection, key: str | None) -> None:
    """Puts in the key that was found, unless it is here."""
    if key is not None:
        conn.execute("INSERT OR IGNORE INTO meta (key, value) VALUES ('parcel_key', ?)", (key,))


def count(conn: Connection, table: str) -> int:
    return int(conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def mend(conn: Connection, now: datetime) -> Expected:
    """Gives every message a session and a parent that are there, and every session a head.

    Other rows that point at what is lost go, or point at nothing where they may.
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
    return Expected(int(expected[0]), max(made, 0))


def _cut_loose_ends(conn: Connection) -> int:
    """Rows changed or removed because something that they point at is not there."""
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
    """Has every full-text index read what it is an index of."""
    indices = conn.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%fts5%'"
    ).fetchall()
    for (name,) in indices:
        conn.execute(f"INSERT INTO {name} ({name}) VALUES ('rebuild')")
