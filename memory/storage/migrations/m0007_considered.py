"""The items considered for a reply's prompt: ids and parts of scores, never text.

A row is deleted with its reply and with the item that it names.
"""

from memory.storage.connection import Connection

VERSION = 7
NAME = "considered"

_STATEMENTS = (
    """
    CREATE TABLE considered (
        reply_id TEXT NOT NULL,
        position INTEGER NOT NULL CHECK (position >= 0),
        session_id TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('message', 'memory', 'summary', 'chunk')),
        item_id TEXT NOT NULL,
        fate TEXT NOT NULL CHECK (fate IN ('told', 'repeats', 'echo', 'too_far', 'no_room')),
        score REAL NOT NULL,
        parts TEXT NOT NULL CHECK (json_valid(parts)),
        PRIMARY KEY (reply_id, position),
        FOREIGN KEY (reply_id, session_id) REFERENCES messages (id, session_id) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX considered_by_session ON considered (session_id, reply_id)",
    "CREATE INDEX considered_by_item ON considered (item_id)",
    """
    CREATE TRIGGER considered_messages_go AFTER DELETE ON messages
    BEGIN
        DELETE FROM considered WHERE item_id = old.id;
    END
    """,
    """
    CREATE TRIGGER considered_messages_emptied AFTER UPDATE OF content ON messages
    WHEN new.content = '' AND old.content <> ''
    BEGIN
        DELETE FROM considered WHERE item_id = old.id;
    END
    """,
    """
    CREATE TRIGGER considered_memories_go AFTER DELETE ON memories
    BEGIN
        DELETE FROM considered WHERE item_id = old.id;
    END
    """,
    """
    CREATE TRIGGER considered_summaries_go AFTER DELETE ON summaries
    BEGIN
        DELETE FROM considered WHERE item_id = old.id;
    END
    """,
)


def apply(conn: Connection) -> None:
    for statement in _STATEMENTS:
        conn.execute(statement)
