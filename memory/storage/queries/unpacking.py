"""A parcel's rows, stored in the room that they come to, under the same ids."""
# the names put into SQL come from the schema

from collections.abc import Mapping

from memory.storage.connection import Connection
from memory.storage.queries import belongings
from memory.storage.queries.belonging import Table, tables
from memory.storage.queries.packing import Parcel, Row

# Work that is done anew where it is wanted, and results that another session may have led to already.
_EITHER = ("jobs", "job_results")


def unpack(conn: Connection, parcel: Parcel) -> bool:
    """False, and nothing is stored, when the session is here."""
    if conn.execute("SELECT 1 FROM sessions WHERE id = ?", (parcel.session_id,)).fetchone() is not None:
        return False
    known = tables(conn)
    projects = {row["id"]: _project(conn, known["projects"], row) for row in parcel.rows("projects")}
    # Heads, parents and merged summaries point both ways.
    conn.execute("PRAGMA defer_foreign_keys = ON")
    # Triggers count a session's messages: it comes first, and without any.
    _insert(
        conn, known["sessions"], [{**row, "message_count": 0} for row in parcel.rows("sessions")], projects
    )
    for name, rows in parcel.tables.items():
        if name not in ("sessions", "projects") and name in known:
            _insert(conn, known[name], [_settled(name, row) for row in rows], projects)
    if parcel.learned_from is not None:
        conn.execute(
            """
            INSERT INTO learned (session_id, seq) SELECT session_id, seq FROM messages
            WHERE session_id = ? AND id = ?
            """,
            (parcel.session_id, parcel.learned_from),
        )
    return True


def _settled(name: str, row: Row) -> Row:
    """A job that was under way when its session left is begun again."""
    return {**row, "state": "queued"} if name == "jobs" and row["state"] == "running" else row


def _project(conn: Connection, table: Table, row: Row) -> str:
    """The id here of the project of that name, in any capitals, which is made when there is none."""
    found = belongings.project_id(conn, row["name"])
    if found is None:
        _insert(conn, table, [row], {})
        return str(row["id"])
    return found


def _insert(conn: Connection, table: Table, rows: list[Row], projects: Mapping[str, str]) -> None:
    if not rows:
        return
    columns = [name for name in table.columns if name in rows[0] and name != table.order]
    verb = "INSERT OR IGNORE" if table.name in _EITHER else "INSERT"
    names, marks = ", ".join(f'"{name}"' for name in columns), ", ".join("?" for _ in columns)
    conn.executemany(
        f'{verb} INTO "{table.name}" ({names}) VALUES ({marks})',
        [
            [projects.get(row[name], row[name]) if name == "project_id" else row[name] for name in columns]
            for row in rows
        ],
    )
