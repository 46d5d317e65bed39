"""Summaries with their sources, prompt epochs, and the parts of each turn's prompt.

`messages.preface` is the text sent before the user's message (the time, what was recalled). With it, the
epoch and the replies' tokens, the exact prompt of every turn can be rebuilt.
"""

from memory.storage.connection import Connection

VERSION = 3
NAME = "context"

_STATEMENTS = (
    "ALTER TABLE messages ADD COLUMN preface TEXT NOT NULL DEFAULT ''",
    """
    CREATE TABLE summaries (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        level INTEGER NOT NULL CHECK (level >= 0),
        text TEXT NOT NULL,
        topics TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(topics)),
        state TEXT NOT NULL CHECK (state IN ('current', 'merged', 'stale')),
        fallback INTEGER NOT NULL DEFAULT 0 CHECK (fallback IN (0, 1)),
        edited INTEGER NOT NULL DEFAULT 0 CHECK (edited IN (0, 1)),
        model TEXT,
        merged_into TEXT REFERENCES summaries (id) ON DELETE SET NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX summaries_by_session ON summaries (session_id, seq)",
    "CREATE INDEX summaries_merged ON summaries (merged_into) WHERE merged_into IS NOT NULL",
    """
    CREATE INDEX summaries_to_improve ON summaries (seq)
    WHERE edited = 0 AND (fallback = 1 OR state = 'stale')
    """,
    """
    CREATE TABLE summary_messages (
        summary_id TEXT NOT NULL REFERENCES summaries (id) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        message_id TEXT NOT NULL,
        session_id TEXT NOT NULL,
        PRIMARY KEY (summary_id, position),
        FOREIGN KEY (message_id, session_id) REFERENCES messages (id, session_id) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX summary_messages_by_message ON summary_messages (session_id, message_id)",
    """
    CREATE TABLE epochs (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        model TEXT NOT NULL,
        head TEXT NOT NULL,
        parts TEXT NOT NULL CHECK (json_valid(parts)),
        start_id TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        FOREIGN KEY (start_id, session_id) REFERENCES messages (id, session_id) ON DELETE CASCADE
    ) STRICT
    """,
    "CREATE INDEX epochs_by_session ON epochs (session_id, model, seq)",
    "CREATE INDEX epochs_by_start ON epochs (start_id, session_id)",
    """
    CREATE TABLE turns (
        reply_id TEXT NOT NULL,
        session_id TEXT NOT NULL,
        epoch_id TEXT REFERENCES epochs (id) ON DELETE SET NULL,
        model TEXT NOT NULL,
        prompt_hash TEXT NOT NULL,
        prompt_tokens INTEGER NOT NULL CHECK (prompt_tokens >= 0),
        parts TEXT NOT NULL CHECK (json_valid(parts)),
        PRIMARY KEY (session_id, reply_id),
        FOREIGN KEY (reply_id, session_id) REFERENCES messages (id, session_id) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX turns_by_epoch ON turns (epoch_id) WHERE epoch_id IS NOT NULL",
)


def apply(conn: Connection) -> None:
    for statement in _STATEMENTS:
        conn.execute(statement)
