"""The conversation in which the user kept a memory in words of their own (`/remember`).

It rests on no message of that conversation and outlives it. When the conversation moves to another room, the
memory goes along.
"""

from memory.storage.connection import Connection

VERSION = 12
NAME = "kept in"

_STATEMENTS = (
    """
    CREATE TABLE memory_kept_in (
        memory_id TEXT PRIMARY KEY REFERENCES memories (id) ON DELETE CASCADE,
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX memory_kept_in_by_session ON memory_kept_in (session_id)",
)


def apply(conn: Connection) -> None:
    for statement in _STATEMENTS:
        conn.execute(statement)
