"""What recall reads of memories and summaries."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Collection
from sys import intern
from typing import Any

from memory.memories.entities import MemoryKind, MemoryState, MemoryTier
from memory.memories.wording import reading
from memory.recall.decay import RATES, base_of, importance
from memory.recall.entities import RecallItem
from memory.storage.connection import Connection

_MEMORIES = """
    SELECT k.seq, k.id, k.kind, k.tier, k.state, k.subject, k.text, k.importance, k.pinned, k.uses, k.used_at,
        k.created_at, k.expires_at, p.name, k.proposed_by,
        (
            SELECT json_group_array(json_array(message_id, session_id)) FROM memory_sources
            WHERE memory_id = k.id
        )
    FROM memories AS k LEFT JOIN projects AS p ON p.id = k.project_id
    WHERE k.state IN ('inbox', 'kept')
"""
_SUMMARIES = """
    SELECT y.seq, y.id, y.text, y.created_at, y.session_id, p.name FROM summaries AS y
    JOIN sessions AS s ON s.id = y.session_id LEFT JOIN projects AS p ON p.id = s.project_id
    WHERE y.state <> 'stale' AND y.text <> ''
"""


_ALL = 2**62


def items(conn: Connection, kind: str, after: int, limit: int) -> list[RecallItem]:
    """Returns up to `limit` items of a kind (memory or summary), in order, after row `after`."""
    if kind == "memory":
        rows = conn.execute(f"{_MEMORIES} AND k.seq > ? ORDER BY k.seq LIMIT ?", (after, max(limit, 0)))
        return [_memory(row) for row in rows]
    rows = conn.execute(f"{_SUMMARIES} AND y.seq > ? ORDER BY y.seq LIMIT ?", (after, max(limit, 0)))
    return [_summary(row) for row in rows]


def standing(conn: Connection, kind: str) -> list[RecallItem]:
    """Returns all items of a kind, except those whose sessions are all in the bin."""
    binned = {row[0] for row in conn.execute("SELECT id FROM sessions WHERE deleted_at IS NOT NULL")}
    found = items(conn, kind, 0, _ALL)
    return [one for one in found if not one.sessions or not binned.issuperset(one.sessions)]


def items_of(conn: Connection, ids: Collection[str]) -> list[RecallItem]:
    wanted = (json.dumps(list(ids)),)
    memories = conn.execute(f"{_MEMORIES} AND k.id IN (SELECT value FROM json_each(?))", wanted)
    summaries = conn.execute(f"{_SUMMARIES} AND y.id IN (SELECT value FROM json_each(?))", wanted)
    return [*map(_memory, memories), *map(_summary, summaries)]


def _memory(row: tuple[Any, ...]) -> RecallItem:
    (
        seq,
        id_,
        kind,
        tier,
        state,
        subject,
        text,
        own,
        pinned,
        uses,
        used,
        created,
        expires,
        project,
        proposed_by,
        places,
    ) = row
    learned = json.loads(places)
    return RecallItem(
        seq,
        intern(id_),
        "memory",
        reading(subject, text),
        created,
        max(created, used or 0),
        0.0 if pinned else RATES[MemoryTier(tier)],
        importance(base_of(own), uses),
        approved=state == MemoryState.KEPT,
        procedure=kind == MemoryKind.PROCEDURE or tier == MemoryTier.PROCEDURAL or proposed_by is not None,
        prefers=kind == MemoryKind.PREFERENCE,
        expires_at=expires,
        project=project,
        messages=tuple(message for message, _ in learned),
        sessions=tuple(dict.fromkeys(session for _, session in learned)),
    )


def _summary(row: tuple[Any, ...]) -> RecallItem:
    seq, id_, text, created, session, project = row
    rate = RATES[MemoryTier.EPISODIC]
    return RecallItem(
        seq,
        intern(id_),
        "summary",
        text,
        created,
        created,
        rate,
        1.0,
        approved=True,
        project=project,
        sessions=(session,),
    )
