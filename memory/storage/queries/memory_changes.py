"""The change log of memories: their states before and after, so that a change can be undone.

The state of a memory is its columns (without those of its use), its sources, and what it was made from.
"""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from memory.clock import micros, moment
from memory.errors import CannotUndo, ChangeNotFound
from memory.memories.entities import MemoryChange
from memory.storage.connection import Connection
from memory.storage.queries.epochs import names_one_of
from memory.storage.values import id_range, new_id

_LOGGED = (
    "kind",
    "tier",
    "state",
    "origin",
    "subject",
    "text",
    "confidence",
    "importance",
    "pinned",
    "version",
    "valid_from",
    "valid_until",
    "expires_at",
    "superseded_by",
    "project_id",
    "model",
    "own_words",
    "worded_at",
    "created_at",
    "updated_at",
)
_SELECT = """
    SELECT c.id, c.action, c.automatic, c.created_at, c.undone_at,
        (SELECT json_group_array(memory_id ORDER BY memory_id) FROM memory_change_ids WHERE change_id = c.id)
    FROM memory_changes AS c
"""
State = Mapping[str, Any] | None
"""The state of one memory; None for one that does not exist."""


def states(conn: Connection, ids: Collection[str]) -> dict[str, State]:
    return {memory_id: _state(conn, memory_id) for memory_id in ids}


def _state(conn: Connection, memory_id: str) -> State:
    row = conn.execute(f"SELECT {', '.join(_LOGGED)} FROM memories WHERE id = ?", (memory_id,)).fetchone()
    if row is None:
        return None
    sources = conn.execute(
        """
        SELECT message_id, session_id, quote FROM memory_sources WHERE memory_id = ? ORDER BY message_id
        """,
        (memory_id,),
    ).fetchall()
    parts = conn.execute(
        "SELECT part_id FROM memory_parts WHERE memory_id = ? ORDER BY part_id", (memory_id,)
    ).fetchall()
    return {
        "row": list(row),
        "sources": [list(source) for source in sources],
        "parts": [part for (part,) in parts],
    }


def record(
    conn: Connection,
    action: str,
    before: Mapping[str, State],
    now: datetime,
    *,
    automatic: bool,
) -> None:
    """Records how the memories have changed since the states in `before`; nothing if none has."""
    changed = [key for key, state in states(conn, before).items() if state != before[key]]
    if not changed:
        return
    after = states(conn, changed)
    change_id = new_id()
    conn.execute(
        """
        INSERT INTO memory_changes (id, action, automatic, before, after, created_at)
        VALUES (?, ?, ?, ?, ?, ?)
        """,
        (
            change_id,
            action,
            int(automatic),
            json.dumps({key: before[key] for key in changed}),
            json.dumps(after),
            micros(now),
        ),
    )
    conn.executemany(
        "INSERT INTO memory_change_ids (memory_id, change_id) VALUES (?, ?)",
        [(key, change_id) for key in changed],
    )


def select(conn: Connection, limit: int, memory_id: str | None) -> list[MemoryChange]:
    """Returns changes, latest first."""
    rows = conn.execute(
        f"""
        {_SELECT}
        WHERE ?1 IS NULL OR c.id IN (SELECT change_id FROM memory_change_ids WHERE memory_id = ?1)
        ORDER BY c.id DESC LIMIT ?2
        """,
        (memory_id, max(limit, 0)),
    )
    return [_change(row) for row in rows]


def _change(row: Any) -> MemoryChange:
    return MemoryChange(
        id=row[0],
        action=row[1],
        automatic=bool(row[2]),
        memory_ids=tuple(json.loads(row[5])),
        created_at=moment(row[3]),
        undone_at=None if row[4] is None else moment(row[4]),
    )


# --- undoing ---------------------------------------------------------------------------------------


