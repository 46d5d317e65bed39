"""A durable queue of background jobs, their stored results, and recurring duties.

Jobs contain ids and numbers, never text. A stored result may contain text, so it is deleted with its session.
`jobs.again` marks a running job that was added again.
"""

from memory.storage.connection import Connection

VERSION = 2
NAME = "background work"

_STATEMENTS = (
    """
    CREATE TABLE jobs (
        id TEXT PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind <> ''),
        key TEXT NOT NULL,
        session_id TEXT REFERENCES sessions (id) ON DELETE CASCADE,
        payload TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(payload)),
        priority INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'failed')),
        attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
        not_before INTEGER NOT NULL,
        error TEXT,
        again INTEGER NOT NULL DEFAULT 0 CHECK (again IN (0, 1)),
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    # At most one job of each kind and key is in the queue.
    "CREATE UNIQUE INDEX jobs_by_key ON jobs (kind, key)",
    "CREATE INDEX jobs_by_turn ON jobs (priority, created_at) WHERE state = 'queued'",
    "CREATE INDEX jobs_by_session ON jobs (session_id) WHERE session_id IS NOT NULL",
    """
    CREATE TABLE job_results (
        kind TEXT NOT NULL,
        hash BLOB NOT NULL CHECK (length(hash) = 32),
        session_id TEXT REFERENCES sessions (id) ON DELETE CASCADE,
        result TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        PRIMARY KEY (kind, hash)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX job_results_by_session ON job_results (session_id) WHERE session_id IS NOT NULL",
    """
    CREATE TABLE duties (
        name TEXT PRIMARY KEY,
        done_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
)


def apply(conn: Connection) -> None:
    for statement in _STATEMENTS:
        conn.execute(statement)
