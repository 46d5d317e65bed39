"""The last change of marks, kept so that it can be undone: ids, tags and names of projects."""

import json
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, NamedTuple

from memory.clock import micros, moment
from memory.entities import CategorySource
from memory.organising.entities import Marks, Organised
from memory.storage.connection import Connection

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
