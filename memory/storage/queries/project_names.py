"""Finds projects by their names, and makes those that a name is the first to mention."""

from datetime import datetime

from memory.clock import micros
from memory.storage.connection import Connection, fold
from memory.storage.values import new_id, one_line


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
