"""Queries that are kept under a name."""

from datetime import datetime
from typing import Any

from memory.clock import micros, moment
from memory.errors import SavedSearchNotFound
from memory.search.entities import SavedSearch
from memory.storage.connection import Connection, fold
from memory.storage.values import new_id, storable


def every(conn: Connection) -> list[SavedSearch]:
    """By name, without regard to case."""
    rows = conn.execute("SELECT id, name, query, created_at FROM saved_searches ORDER BY fold(name), name")
    return [_saved(row) for row in rows]


def put(conn: Connection, name: str, query: str, now: datetime) -> SavedSearch:
    """In place of one that has the same name but for its case."""
    kept = SavedSearch(new_id(), storable(name), storable(query), moment(micros(now)))
    conn.execute("DELETE FROM saved_searches WHERE fold(name) = ?", (fold(kept.name),))
    conn.execute(
        "INSERT INTO saved_searches (id, name, query, created_at) VALUES (?, ?, ?, ?)",
        (kept.id, kept.name, kept.query, micros(now)),
    )
    return kept


def remove(conn: Connection, name: str) -> None:
    """Raises `SavedSearchNotFound`."""
    gone = conn.execute("DELETE FROM saved_searches WHERE fold(name) = ?", (fold(storable(name)),)).rowcount
    if not gone:
        raise SavedSearchNotFound(name)


def _saved(row: Any) -> SavedSearch:
    return SavedSearch(row[0], row[1], row[2], moment(row[3]))
