"""Projects as rows, sessions that change their project, and the last change, which can be undone."""

import json
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, NamedTuple

from memory.clock import micros, moment
from memory.entities import CategorySource, MemoryMode, RoomKind
from memory.errors import AmbiguousId, ProjectExists, ProjectNotFound
from memory.memories.entities import Unset
from memory.organising import (
    Marks,
    Organised,
    Project,
    ProjectContents,
    ProjectDeleted,
    ProjectPatch,
    ProjectSettings,
)
from memory.storage.connection import Connection, fold, id_range, new_id, one_line, storable

_KEY = "organised"
TIMES = ("pinned_at", "archived_at", "deleted_at")


class _Kept(NamedTuple):
    at: int
    changes: list[Any]


def keep(conn: Connection, changes: Sequence[Organised], at: datetime) -> None:
    """Stores the changes without titles, which undoing does not need."""
    packed = [[one.session_id, _packed(one.before), _packed(one.after)] for one in changes]
    value = json.dumps({"at": micros(at), "changes": packed})
    conn.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (_KEY, value))


def when(conn: Connection) -> datetime | None:
    """Returns when the kept change was made."""
    kept = _read(conn)
    return None if kept is None else moment(kept.at)


def take(conn: Connection) -> list[Organised]:
    """Deletes and returns the kept changes."""
    kept = _read(conn)
    drop(conn)
    return [] if kept is None else [_unpacked(one) for one in kept.changes]


def drop(conn: Connection) -> None:
    conn.execute("DELETE FROM meta WHERE key = ?", (_KEY,))


def _read(conn: Connection) -> _Kept | None:
    row = conn.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
    if row is None:
        return None
    value = json.loads(row[0])
    # Earlier versions stored no time: those changes are older than any with one.
    return _Kept(0, value) if isinstance(value, list) else _Kept(value["at"], value["changes"])


def _packed(marks: Marks) -> dict[str, Any]:
    found = {field.name: getattr(marks, field.name) for field in fields(Marks)}
    return {name: as_micros(value) if name in TIMES else value for name, value in found.items()}


def _unpacked(packed: Any) -> Organised:
    session_id, before, after = packed
    return Organised(session_id, "", _marks(before), _marks(after))


def _marks(packed: dict[str, Any]) -> Marks:
    values: dict[str, Any] = {
        name: as_moment(value) if name in TIMES else value for name, value in packed.items()
    }
    values["tags"] = tuple(packed["tags"])
    values["category_source"] = CategorySource(packed["category_source"])
    return Marks(**values)


def as_micros(value: datetime | None) -> int | None:
    return None if value is None else micros(value)


def as_moment(value: int | None) -> datetime | None:
    return None if value is None else moment(value)


# ruff: noqa: S608  # the names put into SQL are all written in this module


def project_id(conn: Connection, name: str) -> str | None:
    """Returns the id of the project of that name, ignoring case; None if there is none."""
    wanted = one_line(name)
    row = conn.execute("SELECT id FROM projects WHERE name = ?", (wanted,)).fetchone()
    if row is None:
        row = conn.execute(
            "SELECT id FROM projects WHERE fold(name) = ? ORDER BY id LIMIT 1", (fold(wanted),)
        ).fetchone()
    return None if row is None else str(row[0])


def project_named(conn: Connection, name: str, now: datetime) -> str:
    """Returns the id of the project of that name; creates it if there is none."""
    name = one_line(name)
    row = conn.execute("SELECT id FROM projects WHERE name = ?", (name,)).fetchone()
    if row is not None:
        return str(row[0])
    project_id = new_id()
    conn.execute(
        "INSERT INTO projects (id, name, created_at) VALUES (?, ?, ?)", (project_id, name, micros(now))
    )
    return project_id


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

    Removes the expiry that an archived project had given them. Facts about the user that an isolated project
    kept belong to no project again, and a session that enters one takes those based on it alone with it. The
    epochs of a session that enters or leaves one end: their profile is that of the other side.
    """
    known = {"target": target, "now": micros(now), "session": session_id}
    conn.execute(
        f"""
        UPDATE memories SET
            project_id = CASE WHEN kind IN {_OF_THE_PERSON}
                AND EXISTS (SELECT 1 FROM projects WHERE id = memories.project_id AND isolated)
                AND NOT EXISTS (SELECT 1 FROM projects WHERE id = :target AND isolated)
                THEN NULL ELSE :target END,
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
        known,
    )
    conn.execute(
        """
        UPDATE memories SET project_id = :target, updated_at = :now
        WHERE project_id IS NULL
            AND EXISTS (SELECT 1 FROM projects WHERE id = :target AND isolated)
            AND id IN (SELECT memory_id FROM memory_sources WHERE session_id = :session)
            AND id NOT IN (SELECT memory_id FROM memory_sources WHERE session_id <> :session)
        """,
        known,
    )
    conn.execute(
        """
        DELETE FROM epochs WHERE session_id = :session AND EXISTS (
            SELECT 1 FROM projects WHERE isolated
                AND id IN (:target, (SELECT project_id FROM sessions WHERE id = :session))
        )
        """,
        known,
    )


