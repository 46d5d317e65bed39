"""Which tables a room has, and what their rows belong to: a session, a memory, a document or the room."""
# ruff: noqa: S608  # the names put into SQL come from the schema

from dataclasses import dataclass
from enum import StrEnum

from memory.storage.connection import Connection


class Lineage(StrEnum):
    """The rows with which the rows of a table move.

    session: the session that they name; memory: the memory that they name; document: the document that they
    name; project: the sessions of the project, by its name; room: nothing, they stay.
    """

    SESSION = "session"
    MEMORY = "memory"
    DOCUMENT = "document"
    PROJECT = "project"
    ROOM = "room"


_NAMED = {
    "sessions": Lineage.SESSION,
    "memories": Lineage.MEMORY,
    "documents": Lineage.DOCUMENT,
    "projects": Lineage.PROJECT,
    # The room's own records: schema, duties, what was shown last, and the parcels that wait in it.
    "meta": Lineage.ROOM,
    "schema_migrations": Lineage.ROOM,
    "duties": Lineage.ROOM,
    "left_open": Lineage.ROOM,
    "moves": Lineage.ROOM,
    # Available in this room, whatever session is shown.
    "saved_searches": Lineage.ROOM,
    # A folder is watched for the room that it was added to.
    "document_folders": Lineage.ROOM,
    # Folders that notes were imported from, and their other files, stay where they were imported.
    "note_folders": Lineage.ROOM,
    "note_files": Lineage.ROOM,
    # Files that this room must not add again.
    "left_files": Lineage.ROOM,
    "personas": Lineage.ROOM,
    # Skills stay in their room; their uses move with the sessions.
    "skills": Lineage.ROOM,
    "skill_versions": Lineage.ROOM,
    "skill_sources": Lineage.ROOM,
    "skill_vectors": Lineage.ROOM,
    "rejected_drafts": Lineage.ROOM,
    # A task sees its room only, and stays in it.
    "tasks": Lineage.ROOM,
    "task_steps": Lineage.ROOM,
    "task_evidence": Lineage.ROOM,
    "task_citations": Lineage.ROOM,
    "task_guidance": Lineage.ROOM,
    "task_events": Lineage.ROOM,
    "templates": Lineage.ROOM,
    # A client belongs to this room alone: it cannot reach what moves to another.
    "clients": Lineage.ROOM,
    "client_sessions": Lineage.ROOM,
    "client_accesses": Lineage.ROOM,
    # The log of changes of a room that is synced: each room has its own.
    "sync_state": Lineage.ROOM,
    "sync_devices": Lineage.ROOM,
    "sync_stamps": Lineage.ROOM,
    "sync_waiting": Lineage.ROOM,
    "sync_files": Lineage.ROOM,
    "sync_blobs": Lineage.ROOM,
    "sync_merged": Lineage.ROOM,
    "sync_settings": Lineage.ROOM,
    # A change is undone where it was made: it names memories and projects that stay.
    "memory_changes": Lineage.ROOM,
    # They record what was forgotten in this room.
    "receipts": Lineage.ROOM,
    "memory_change_ids": Lineage.ROOM,
}


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A foreign key. If `optional`, a row stays when the row that it refers to is missing, and then refers to
    none.
    """

    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]
    optional: bool


@dataclass(frozen=True, slots=True)
class Table:
    """A table. Rows are stored in the order of the column `order`, which the receiving room numbers again."""

    name: str
    columns: tuple[str, ...]
    foreign: tuple[ForeignKey, ...]
    lineage: Lineage | None
    order: str | None


def tables(conn: Connection) -> dict[str, Table]:
    """Returns all ordinary tables by name. `lineage` is None if it is unknown what the rows belong to."""
    names = conn.execute(
        """
        SELECT name FROM pragma_table_list
        WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name
        """
    ).fetchall()
    return {name: _table(conn, name) for (name,) in names}


def _table(conn: Connection, name: str) -> Table:
    info = conn.execute(f'SELECT name, type, pk, "notnull" FROM pragma_table_info({name!r})').fetchall()
    required = {column for column, _, key, notnull in info if notnull or key}
    own = [column for column, kind, key, _ in info if key and kind == "INTEGER"]
    keys = [column for column, _, key, _ in info if key]
    return Table(
        name,
        tuple(row[0] for row in info),
        _foreign(conn, name, required),
        _lineage(name, {row[0] for row in info}),
        own[0] if own == keys and len(own) == 1 else None,
    )


def _lineage(name: str, columns: set[str]) -> Lineage | None:
    if name in _NAMED:
        return _NAMED[name]
    if "memory_id" in columns:
        return Lineage.MEMORY
    if "session_id" in columns:
        return Lineage.SESSION
    return Lineage.DOCUMENT if "document_id" in columns else None


def _foreign(conn: Connection, name: str, required: set[str]) -> tuple[ForeignKey, ...]:
    found: dict[int, list[tuple[str, str, str, str]]] = {}
    for number, parent, column, parent_column, on_delete in conn.execute(
        f'SELECT id, "table", "from", "to", on_delete FROM pragma_foreign_key_list({name!r}) ORDER BY id, seq'
    ):
        found.setdefault(number, []).append((parent, column, parent_column, on_delete))
    return tuple(
        ForeignKey(
            tuple(column for _, column, _, _ in parts),
            parts[0][0],
            tuple(parent_column for _, _, parent_column, _ in parts),
            optional=not required.intersection(column for _, column, _, _ in parts),
        )
        for parts in found.values()
    )
