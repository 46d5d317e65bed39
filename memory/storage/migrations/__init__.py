"""The room's schema: one numbered step per module. A released step never changes."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from memory.clock import micros
from memory.errors import FutureSchema
from memory.storage.connection import APPLICATION_ID, Connection
from memory.storage.migrations import (
    m0001_first_conversations,
    m0002_background_work,
    m0003_context,
    m0004_vectors,
    m0005_memories,
    m0006_rooms,
    m0007_considered,
    m0008_desk,
    m0009_search,
    m0010_archive,
    m0011_vectors_in_rows,
    m0012_kept_in,
    m0013_documents,
    m0014_pairs,
    m0015_notes,
    m0016_skills,
    m0017_projects,
    m0018_tasks,
    m0019_clients,
    m0020_sync,
    m0021_receipts,
    m0022_settled,
    m0023_citations_go,
)


class Migration(Protocol):
    """A module with a version (1, 2, 3 …), a name, and the step itself."""

    VERSION: int
    NAME: str

    def apply(self, conn: Connection) -> None: ...


ALL: tuple[Migration, ...] = (
    m0001_first_conversations,
    m0002_background_work,
    m0003_context,
    m0004_vectors,
    m0005_memories,
    m0006_rooms,
    m0007_considered,
    m0008_desk,
    m0009_search,
    m0010_archive,
    m0011_vectors_in_rows,
    m0012_kept_in,
    m0013_documents,
    m0014_pairs,
    m0015_notes,
    m0016_skills,
    m0017_projects,
    m0018_tasks,
    m0019_clients,
    m0020_sync,
    m0021_receipts,
    m0022_settled,
    m0023_citations_go,
)
LATEST = ALL[-1].VERSION

_RECORD = """
    CREATE TABLE IF NOT EXISTS schema_migrations (
        version INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        applied_at INTEGER NOT NULL
    ) STRICT
"""


def version_of(conn: Connection) -> int:
    return int(conn.execute("PRAGMA user_version").fetchone()[0])


def migrate(conn: Connection, now: datetime, steps: Sequence[Migration] = ALL) -> list[int]:
    """Applies the missing steps, each in its own transaction, and returns their versions.

    Raises `FutureSchema` before anything is changed.
    """
    known = steps[-1].VERSION
    found = version_of(conn)
    if found > known:
        raise FutureSchema(found, known)
    applied = []
    for step in steps:
        if found >= step.VERSION:
            continue
        conn.execute("BEGIN IMMEDIATE")
        try:
            conn.execute(_RECORD)
            step.apply(conn)
            conn.execute(
                "INSERT INTO schema_migrations (version, name, applied_at) VALUES (?, ?, ?)",
                (step.VERSION, step.NAME, micros(now)),
            )
            conn.execute(f"PRAGMA user_version = {step.VERSION:d}")
            conn.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
            conn.execute("COMMIT")
        except BaseException:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
            raise
        applied.append(step.VERSION)
    return applied