def undo(conn: Connection, ref: str, now: datetime) -> tuple[MemoryChange, list[str]]:
    """Undoes a change; returns it and the memories deleted with it. Raises `ChangeNotFound`, `CannotUndo`."""
    change_id = _resolve(conn, ref)
    before, after, undone, forgotten = conn.execute(
        "SELECT before, after, undone_at, forgotten FROM memory_changes WHERE id = ?", (change_id,)
    ).fetchone()
    was: dict[str, State] = json.loads(before)
    is_now: dict[str, State] = json.loads(after)
    if undone is not None or forgotten or states(conn, is_now) != is_now:
        raise CannotUndo(change_id)
    added = [key for key, state in was.items() if state is None]
    conn.execute("DELETE FROM memories WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(added),))
    for key, state in was.items():
        if state is not None:
            _put_back(conn, change_id, key, state)
    conn.execute("UPDATE memory_changes SET undone_at = ? WHERE id = ?", (micros(now), change_id))
    # The text of deleted memories is kept nowhere.
    strip(conn, added)
    return _change(conn.execute(f"{_SELECT} WHERE c.id = ?", (change_id,)).fetchone()), added


def _resolve(conn: Connection, ref: str) -> str:
    span = id_range(ref)
    rows = (
        []
        if span is None
        else conn.execute("SELECT id FROM memory_changes WHERE id BETWEEN ? AND ? LIMIT 2", span).fetchall()
    )
    if len(rows) != 1:
        raise ChangeNotFound(ref)
    return str(rows[0][0])


def _put_back(conn: Connection, change_id: str, memory_id: str, state: Mapping[str, Any]) -> None:
    row = dict(zip(_LOGGED, state["row"], strict=True))
    if row["superseded_by"] is not None and _state(conn, row["superseded_by"]) is None:
        raise CannotUndo(change_id)
    conn.execute(
        f"UPDATE memories SET {', '.join(f'{name} = ?' for name in row)} WHERE id = ?",
        (*row.values(), memory_id),
    )
    conn.execute(
        "DELETE FROM memory_versions WHERE memory_id = ? AND version >= ?", (memory_id, row["version"])
    )
    conn.execute("DELETE FROM memory_sources WHERE memory_id = ?", (memory_id,))
    conn.execute("DELETE FROM memory_parts WHERE memory_id = ?", (memory_id,))
    for message, session, quote in state["sources"]:
        known = conn.execute(
            "SELECT 1 FROM messages WHERE id = ? AND session_id = ?", (message, session)
        ).fetchone()
        if known is None:
            raise CannotUndo(change_id)
        conn.execute(
            "INSERT INTO memory_sources (memory_id, message_id, session_id, quote) VALUES (?, ?, ?, ?)",
            (memory_id, message, session, quote),
        )
    conn.executemany(
        "INSERT INTO memory_parts (memory_id, part_id) VALUES (?, ?)",
        [(memory_id, part) for part in state["parts"]],
    )


# --- forgetting ------------------------------------------------------------------------------------


def strip(conn: Connection, ids: Collection[str]) -> None:
    """Empties every change whose states name one of these ids (of memories, messages or sessions).

    The change stays in the log, and cannot be undone.
    """
    gone = set(ids)
    changes = conn.execute("SELECT id, before, after FROM memory_changes WHERE after <> '{}'")
    empty = [
        change_id
        for change_id, before, after in changes
        if names_one_of(before, gone) or names_one_of(after, gone)
    ]
    conn.execute(
        """
        UPDATE memory_changes SET before = '{}', after = '{}', forgotten = 1
        WHERE id IN (SELECT value FROM json_each(?))
        """,
        (json.dumps(empty),),
    )


def drop_names(conn: Connection, memory_ids: Collection[str]) -> None:
    """Removes memories from the lists of what was changed, and deletes changes that were of them alone."""
    names = json.dumps(list(memory_ids))
    changed = conn.execute(
        """
        SELECT DISTINCT change_id FROM memory_change_ids
        WHERE memory_id IN (SELECT value FROM json_each(?))
        """,
        (names,),
    ).fetchall()
    conn.execute(
        "DELETE FROM memory_change_ids WHERE memory_id IN (SELECT value FROM json_each(?))", (names,)
    )
    conn.execute(
        """
        DELETE FROM memory_changes WHERE id IN (SELECT value FROM json_each(?))
            AND NOT EXISTS (SELECT 1 FROM memory_change_ids WHERE change_id = memory_changes.id)
        """,
        (json.dumps([change_id for (change_id,) in changed]),),
    )
