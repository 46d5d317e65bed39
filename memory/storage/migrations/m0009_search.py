"""Indexes for search conditions on messages other than words.

Each contains only the few messages that it is about, so the others cost nothing.
"""

from memory.storage.connection import Connection

VERSION = 9
NAME = "search"

_STATEMENTS = (
    "CREATE INDEX messages_unfinished ON messages (session_id) WHERE status IN ('partial', 'failed')",
    "CREATE INDEX messages_important ON messages (session_id) WHERE important = 1",
    "CREATE INDEX messages_with_code ON messages (session_id) WHERE instr(content, '```') > 0",
)


def apply(conn: Connection) -> None:
    for statement in _STATEMENTS:
        conn.execute(statement)
