"""Organisation of sessions (archive, pins, categories, suggested tags, saved searches) and tools for writing.

The tools are personas, prompt templates, and texts attached to a session.
"""

from memory.storage.connection import Connection

VERSION = 8
NAME = "desk"

_STATEMENTS = (
    "ALTER TABLE sessions ADD COLUMN archived_at INTEGER",
    "ALTER TABLE sessions ADD COLUMN pinned_at INTEGER",
    "ALTER TABLE sessions ADD COLUMN category TEXT NOT NULL DEFAULT ''",
    # A category that the user set or removed is never changed by a job.
    """
    ALTER TABLE sessions ADD COLUMN category_source TEXT NOT NULL DEFAULT 'none'
    CHECK (category_source IN ('none', 'model', 'person'))
    """,
    "CREATE INDEX sessions_pinned ON sessions (pinned_at) WHERE pinned_at IS NOT NULL",
    # A rejected suggestion stays, so that it is not made again.
    """
    CREATE TABLE tag_suggestions (
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        tag TEXT NOT NULL CHECK (tag <> ''),
        score REAL NOT NULL,
        rejected INTEGER NOT NULL DEFAULT 0 CHECK (rejected IN (0, 1)),
        PRIMARY KEY (session_id, tag)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE saved_searches (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE CHECK (name <> ''),
        query TEXT NOT NULL CHECK (query <> ''),
        created_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE personas (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE CHECK (name <> ''),
        system_prompt TEXT NOT NULL CHECK (system_prompt <> ''),
        model TEXT,
        temperature REAL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    # `text` contains {variables} that are asked for when it is used.
    """
    CREATE TABLE templates (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE CHECK (name <> ''),
        text TEXT NOT NULL CHECK (text <> ''),
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    # `text` was extracted from the file when it was attached; the file itself is not kept.
    """
    CREATE TABLE attachments (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        name TEXT NOT NULL CHECK (name <> ''),
        media_type TEXT NOT NULL,
        bytes INTEGER NOT NULL CHECK (bytes >= 0),
        text TEXT NOT NULL,
        added_at INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX attachments_by_session ON attachments (session_id, seq)",
)


def apply(conn: Connection) -> None:
    for statement in _STATEMENTS:
        conn.execute(statement)
