"""Sync: the device's own state, stamps of rows and columns, other devices, and what waits for other rows.

A stamp records when a row was written (`field` is empty), removed (`-`), forgotten (`!`), or a column
changed, as a hybrid logical clock, and by which device. `sent` is the number of this device's file that
carries it: NULL before, 0 if it came from another device. No stamp contains the user's words: words in keys
are digests. A file of `sync_files` is stale when it contains what was forgotten; it is then written again
without it. `sync_waiting` keeps what arrived before the rows that it refers to. `sync_merged`: a project that
became another one of the same name.
"""

from memory.storage.connection import Connection

VERSION = 20
NAME = "sync"

_STATEMENTS = (
    """
    CREATE TABLE sync_state (
        only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
        folder TEXT NOT NULL,
        place TEXT NOT NULL,
        own INTEGER NOT NULL,
        keys BLOB NOT NULL,
        signing BLOB NOT NULL,
        sealing BLOB NOT NULL,
        capturing INTEGER NOT NULL DEFAULT 1 CHECK (capturing IN (0, 1)),
        leaving INTEGER NOT NULL DEFAULT 0 CHECK (leaving IN (0, 1)),
        paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
        revision INTEGER NOT NULL DEFAULT 0,
        last INTEGER NOT NULL DEFAULT 0,
        digest BLOB NOT NULL DEFAULT x'',
        head BLOB NOT NULL DEFAULT x'',
        writing BLOB,
        synced_at INTEGER,
        invitation TEXT NOT NULL DEFAULT '',
        invited_until INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    """
    CREATE TABLE sync_devices (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL DEFAULT '',
        place TEXT NOT NULL DEFAULT '',
        signing BLOB NOT NULL DEFAULT x'',
        sealing BLOB NOT NULL DEFAULT x'',
        position INTEGER NOT NULL DEFAULT 0,
        digest BLOB NOT NULL DEFAULT x'',
        revision INTEGER NOT NULL DEFAULT 0,
        missing INTEGER NOT NULL DEFAULT 0,
        wanted INTEGER NOT NULL DEFAULT 0,
        heard INTEGER NOT NULL DEFAULT 0,
        seen_at INTEGER,
        removed_at INTEGER,
        until INTEGER
    ) STRICT
    """,
    """
    CREATE TABLE sync_stamps (
        tbl TEXT NOT NULL,
        key TEXT NOT NULL,
        field TEXT NOT NULL,
        at INTEGER NOT NULL,
        by INTEGER NOT NULL,
        sent INTEGER,
        PRIMARY KEY (tbl, key, field)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX sync_stamps_by_file ON sync_stamps (sent, at)",
    """
    CREATE TABLE sync_waiting (
        number INTEGER PRIMARY KEY,
        tbl TEXT NOT NULL,
        key TEXT NOT NULL,
        needs_tbl TEXT NOT NULL,
        needs_key TEXT NOT NULL,
        change TEXT NOT NULL CHECK (json_valid(change))
    ) STRICT
    """,
    "CREATE INDEX sync_waiting_needs ON sync_waiting (needs_tbl, needs_key)",
    "CREATE INDEX sync_waiting_own ON sync_waiting (tbl, key)",
    """
    CREATE TABLE sync_files (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        digest BLOB NOT NULL,
        changes INTEGER NOT NULL,
        weight INTEGER NOT NULL,
        stale INTEGER NOT NULL DEFAULT 0 CHECK (stale IN (0, 1))
    ) STRICT
    """,
    """
    CREATE TABLE sync_blobs (
        tbl TEXT NOT NULL,
        key TEXT NOT NULL,
        field TEXT NOT NULL,
        digest BLOB NOT NULL,
        name TEXT NOT NULL,
        PRIMARY KEY (tbl, key, field)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE sync_merged (
        id TEXT PRIMARY KEY,
        into_id TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE sync_settings (
        name TEXT PRIMARY KEY,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
)


def apply(conn: Connection) -> None:
    for statement in _STATEMENTS:
        conn.execute(statement)
