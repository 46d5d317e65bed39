"""Projects as rows, and what moves with a session that changes its project."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from datetime import datetime
from typing import Any

from memory.clock import micros, moment
from memory.entities import RoomKind
from memory.errors import AmbiguousId, ProjectExists, ProjectNotFound
from memory.organising.entities import Project, ProjectDeleted
from memory.storage.connection import Connection, fold
from memory.storage.queries import last_change
from memory.storage.values import id_range, new_id, one_line


def project_id(conn: Connection, name: str) -> str | None:
    """Returns the id of the project of that name, ignoring case; None if there is none."""
    wanted = one_line(name)
    row = conn.execute("SELECT id FROM projects WHERE name = ?", (wanted,)).fetchone()
    if row is None:
        row = conn.execute(
            "SELECT id FROM projects WHERE fold(name) = ? ORDER BY id LIMIT 1", (fold(wanted),)
        ).fetchone()
    return None if row is None else str(row[0])


def resolve(conn: Connection, ref: str) -> str:
    """Returns the id of the project that `ref` names: by name, id, or a unique prefix of one.

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
    """Moves the memories of the session's project that are based on the session alone to another project.

    Removes the expiry that an archived project had given them.
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


_SELECT = """
    SELECT p.id, p.name, p.created_at, p.archived_at,
        count(s.id), coalesce(sum(s.message_count), 0), max(s.updated_at),
        (SELECT count(*) FROM memories AS m WHERE m.project_id = p.id AND m.state IN ('inbox', 'kept'))
    FROM projects AS p LEFT JOIN sessions AS s ON s.project_id = p.id AND s.deleted_at IS NULL
"""


def select(conn: Connection, room: RoomKind, archived: bool | None) -> list[Project]:  # noqa: FBT001 - three values
    where = {
        None: "",
        True: "WHERE p.archived_at IS NOT NULL",
        False: "WHERE p.archived_at IS NULL",
    }[archived]
    rows = conn.execute(f"{_SELECT} {where} GROUP BY p.id ORDER BY fold(p.name), p.id")
    return [_project(row, room) for row in rows]


def get(conn: Connection, own_id: str, room: RoomKind) -> Project:
    return _project(conn.execute(f"{_SELECT} WHERE p.id = ? GROUP BY p.id", (own_id,)).fetchone(), room)


def create(conn: Connection, name: str, now: datetime) -> str:
    """Creates a project and returns its id. Raises `ProjectExists`."""
    found = project_id(conn, name)
    if found is not None:
        raise ProjectExists(found)
    made = new_id()
    conn.execute(
        "INSERT INTO projects (id, name, created_at) VALUES (?, ?, ?)", (made, one_line(name), micros(now))
    )
    return made


def rename(conn: Connection, ref: str, name: str) -> str:
    """Renames a project; returns its id. Raises `ProjectNotFound`, `AmbiguousId`, `ProjectExists`."""
    own, wanted = resolve(conn, ref), one_line(name)
    taken = conn.execute(
        "SELECT id FROM projects WHERE (name = ? OR fold(name) = ?) AND id <> ?", (wanted, fold(wanted), own)
    ).fetchone()
    if taken is not None:
        raise ProjectExists(taken[0])
    conn.execute("UPDATE projects SET name = ? WHERE id = ?", (wanted, own))
    # The last change that is kept refers to projects by name.
    last_change.drop(conn)
    return own


def set_archived(conn: Connection, ref: str, at: datetime | None) -> str:
    """Archives a project, or restores it if `at` is None; returns its id.

    A project that is archived already keeps its time. Raises `ProjectNotFound`, `AmbiguousId`.
    """
    own = resolve(conn, ref)
    if at is None:
        conn.execute("UPDATE projects SET archived_at = NULL WHERE id = ?", (own,))
    else:
        conn.execute(
            "UPDATE projects SET archived_at = ? WHERE id = ? AND archived_at IS NULL", (micros(at), own)
        )
    return own


def delete(conn: Connection, ref: str, room: RoomKind, now: datetime, *, binned: bool) -> ProjectDeleted:
    """Deletes a project, and bins its sessions if `binned`. Raises `ProjectNotFound`, `AmbiguousId`."""
    own = resolve(conn, ref)
    project = get(conn, own, room)
    held = conn.execute(
        "SELECT id FROM sessions WHERE project_id = ? AND deleted_at IS NULL ORDER BY id", (own,)
    ).fetchall()
    if binned:
        conn.execute(
            "UPDATE sessions SET deleted_at = ? WHERE project_id = ? AND deleted_at IS NULL",
            (micros(now), own),
        )
    conn.execute("UPDATE sessions SET project_id = NULL WHERE project_id = ?", (own,))
    memories = conn.execute(
        "UPDATE memories SET project_id = NULL, updated_at = ? WHERE project_id = ?", (micros(now), own)
    ).rowcount
    for table in ("documents", "document_folders"):
        conn.execute(f"UPDATE {table} SET project_id = NULL WHERE project_id = ?", (own,))
    _drop_days(conn, own)
    last_change.drop(conn)
    conn.execute("DELETE FROM projects WHERE id = ?", (own,))
    return ProjectDeleted(project, tuple(row[0] for row in held), int(memories), binned)


def _drop_days(conn: Connection, own_id: str) -> None:
    """Deletes the project's own retention period in days, if it has one."""
    row = conn.execute("SELECT value FROM meta WHERE key = 'retention'").fetchone()
    days = json.loads(row[0]) if row is not None else {}
    if days.pop(own_id, None) is not None:
        conn.execute("UPDATE meta SET value = ? WHERE key = 'retention'", (json.dumps(days),))


def _project(row: Any, room: RoomKind) -> Project:
    return Project(
        id=row[0],
        name=row[1],
        room=room,
        created_at=moment(row[2]),
        archived_at=None if row[3] is None else moment(row[3]),
        sessions=row[4],
        messages=row[5],
        used_at=None if row[6] is None else moment(row[6]),
        memories=row[7],
    )
