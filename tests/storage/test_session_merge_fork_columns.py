"""A new column of sessions or messages is copied by a fork, or named here with the reason why not."""

import re

from memory.storage.connection import Connection, open_memory
from memory.storage.migrations import migrate
from memory.storage.queries.session_merge import fork
from tests.fakes.clock import FakeClock

NOW = FakeClock().now()
_OWN = "the copy has its own"
_IMPORTED = "from the import, which would find the copy instead of the original"
NOT_COPIED = {
    "sessions.id": _OWN,
    "sessions.head_id": _OWN,
    "sessions.message_count": _OWN,
    "sessions.created_at": _OWN,
    "sessions.updated_at": _OWN,
    "sessions.external_id": _IMPORTED,
    "sessions.meta": _IMPORTED,
    "sessions.starred": "said of the original alone",
    "sessions.pinned_at": "said of the original alone",
    "sessions.archived_at": "a copy is made to be continued",
    "sessions.deleted_at": "a copy is made to be continued",
    "messages.seq": _OWN,
    "messages.id": _OWN,
    "messages.session_id": _OWN,
    "messages.parent_id": _OWN,
    "messages.external_id": _IMPORTED,
    "messages.meta": _IMPORTED,
}


def other_than_default(conn: Connection, table: str, number: int, column: str, kind: str) -> object:
    """A value that a column accepts and that a new row would not have."""
    (sql,) = conn.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    allowed = re.search(rf"{column} IN \(([^)]*)\)", " ".join(sql.split()))
    if allowed is not None:
        value = allowed.group(1).split(", ")[-1]
        return value.strip("'") if kind == "TEXT" else int(value)
    if f"json_valid({column})" in sql:
        return f'{{"said": {number}}}'
    return {"TEXT": f"said {number}", "BLOB": bytes([number]) * 4}.get(kind, 1000 + number)


def planted(conn: Connection, table: str, **given: object) -> None:
    """Adds a row without default values."""
    row = {
        column: given.get(column, other_than_default(conn, table, number, column, kind))
        for number, (column, kind) in enumerate(
            conn.execute("SELECT name, type FROM pragma_table_info(?)", (table,)).fetchall()
        )
    }
    conn.execute(
        f'INSERT INTO "{table}" ({", ".join(row)}) VALUES ({", ".join("?" * len(row))})', tuple(row.values())
    )


def differing(conn: Connection, table: str, one: str, other: str) -> set[str]:
    """The columns that are not the same in two rows."""
    found = conn.execute(f'SELECT * FROM "{table}" WHERE id IN (?, ?) ORDER BY id = ?', (one, other, other))
    names = [column[0] for column in found.description]
    first, second = found.fetchall()
    return {f"{table}.{name}" for name, a, b in zip(names, first, second, strict=True) if a != b}


def test_every_column_is_copied_by_a_fork_or_named_with_a_reason() -> None:
    conn = open_memory()
    migrate(conn, NOW)
    conn.execute("PRAGMA foreign_keys = OFF")
    planted(conn, "sessions", id="s", head_id="m2")
    planted(conn, "messages", id="m1", session_id="s", parent_id=None, seq=1)
    planted(conn, "messages", id="m2", session_id="s", parent_id="m1", seq=2)
    target = fork(conn, "s", "m2", None, NOW)
    ((copy,),) = conn.execute("SELECT head_id FROM sessions WHERE id = ?", (target,)).fetchall()
    assert differing(conn, "sessions", "s", target) | differing(conn, "messages", "m2", copy) == set(
        NOT_COPIED
    )
