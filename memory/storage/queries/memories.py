"""Memories as rows: how they are found, stored and changed. Nothing here writes the change log."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from memory.clock import micros, moment
from memory.errors import AmbiguousId, MemoryNotFound, MessageNotFound
from memory.memories.entities import (
    Memory,
    MemoryCounts,
    MemoryFilter,
    MemoryKind,
    MemoryOrigin,
    MemorySource,
    MemoryState,
    MemoryTier,
    MemoryVersion,
    NewMemory,
)
from memory.storage.connection import Connection
from memory.storage.queries.belongings import project_id as known_project
from memory.storage.queries.memories_finding import containing
from memory.storage.queries.sessions import project_named
from memory.storage.values import id_range, new_id, storable

_COLUMNS = """
    m.id, m.kind, m.tier, m.state, m.origin, m.subject, m.text, m.confidence, m.importance, m.created_at,
    m.updated_at, m.pinned, m.version, m.uses, m.used_at, m.valid_from, m.valid_until, m.expires_at,
    m.superseded_by, p.name, m.model
"""
_FROM = "memories AS m LEFT JOIN projects AS p ON p.id = m.project_id"
_FINDABLE = "m.state IN ('inbox', 'kept')"


def _memory(row: Any) -> Memory:
    return Memory(
        id=row[0],
        kind=MemoryKind(row[1]),
        tier=MemoryTier(row[2]),
        state=MemoryState(row[3]),
        origin=MemoryOrigin(row[4]),
        subject=row[5],
        text=row[6],
        confidence=row[7],
        importance=row[8],
        created_at=moment(row[9]),
        updated_at=moment(row[10]),
        pinned=bool(row[11]),
        version=row[12],
        uses=row[13],
        used_at=_moment(row[14]),
        valid_from=_moment(row[15]),
        valid_until=_moment(row[16]),
        expires_at=_moment(row[17]),
        superseded_by=row[18],
        project=row[19],
        model=row[20],
    )


def _moment(value: int | None) -> datetime | None:
    return None if value is None else moment(value)


def _micros(value: datetime | None) -> int | None:
    return None if value is None else micros(value)


# --- finding ---------------------------------------------------------------------------------------


def resolve(conn: Connection, ref: str) -> str:
    """The full id that `ref` (an id or a unique prefix of one) stands for.

    Raises `MemoryNotFound`, `AmbiguousId`.
    """
    span = id_range(ref)
    if span is None:
        raise MemoryNotFound(ref)
    matches, found = conn.execute(
        "SELECT count(*), min(id) FROM memories WHERE id BETWEEN ? AND ?", span
    ).fetchone()
    if matches == 0:
        raise MemoryNotFound(ref)
    if matches > 1:
        raise AmbiguousId(ref, matches)
    return str(found)


def get(conn: Connection, memory_id: str) -> Memory:
    """Raises `MemoryNotFound`."""
    row = conn.execute(f"SELECT {_COLUMNS} FROM {_FROM} WHERE m.id = ?", (memory_id,)).fetchone()
    if row is None:
        raise MemoryNotFound(memory_id)
    return _memory(row)


def require(conn: Connection, memory_id: str) -> None:
    """Raises `MemoryNotFound` unless there is such a memory."""
    if conn.execute("SELECT 1 FROM memories WHERE id = ?", (memory_id,)).fetchone() is None:
        raise MemoryNotFound(memory_id)


def get_many(conn: Connection, ids: Sequence[str]) -> list[Memory]:
    """In the order asked for; those that are gone are left out."""
    found = {
        one.id: one for one in _where(conn, "m.id IN (SELECT value FROM json_each(?))", json.dumps(list(ids)))
    }
    return [found[one] for one in dict.fromkeys(ids) if one in found]


def select(conn: Connection, wanted: MemoryFilter, limit: int | None, offset: int) -> list[Memory]:
    """Pinned ones first, then the latest changed first."""
    where: list[str] = []
    parameters: list[object] = []
    for column, values in (("state", wanted.states), ("kind", wanted.kinds), ("tier", wanted.tiers)):
        if values is not None:
            where.append(f"m.{column} IN (SELECT value FROM json_each(?))")
            parameters.append(json.dumps(sorted(values)))
    if wanted.project is not None:
        where.append("(m.project_id IS NULL OR p.name = ?)")
        parameters.append(storable(wanted.project))
    if wanted.session is not None:
        where.append("m.id IN (SELECT memory_id FROM memory_sources WHERE session_id = ?)")
        parameters.append(wanted.session)
    if wanted.pinned is not None:
        where.append("m.pinned = ?")
        parameters.append(int(wanted.pinned))
    if wanted.containing.strip():
        condition, values_of_words = containing(storable(wanted.containing))
        where.append(condition)
        parameters += values_of_words
    rows = conn.execute(
        f"""
        SELECT {_COLUMNS} FROM {_FROM} WHERE {" AND ".join(where) or "1"}
        ORDER BY m.pinned DESC, m.updated_at DESC, m.seq DESC LIMIT ? OFFSET ?
        """,
        (*parameters, -1 if limit is None else max(limit, 0), max(offset, 0)),
    )
    return [_memory(row) for row in rows]


def learned_from(conn: Connection, message_ids: Collection[str]) -> list[Memory]:
    return _where(
        conn,
        """
        m.id IN (
            SELECT memory_id FROM memory_sources WHERE message_id IN (SELECT value FROM json_each(?))
        ) ORDER BY m.seq
        """,
        json.dumps(list(message_ids)),
    )


def parts(conn: Connection, memory_id: str) -> list[Memory]:
    """What a merged memory was made of, oldest first. Raises `MemoryNotFound`."""
    require(conn, memory_id)
    where = "m.id IN (SELECT part_id FROM memory_parts WHERE memory_id = ?) ORDER BY m.seq"
    return _where(conn, where, memory_id)


def expiring(conn: Connection, before: datetime) -> list[Memory]:
    where = f"{_FINDABLE} AND m.pinned = 0 AND m.expires_at <= ? ORDER BY m.expires_at, m.seq"
    return _where(conn, where, micros(before))


def _where(conn: Connection, condition: str, parameter: object) -> list[Memory]:
    rows = conn.execute(f"SELECT {_COLUMNS} FROM {_FROM} WHERE {condition}", (parameter,))
    return [_memory(row) for row in rows]


def counts(conn: Connection) -> MemoryCounts:
    def by(column: str, condition: str) -> dict[str, int]:
        rows = conn.execute(
            f"SELECT {column}, count(*) FROM memories AS m WHERE {condition} GROUP BY {column}"
        )
        return dict(rows.fetchall())

    return MemoryCounts(by("state", "1"), by("kind", _FINDABLE), by("tier", _FINDABLE))


# --- storing ---------------------------------------------------------------------------------------


def insert(conn: Connection, new: NewMemory, now: datetime, *, memory_id: str | None = None) -> str:
    """Stores a memory with its sources and parts, and its project when that is new; returns the id, a new one
    if none is given.

    Raises `MessageNotFound`.
    """
    memory_id, at = memory_id or new_id(), micros(now)
    project = None
    if new.project is not None:
        project = known_project(conn, new.project) or project_named(conn, new.project, now)
    conn.execute(
        """
        INSERT INTO memories (
            id, kind, tier, state, origin, subject, text, confidence, importance, pinned, valid_from,
            valid_until, expires_at, project_id, model, own_words, worded_at, created_at, updated_at
        ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            memory_id,
            new.kind.value,
            new.tier.value,
            new.state.value,
            new.origin.value,
            storable(new.subject),
            storable(new.text),
            new.confidence,
            new.importance,
            int(new.pinned),
            _micros(new.valid_from),
            _micros(new.valid_until),
            _micros(new.expires_at),
            project,
            new.model,
            int(new.origin is MemoryOrigin.PERSON and not new.sources),
            at,
            at,
            at,
        ),
    )
    add_sources(conn, memory_id, new.sources)
    conn.executemany(
        "INSERT OR IGNORE INTO memory_parts (memory_id, part_id) VALUES (?, ?)",
        [(memory_id, part) for part in new.parts],
    )
    # A session that is gone by now keeps nothing from being kept.
    conn.execute(
        "INSERT INTO memory_kept_in (memory_id, session_id) SELECT ?, id FROM sessions WHERE id = ?",
        (memory_id, new.kept_in),
    )
    return memory_id


