"""Programs that may use this room: digests of their tokens, and a log of their requests.

The log contains kinds and numbers, never content. `memories.proposed_by` is the client that proposed a
memory, which is not in use until the user accepts it.
"""

from memory.storage.connection import Connection

VERSION = 19
NAME = "clients"

_STATEMENTS = (
    # A revoked client stays for the log; its name is free again.
    """
    CREATE TABLE clients (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL CHECK (name <> ''),
        token_hash BLOB NOT NULL UNIQUE CHECK (length(token_hash) = 32),
        scopes TEXT NOT NULL CHECK (scopes <> ''),
        project_id TEXT REFERENCES projects (id) ON DELETE SET NULL,
        bound INTEGER NOT NULL DEFAULT 0 CHECK (bound IN (0, 1)),
        rate INTEGER NOT NULL CHECK (rate > 0),
        created_at INTEGER NOT NULL,
        used_at INTEGER,
        revoked_at INTEGER
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE UNIQUE INDEX clients_by_name ON clients (name) WHERE revoked_at IS NULL",
    # The sessions that a client began: it may continue these and no others.
    """
    CREATE TABLE client_sessions (
        session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
        client_id TEXT NOT NULL REFERENCES clients (id) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID
    """,
    # One row for each client, kind, outcome and minute.
    """
    CREATE TABLE client_accesses (
        client_id TEXT NOT NULL REFERENCES clients (id) ON DELETE CASCADE,
        minute INTEGER NOT NULL,
        kind TEXT NOT NULL,
        outcome TEXT NOT NULL,
        requests INTEGER NOT NULL,
        items INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        PRIMARY KEY (client_id, minute, kind, outcome)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX client_accesses_by_time ON client_accesses (minute)",
    "ALTER TABLE memories ADD COLUMN proposed_by TEXT",
)


def apply(conn: Connection) -> None:
    for statement in _STATEMENTS:
        conn.execute(statement)
