"""Projects, sessions, message trees and their full-text index.

Times are whole microseconds since 1970-01-01T00:00:00Z: they compare and sort as numbers. Ids are UUIDv7 in
their usual text form. `messages.seq` is the order in which messages were stored.
"""

from memory.storage.connection import Connection

VERSION = 1
NAME = "first conversations"

_TABLES = (
    """
    CREATE TABLE meta (
        key TEXT PRIMARY KEY,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE projects (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE CHECK (name <> ''),
        created_at INTEGER NOT NULL,
        archived_at INTEGER
    ) STRICT, WITHOUT ROWID
    """,
    # The keys of head and parent include the session, so a branch cannot leave its session.
    """
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        project_id TEXT REFERENCES projects (id),
        title TEXT NOT NULL,
        title_source TEXT NOT NULL CHECK (title_source IN ('first_words', 'model', 'person', 'imported')),
        memory_mode TEXT NOT NULL CHECK (memory_mode IN ('normal', 'reads', 'blank', 'off')),
        system_prompt TEXT,
        model TEXT,
        head_id TEXT,
        starred INTEGER NOT NULL DEFAULT 0 CHECK (starred IN (0, 1)),
        important INTEGER NOT NULL DEFAULT 0 CHECK (important IN (0, 1)),
        message_count INTEGER NOT NULL DEFAULT 0 CHECK (message_count >= 0),
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        deleted_at INTEGER,
        external_id TEXT,
        meta TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(meta)),
        FOREIGN KEY (head_id, id) REFERENCES messages (id, session_id)
    ) STRICT
    """,
    """
    CREATE TABLE session_tags (
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        tag TEXT NOT NULL CHECK (tag <> ''),
        PRIMARY KEY (session_id, tag)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE messages (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        parent_id TEXT,
        role TEXT NOT NULL CHECK (role IN ('system', 'user', 'assistant')),
        speaker TEXT NOT NULL,
        content TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('streaming', 'complete', 'partial', 'failed')),
        stop_reason TEXT CHECK (stop_reason IN ('stop', 'length', 'cancelled', 'error')),
        important INTEGER NOT NULL DEFAULT 0 CHECK (important IN (0, 1)),
        model TEXT,
        tokens BLOB CHECK (length(tokens) % 4 = 0),
        token_model TEXT,
        external_id TEXT,
        meta TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(meta)),
        UNIQUE (id, session_id),
        FOREIGN KEY (parent_id, session_id) REFERENCES messages (id, session_id)
    ) STRICT
    """,
    # An index on the id alone would enforce this too, but is one more page to write with every message.
    """
    CREATE TRIGGER message_ids_are_unique BEFORE INSERT ON messages
    WHEN EXISTS (SELECT 1 FROM messages WHERE id = new.id)
    BEGIN
        SELECT RAISE(ABORT, 'message id exists');
    END
    """,
)

# Only one index follows the time of last use: each such index is written with every message.
_INDICES = (
    "CREATE INDEX sessions_by_use ON sessions (updated_at DESC, id DESC) WHERE deleted_at IS NULL",
    "CREATE INDEX sessions_in_bin ON sessions (deleted_at DESC, id DESC) WHERE deleted_at IS NOT NULL",
    "CREATE INDEX sessions_by_project ON sessions (project_id) WHERE project_id IS NOT NULL",
    "CREATE INDEX sessions_untitled ON sessions (title_source) WHERE title_source = 'first_words'",
    "CREATE INDEX sessions_by_origin ON sessions (external_id) WHERE external_id IS NOT NULL",
    "CREATE INDEX messages_in_tree ON messages (session_id, parent_id)",
    "CREATE INDEX messages_streaming ON messages (seq) WHERE status = 'streaming'",
    "CREATE INDEX session_tags_by_tag ON session_tags (tag)",
)

# A reply is saved many times while it streams, and indexed once, when it ends. The index reads through a view
# without unfinished messages, and the triggers below feed it accordingly.
_FULL_TEXT = (
    "CREATE VIEW searchable AS SELECT seq, content FROM messages WHERE status <> 'streaming'",
    """
    CREATE VIRTUAL TABLE messages_fts USING fts5 (
        content, content = 'searchable', content_rowid = 'seq',
        tokenize = 'porter unicode61 remove_diacritics 2'
    )
    """,
    # Without this, FTS5 keeps the words of deleted messages in its older segments.
    "INSERT INTO messages_fts (messages_fts, rank) VALUES ('secure-delete', 1)",
    """
    CREATE TRIGGER messages_added_to_index AFTER INSERT ON messages WHEN new.status <> 'streaming'
    BEGIN
        INSERT INTO messages_fts (rowid, content) VALUES (new.seq, new.content);
    END
    """,
    """
    CREATE TRIGGER messages_removed_from_index AFTER DELETE ON messages WHEN old.status <> 'streaming'
    BEGIN
        INSERT INTO messages_fts (messages_fts, rowid, content) VALUES ('delete', old.seq, old.content);
    END
    """,
    # One trigger, because the order of two is undefined and a row must leave the index before it is added.
    """
    CREATE TRIGGER messages_reindexed AFTER UPDATE OF content, status ON messages
    WHEN new.content <> old.content OR (new.status = 'streaming') <> (old.status = 'streaming')
    BEGIN
        INSERT INTO messages_fts (messages_fts, rowid, content)
        SELECT 'delete', old.seq, old.content WHERE old.status <> 'streaming';
        INSERT INTO messages_fts (rowid, content)
        SELECT new.seq, new.content WHERE new.status <> 'streaming';
    END
    """,
)

# Counting by index doubled the time to list 5,000 short sessions; triggers keep the count correct.
_COUNTS = (
    """
    CREATE TRIGGER messages_counted AFTER INSERT ON messages
    BEGIN
        UPDATE sessions SET message_count = message_count + 1 WHERE id = new.session_id;
    END
    """,
    """
    CREATE TRIGGER messages_discounted AFTER DELETE ON messages
    BEGIN
        UPDATE sessions SET message_count = message_count - 1 WHERE id = old.session_id;
    END
    """,
)


def apply(conn: Connection) -> None:
    for statement in (*_TABLES, *_INDICES, *_FULL_TEXT, *_COUNTS):
        conn.execute(statement)
