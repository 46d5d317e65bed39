"""Brings a room's schema up to date, one recorded step at a time."""

from collections.abc import Sequence
from datetime import datetime

from memory.clock import micros
from memory.errors import FutureSchema
from memory.storage.connection import APPLICATION_ID, Connection
from memory.storage.migrations import ALL, Migration

_RECORD = """
    CREATE TABLE IF NOT EXISTS schema_migrations (
        version INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        applied_at INTEGER NOT NULL
    ) STRICT
"""


def version_of(conn: Connection) -> int:
    return int(conn.execute("PRAGMA user_version").fetchone()[0])


def migrate(conn: Connection, now: datetime, steps: Sequence[Migration] = ALL) -> list[int]:
    """Applies the steps that are missing, each in its own transaction; returns their versions.

    Raises `FutureSchema` before anything is changed.
    """
    known = steps[-1].VERSION
    found = version_of(conn)
    if found > known:
        raise FutureSchema(found, known)
    applied = []
    for step in steps:
        if found >= step.VERSION:
            continue
        conn.execute("BEGIN IMMEDIATE")
        try:
            conn.execute(_RECORD)
            step.apply(conn)
            conn.execute(
                "INSERT INTO schema_migrations (version, name, applied_at) VALUES (?, ?, ?)",
                (step.VERSION, step.NAME, micros(now)),
            )
            conn.execute(f"PRAGMA user_version = {step.VERSION:d}")
            conn.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
            conn.execute("COMMIT")
        except BaseException:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
            raise
        applied.append(step.VERSION)
    return applied
