"""Moves of sessions between rooms in progress, drafts, and the session that a lock interrupted."""

from memory.storage.connection import Connection

VERSION = 6
NAME = "rooms"

_STATEMENTS = (
    # A session that has left for another room: no other table of this room still refers to it. Its sealed
    # parcel stays here until it has arrived.
    """
    CREATE TABLE moves (
        session_id TEXT PRIMARY KEY,
        destination TEXT NOT NULL CHECK (destination IN ('open', 'private')),
        begun_at INTEGER NOT NULL,
        parcel BLOB NOT NULL
    ) STRICT
    """,
    # `place` is the session's id, or empty for a session that has not begun.
    """
    CREATE TABLE drafts (
        place TEXT PRIMARY KEY,
        session_id TEXT REFERENCES sessions (id) ON DELETE CASCADE,
        text TEXT NOT NULL,
        updated_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX drafts_by_session ON drafts (session_id) WHERE session_id IS NOT NULL",
    # The session that was shown when the program was locked: at most one row.
    """
    CREATE TABLE left_open (
        only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE
    ) STRICT
    """,
)


def apply(conn: Connection) -> None:
    for statement in _STATEMENTS:
        conn.execute(statement)