def add_sources(conn: Connection, memory_id: str, sources: Sequence[MemorySource]) -> int:
    """Returns how many were new. Raises `MessageNotFound`."""
    added = 0
    for source in sources:
        known = conn.execute(
            "SELECT 1 FROM messages WHERE id = ? AND session_id = ?", (source.message_id, source.session_id)
        ).fetchone()
        if known is None:
            raise MessageNotFound(source.message_id)
        added += conn.execute(
            """
            INSERT INTO memory_sources (memory_id, message_id, session_id, quote) VALUES (?, ?, ?, ?)
            ON CONFLICT DO NOTHING
            """,
            (memory_id, source.message_id, source.session_id, storable(source.quote)),
        ).rowcount
    return added


def set_columns(conn: Connection, memory_ids: Collection[str], changes: dict[str, object]) -> None:
    """Column names come from this package, never from data."""
    if changes:
        assignments = ", ".join(f"{column} = ?" for column in changes)
        conn.execute(
            f"UPDATE memories SET {assignments} WHERE id IN (SELECT value FROM json_each(?))",
            (*changes.values(), json.dumps(list(memory_ids))),
        )


def sources(conn: Connection, memory_id: str) -> list[MemorySource]:
    """Oldest message first. Raises `MemoryNotFound`."""
    require(conn, memory_id)
    rows = conn.execute(
        """
        SELECT s.message_id, s.session_id, s.quote FROM memory_sources AS s
        JOIN messages AS m ON m.id = s.message_id AND m.session_id = s.session_id
        WHERE s.memory_id = ? ORDER BY m.created_at, m.seq
        """,
        (memory_id,),
    )
    return [MemorySource(*row) for row in rows]


def versions(conn: Connection, memory_id: str) -> list[MemoryVersion]:
    """What it said before, the oldest first. Raises `MemoryNotFound`."""
    require(conn, memory_id)
    rows = conn.execute(
        """
        SELECT version, subject, text, created_at FROM memory_versions WHERE memory_id = ? ORDER BY version
        """,
        (memory_id,),
    )
    return [
        MemoryVersion(memory_id, version, subject, text, moment(created))
        for version, subject, text, created in rows
    ]
