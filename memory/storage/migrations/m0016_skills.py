"""Skills: procedures with their versions, what these were drafted from, and the replies that used them.

`current` is the version in effect or, for a draft, the waiting one; `pending` waits for approval. A use names
the skill as it was, so that it stays readable where the session has moved to.
"""

from memory.storage.connection import Connection

VERSION = 16
NAME = "skills"

_STATEMENTS = (
    """
    CREATE TABLE skills (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE CHECK (name <> ''),
        state TEXT NOT NULL CHECK (state IN ('draft', 'approved', 'retired')),
        current INTEGER NOT NULL CHECK (current >= 1),
        pending INTEGER CHECK (pending >= 1),
        uses INTEGER NOT NULL DEFAULT 0,
        helped INTEGER NOT NULL DEFAULT 0,
        harmed INTEGER NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        approved_at INTEGER,
        CHECK (state <> 'draft' OR pending = current),
        CHECK (state = 'draft' OR approved_at IS NOT NULL)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE skill_versions (
        skill_id TEXT NOT NULL REFERENCES skills (id) ON DELETE CASCADE,
        version INTEGER NOT NULL CHECK (version >= 1),
        description TEXT NOT NULL,
        body TEXT NOT NULL,
        front TEXT NOT NULL DEFAULT '',
        author TEXT NOT NULL CHECK (author IN ('user', 'atlas', 'import')),
        written_at INTEGER NOT NULL,
        approved_at INTEGER,
        PRIMARY KEY (skill_id, version)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE skill_sources (
        skill_id TEXT NOT NULL,
        version INTEGER NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('message', 'memory')),
        source_id TEXT NOT NULL,
        PRIMARY KEY (skill_id, version, source_id),
        FOREIGN KEY (skill_id, version) REFERENCES skill_versions (skill_id, version) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX skill_sources_by_source ON skill_sources (source_id)",
    # `data`: little-endian float32 numbers, the mean of two vectors of length 1; `model`: the fingerprint of
    # their model.
    """
    CREATE TABLE skill_vectors (
        skill_id TEXT NOT NULL,
        version INTEGER NOT NULL,
        model TEXT NOT NULL,
        data BLOB NOT NULL CHECK (length(data) % 4 = 0),
        PRIMARY KEY (skill_id, version, model),
        FOREIGN KEY (skill_id, version) REFERENCES skill_versions (skill_id, version) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID
    """,
    # The replies that used a skill. `message_id` is the message that was answered, `tokens` what the skill
    # takes in its preface; `counted`: the reply is complete.
    """
    CREATE TABLE skill_uses (
        reply_id TEXT NOT NULL,
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        skill_id TEXT NOT NULL,
        version INTEGER NOT NULL,
        name TEXT NOT NULL,
        message_id TEXT NOT NULL,
        tokens INTEGER NOT NULL DEFAULT 0 CHECK (tokens >= 0),
        counted INTEGER NOT NULL DEFAULT 0 CHECK (counted IN (0, 1)),
        verdict TEXT CHECK (verdict IN ('helped', 'harmed')),
        PRIMARY KEY (reply_id, skill_id),
        FOREIGN KEY (reply_id, session_id) REFERENCES messages (id, session_id) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX skill_uses_by_session ON skill_uses (session_id)",
    "CREATE INDEX skill_uses_by_skill ON skill_uses (skill_id)",
    # Drafts that were rejected, by a digest of their sources: they are not drafted again.
    "CREATE TABLE rejected_drafts (digest BLOB PRIMARY KEY) STRICT, WITHOUT ROWID",
)


def apply(conn: Connection) -> None:
    for statement in _STATEMENTS:
        conn.execute(statement)
