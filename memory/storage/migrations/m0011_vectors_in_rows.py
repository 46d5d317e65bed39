"""Moves vectors to a table with row numbers, in which a leaf contains two whole rows.

A table without row numbers keeps about one kilobyte of a row in its leaf, and the rest on a separate page:
5 kB for a vector of 1.5 kB. https://www.sqlite.org/fileformat2.html#b_tree_pages
"""
# ruff: noqa: S608  # the names put into SQL are all written in this module

from memory.storage.connection import Connection

VERSION = 11
NAME = "vectors in rows"

_TABLE = """
    CREATE TABLE vectors_in_rows (
        kind TEXT NOT NULL CHECK (kind IN ('message', 'summary', 'memory', 'chunk')),
        owner_id TEXT NOT NULL,
        part INTEGER NOT NULL DEFAULT 0 CHECK (part >= 0),
        session_id TEXT REFERENCES sessions (id) ON DELETE CASCADE,
        model TEXT NOT NULL,
        data BLOB NOT NULL CHECK (length(data) % 4 = 0),
        PRIMARY KEY (kind, owner_id, part, model)
    ) STRICT
"""
# Queries ask for the earliest messages of a session, in order.
_INDEX = """
    CREATE INDEX vectors_by_session ON vectors (session_id, kind, owner_id) WHERE session_id IS NOT NULL
"""
_KEY = "kind, owner_id, part, model"
_AT_A_TIME = 256


def apply(conn: Connection) -> None:
    # SQLite checks what triggers refer to when a table is renamed, so they are dropped and created again.
    triggers = conn.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'vectors~_of~_%' ESCAPE '~'"
    ).fetchall()
    for name, _ in triggers:
        conn.execute(f"DROP TRIGGER {name}")
    conn.execute("DROP INDEX vectors_by_session")
    conn.execute(_TABLE)
    _move(conn)
    conn.execute("DROP TABLE vectors")
    conn.execute("ALTER TABLE vectors_in_rows RENAME TO vectors")
    for statement in (_INDEX, *(sql for _, sql in triggers)):
        conn.execute(statement)


def _move(conn: Connection) -> None:
    """Moves rows in batches, so that the pages freed by one batch are used by the next."""
    columns = f"{_KEY}, session_id, data"
    while True:
        last = conn.execute(
            f"SELECT {_KEY} FROM vectors ORDER BY {_KEY} LIMIT 1 OFFSET ?", (_AT_A_TIME - 1,)
        ).fetchone()
        where = "" if last is None else f"WHERE ({_KEY}) <= (?, ?, ?, ?)"
        bound = last or ()
        conn.execute(
            f"INSERT INTO vectors_in_rows ({columns}) SELECT {columns} FROM vectors {where} ORDER BY {_KEY}",
            bound,
        )
        if last is None:
            return
        conn.execute(f"DELETE FROM vectors {where}", bound)
