"""What belongs to projects: finding one, and what goes with a session that changes its project."""

from datetime import datetime

from memory.clock import micros
from memory.errors import AmbiguousId, ProjectNotFound
from memory.storage.connection import Connection, fold
from memory.storage.values import id_range, one_line


def project_id(conn: Connection, name: str) -> str | None:
    """The id of the project of that name, in any capitals."""
    wanted = one_line(name)
    row = conn.execute("SELECT id FROM projects WHERE name = ?", (wanted,)).fetchone()
    if row is None:
        row = conn.execute(
            "SELECT id FROM projects WHERE fold(name) = ? ORDER BY id LIMIT 1", (fold(wanted),)
        ).fetchone()
    return None if row is None else str(row[0])


def resolve(conn: Connection, ref: str) -> str:
    """The id of the project that `ref` names: by name, id, or a unique prefix of one.

    Raises `ProjectNotFound`, `AmbiguousId`.
    """
    found = project_id(conn, ref.strip())
    if found is not None:
        return found
    span = id_range(ref)
    if span is None:
        raise ProjectNotFound(ref)
    matches, first = conn.execute(
        "SELECT count(*), min(id) FROM projects WHERE id BETWEEN ? AND ?", span
    ).fetchone()
    if matches == 0:
        raise ProjectNotFound(ref)
    if matches > 1:
        raise AmbiguousId(ref, matches)
    return str(first)


def follow(conn: Connection, session_id: str, target: str | None, now: datetime) -> None:
    """Memories of the session's project that rest on it alone go with it to another one.

    The end that an archived project had given them ends with that.
    """
    conn.execute(
        """
        UPDATE memories SET
            project_id = :target,
            updated_at = :now,
            expires_at = CASE
                WHEN tier = 'episodic' AND EXISTS (
                    SELECT 1 FROM projects WHERE id = memories.project_id AND archived_at IS NOT NULL
                ) THEN NULL ELSE expires_at END
        WHERE project_id = (SELECT project_id FROM sessions WHERE id = :session)
            AND project_id IS NOT :target
            AND id IN (SELECT memory_id FROM memory_sources WHERE session_id = :session)
            AND id NOT IN (
                SELECT memory_id FROM memory_sources WHERE session_id <> :session
            )
        """,
        {"target": target, "now": micros(now), "session": session_id},
    )
