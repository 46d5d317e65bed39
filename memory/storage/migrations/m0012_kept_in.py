"""The session in which the user stored a memory in their own words (`/remember`).

The memory is based on no message of that session and outlives it. When the session moves to another room, the
memory moves with it.
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
