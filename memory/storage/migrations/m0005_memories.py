"""Memories: their sources, versions and uses, and a log of their changes, automatic ones included.

A memory belongs to no session; its sources do. A memory that was learned from messages alone is deleted with
the last of them. The code that erases sessions and messages does that, because a foreign key cannot. What the
user wrote outside any session (`own_words`) has no source. `worded_at` is when a memory got its current text.
"""
# ruff: noqa: S608  # the names put into SQL are all written in this module

from memory.storage.connection import Connection

VERSION = 5
NAME = "memories"

_TABLES = (
    """
    CREATE TABLE memories (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL CHECK (
            kind IN ('fact', 'preference', 'decision', 'event', 'procedure', 'code', 'question', 'digest')
        ),
        tier TEXT NOT NULL CHECK (tier IN ('working', 'short_term', 'episodic', 'long_term', 'procedural')),
        state TEXT NOT NULL CHECK (state IN ('inbox', 'kept', 'rejected', 'superseded', 'archived')),
        origin TEXT NOT NULL CHECK (origin IN ('person', 'pattern', 'model', 'consolidation')),
        subject TEXT NOT NULL DEFAULT '',
        text TEXT NOT NULL CHECK (text <> ''),
        confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
        importance REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
        pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
        version INTEGER NOT NULL DEFAULT 1 CHECK (version >= 1),
        uses INTEGER NOT NULL DEFAULT 0 CHECK (uses >= 0),
        used_at INTEGER,
        valid_from INTEGER,
        valid_until INTEGER,
        expires_at INTEGER,
        superseded_by TEXT REFERENCES memories (id) ON DELETE SET NULL,
        project_id TEXT REFERENCES projects (id),
        model TEXT,
        own_words INTEGER NOT NULL DEFAULT 0 CHECK (own_words IN (0, 1)),
        worded_at INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX memories_by_state ON memories (state, tier)",
    "CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL",
    "CREATE INDEX memories_by_project ON memories (project_id) WHERE project_id IS NOT NULL",
    "CREATE INDEX memories_expiring ON memories (expires_at) WHERE expires_at IS NOT NULL",
    """
    CREATE TABLE memory_versions (
        memory_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
        version INTEGER NOT NULL CHECK (version >= 1),
        subject TEXT NOT NULL,
        text TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        PRIMARY KEY (memory_id, version)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE memory_sources (
        memory_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
        message_id TEXT NOT NULL,
        session_id TEXT NOT NULL,
        quote TEXT NOT NULL,
        PRIMARY KEY (memory_id, message_id),
        FOREIGN KEY (message_id, session_id) REFERENCES messages (id, session_id) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX memory_sources_by_message ON memory_sources (session_id, message_id)",
    # The memories that a merged one was made from.
    """
    CREATE TABLE memory_parts (
        memory_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
        part_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
        PRIMARY KEY (memory_id, part_id)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX memory_parts_by_part ON memory_parts (part_id)",
    """
    CREATE TABLE memory_uses (
        memory_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
        reply_id TEXT NOT NULL,
        session_id TEXT NOT NULL,
        how TEXT NOT NULL CHECK (how IN ('recalled', 'cited', 'confirmed', 'opened')),
        used_at INTEGER NOT NULL,
        PRIMARY KEY (memory_id, reply_id, how),
        FOREIGN KEY (reply_id, session_id) REFERENCES messages (id, session_id) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX memory_uses_by_reply ON memory_uses (session_id, reply_id)",
    # What was done, and the memories' states before and after, by id, so that it can be undone. `forgotten`
    # means that a part of it was erased, so it cannot be undone.
    """
    CREATE TABLE memory_changes (
        id TEXT PRIMARY KEY,
        action TEXT NOT NULL CHECK (action <> ''),
        automatic INTEGER NOT NULL CHECK (automatic IN (0, 1)),
        before TEXT NOT NULL CHECK (json_valid(before)),
        after TEXT NOT NULL CHECK (json_valid(after)),
        forgotten INTEGER NOT NULL DEFAULT 0 CHECK (forgotten IN (0, 1)),
        created_at INTEGER NOT NULL,
        undone_at INTEGER
    ) STRICT, WITHOUT ROWID
    """,
    # A memory whose addition was undone no longer exists, but is still named here.
    """
    CREATE TABLE memory_change_ids (
        memory_id TEXT NOT NULL,
        change_id TEXT NOT NULL REFERENCES memory_changes (id) ON DELETE CASCADE,
        PRIMARY KEY (memory_id, change_id)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX memory_change_ids_by_change ON memory_change_ids (change_id)",
    # The last message (by `messages.seq`) up to which each session has been learned from.
    """
    CREATE TABLE learned (
        session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
        seq INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
)

# Only findable memories are indexed: rejected, archived and superseded ones are looked up by id alone.
_FINDABLE = "('inbox', 'kept')"
_FULL_TEXT = tuple(
    statement
    for index, tokenize in (
        ("memories_fts", "porter unicode61 remove_diacritics 2"),
        ("memories_pieces", "trigram"),
    )
    for statement in (
        f"""
        CREATE VIRTUAL TABLE {index} USING fts5 (
            subject, text, content = 'findable_memories', content_rowid = 'seq', tokenize = '{tokenize}'
        )
        """,
        f"INSERT INTO {index} ({index}, rank) VALUES ('secure-delete', 1)",
        f"""
        CREATE TRIGGER {index}_added AFTER INSERT ON memories WHEN new.state IN {_FINDABLE}
        BEGIN
            INSERT INTO {index} (rowid, subject, text) VALUES (new.seq, new.subject, new.text);
        END
        """,
        f"""
        CREATE TRIGGER {index}_removed AFTER DELETE ON memories WHEN old.state IN {_FINDABLE}
        BEGIN
            INSERT INTO {index} ({index}, rowid, subject, text)
            VALUES ('delete', old.seq, old.subject, old.text);
        END
        """,
        f"""
        CREATE TRIGGER {index}_anew AFTER UPDATE OF subject, text, state ON memories
        BEGIN
            INSERT INTO {index} ({index}, rowid, subject, text)
            SELECT 'delete', old.seq, old.subject, old.text WHERE old.state IN {_FINDABLE};
            INSERT INTO {index} (rowid, subject, text)
            SELECT new.seq, new.subject, new.text WHERE new.state IN {_FINDABLE};
        END
        """,
    )
)

_VECTORS = (
    """
    CREATE TRIGGER vectors_of_memories_go AFTER DELETE ON memories
    BEGIN
        DELETE FROM vectors WHERE kind = 'memory' AND owner_id = old.id;
    END
    """,
    f"""
    CREATE TRIGGER vectors_of_memories_age AFTER UPDATE OF text, subject, state ON memories
    WHEN new.text <> old.text OR new.subject <> old.subject OR new.state NOT IN {_FINDABLE}
    BEGIN
        DELETE FROM vectors WHERE kind = 'memory' AND owner_id = old.id;
    END
    """,
)


def apply(conn: Connection) -> None:
    view = (
        f"CREATE VIEW findable_memories AS SELECT seq, subject, text FROM memories WHERE state IN {_FINDABLE}"
    )
    for statement in (*_TABLES, view, *_FULL_TEXT, *_VECTORS):
        conn.execute(statement)