_OF_THE_PERSON = "('fact', 'preference')"
"""Kinds of memories that belong to no project, whatever project they came up in, unless it is isolated."""
_SELECT = """
    SELECT p.id, p.name, p.created_at, p.archived_at,
        count(s.id), coalesce(sum(s.message_count), 0), max(s.updated_at),
        (SELECT count(*) FROM memories AS m WHERE m.project_id = p.id AND m.state IN ('inbox', 'kept')),
        p.instructions, p.persona_id, (SELECT name FROM personas WHERE id = p.persona_id), p.model,
        p.memory_mode, p.isolated
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
    drop(conn)
    return own


def set_archived(conn: Connection, ref: str, at: datetime | None) -> str:
    """Archives a project, or restores it if `at` is None; returns its id.

    A project that is already archived keeps its time. Raises `ProjectNotFound`, `AmbiguousId`.
    """
    own = resolve(conn, ref)
    if at is None:
        conn.execute("UPDATE projects SET archived_at = NULL WHERE id = ?", (own,))
    else:
        conn.execute(
            "UPDATE projects SET archived_at = ? WHERE id = ? AND archived_at IS NULL", (micros(at), own)
        )
    return own


def change(conn: Connection, ref: str, patch: ProjectPatch, now: datetime) -> str:
    """Changes a project's settings; returns its id. Raises `ProjectNotFound`, `AmbiguousId`."""
    own = resolve(conn, ref)
    values: dict[str, object] = {}
    if patch.instructions is not None:
        values["instructions"] = storable(patch.instructions)
    if not isinstance(patch.persona, Unset):
        values["persona_id"] = patch.persona
    if not isinstance(patch.model, Unset):
        values["model"] = patch.model
    if not isinstance(patch.memory_mode, Unset):
        values["memory_mode"] = patch.memory_mode
    if patch.isolated is not None:
        values["isolated"] = int(patch.isolated)
    for column, value in values.items():
        conn.execute(f"UPDATE projects SET {column} = ? WHERE id = ?", (value, own))
    if patch.isolated is not None:
        _keep_apart(conn, own, now, isolated=patch.isolated)
    return own


def _keep_apart(conn: Connection, own_id: str, now: datetime, *, isolated: bool) -> None:
    """Gives a project the memories without a project that are based on its sessions alone; releases them if
    it is no longer isolated.
    """
    known = {"project": own_id, "now": micros(now)}
    if not isolated:
        conn.execute(
            f"""
            UPDATE memories SET project_id = NULL, updated_at = :now
            WHERE project_id = :project AND kind IN {_OF_THE_PERSON}
                AND (
                    id IN (SELECT memory_id FROM memory_sources)
                    OR id IN (SELECT memory_id FROM memory_kept_in)
                )
            """,
            known,
        )
        return
    conn.execute(
        """
        UPDATE memories SET project_id = :project, updated_at = :now
        WHERE project_id IS NULL AND id IN (
            SELECT memory_id FROM (
                SELECT memory_id, session_id FROM memory_sources
                UNION SELECT memory_id, session_id FROM memory_kept_in
            ) AS held
            LEFT JOIN sessions AS s ON s.id = held.session_id
            GROUP BY memory_id HAVING sum(s.project_id IS NOT :project) = 0
        )
        """,
        known,
    )
    _end_epochs(conn, own_id)


def _end_epochs(conn: Connection, own_id: str) -> None:
    """Ends the epochs on the one side of an isolated project whose head has memories of the other side."""
    conn.execute(
        """
        DELETE FROM epochs WHERE EXISTS (
            SELECT 1 FROM json_each(parts) AS part, json_each(part.value, '$.ids') AS held
            JOIN memories AS m ON m.id = held.value
            WHERE (m.project_id IS :project) <> (
                SELECT s.project_id IS :project FROM sessions AS s WHERE s.id = epochs.session_id
            )
        )
        """,
        {"project": own_id},
    )


def isolated(conn: Connection) -> frozenset[str]:
    """Returns the names of the isolated projects."""
    return frozenset(row[0] for row in conn.execute("SELECT name FROM projects WHERE isolated"))


def instructions(conn: Connection, name: str) -> str:
    """Returns the instructions of the project of that name; "" if there is none."""
    row = conn.execute("SELECT instructions FROM projects WHERE name = ?", (name,)).fetchone()
    return "" if row is None else str(row[0])


def contents(conn: Connection, ref: str) -> ProjectContents:
    """Returns how much belongs to a project. Raises `ProjectNotFound`, `AmbiguousId`."""
    own = resolve(conn, ref)
    of_project = {"project": own}
    sessions, archived, messages, used = conn.execute(
        """
        SELECT count(*), coalesce(sum(archived_at IS NOT NULL), 0), coalesce(sum(message_count), 0),
            max(updated_at)
        FROM sessions WHERE project_id = :project AND deleted_at IS NULL
        """,
        of_project,
    ).fetchone()
    documents, added = conn.execute(
        """
        SELECT count(*), max(coalesce(indexed_at, added_at)) FROM documents
        WHERE project_id = :project AND kind = 'document'
        """,
        of_project,
    ).fetchone()
    notes, written = conn.execute(
        """
        SELECT count(*), max(n.updated_at) FROM notes AS n JOIN documents AS d ON d.id = n.document_id
        WHERE d.project_id = :project AND n.deleted_at IS NULL
        """,
        of_project,
    ).fetchone()
    tiers = dict(
        conn.execute(
            """
            SELECT tier, count(*) FROM memories
            WHERE project_id = :project AND state IN ('inbox', 'kept') GROUP BY tier ORDER BY tier
            """,
            of_project,
        ).fetchall()
    )
    put_away = conn.execute(
        "SELECT count(*) FROM memories WHERE project_id = :project AND state = 'archived'", of_project
    ).fetchone()[0]
    times = [one for one in (used, added, written) if one is not None]
    return ProjectContents(
        sessions, archived, messages, documents, notes, tiers, put_away, moment(max(times)) if times else None
    )


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
    drop(conn)
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
        settings=ProjectSettings(
            instructions=row[8],
            persona=row[9],
            persona_name=row[10],
            model=row[11],
            memory_mode=None if row[12] is None else MemoryMode(row[12]),
            isolated=bool(row[13]),
        ),
    )
