"""Vectors of what was said, stored beside it; they are searched in memory."""

from memory.storage.connection import Connection

VERSION = 4
NAME = "vectors"

_STATEMENTS = (
    # `data` holds little-endian float32 numbers of a vector of length 1; `part` counts the passages of a
    # long text; `model` is the fingerprint of the model that made it.
    """
    CREATE TABLE vectors (
        kind TEXT NOT NULL CHECK (kind IN ('message', 'summary', 'memory', 'chunk')),
        owner_id TEXT NOT NULL,
        part INTEGER NOT NULL DEFAULT 0 CHECK (part >= 0),
        session_id TEXT REFERENCES sessions (id) ON DELETE CASCADE,
        model TEXT NOT NULL,
        data BLOB NOT NULL CHECK (length(data) % 4 = 0),
        PRIMARY KEY (kind, owner_id, part, model)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX vectors_by_session ON vectors (session_id) WHERE session_id IS NOT NULL",
    """
    CREATE TRIGGER vectors_of_messages_go AFTER DELETE ON messages
    BEGIN
        DELETE FROM vectors WHERE kind = 'message' AND owner_id = old.id;
    END
    """,
    """
    CREATE TRIGGER vectors_of_messages_age AFTER UPDATE OF content ON messages WHEN new.content <> old.content
    BEGIN
        DELETE FROM vectors WHERE kind = 'message' AND owner_id = old.id;
    END
    """,
    """
    CREATE TRIGGER vectors_of_summaries_go AFTER DELETE ON summaries
    BEGIN
        DELETE FROM vectors WHERE kind = 'summary' AND owner_id = old.id;
    END
    """,
    """
    CREATE TRIGGER vectors_of_summaries_age AFTER UPDATE OF text ON summaries WHEN new.text <> old.text
    BEGIN
        DELETE FROM vectors WHERE kind = 'summary' AND owner_id = old.id;
    END
    """,
)


def apply(conn: Connection) -> None:
    for statement in _STATEMENTS:
        conn.execute(statement)
