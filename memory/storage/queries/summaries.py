"""Summaries as rows, with the messages that they cover."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from memory.clock import micros, moment
from memory.context.entities import NewSummary, Summary, SummaryState, require_wider, state_of_new
from memory.errors import AmbiguousId, MessageNotFound, SummaryNotFound
from memory.storage.connection import Connection
from memory.storage.queries.sessions import require
from memory.storage.values import id_range, new_id, storable

_COLUMNS = """
    s.id, s.session_id, s.level, s.text,
    (SELECT json_group_array(message_id ORDER BY position) FROM summary_messages WHERE summary_id = s.id),
    s.created_at, s.updated_at, s.state, s.topics, s.fallback, s.edited, s.model, s.merged_into
"""


def _summary(row: Any, ids: dict[str, str] | None = None) -> Summary:
    """Builds a summary; `ids` shares id strings among summaries, as each level covers what those below do."""
    covers = json.loads(row[4])
    return Summary(
        id=row[0],
        session_id=row[1],
        level=row[2],
        text=row[3],
        covers=tuple(covers) if ids is None else tuple(ids.setdefault(one, one) for one in covers),
        created_at=moment(row[5]),
        updated_at=moment(row[6]),
        state=SummaryState(row[7]),
        topics=tuple(json.loads(row[8])),
        fallback=bool(row[9]),
        edited=bool(row[10]),
        model=row[11],
        merged_into=row[12],
    )


def _topics(topics: Sequence[str]) -> str:
    return json.dumps([storable(topic) for topic in topics], ensure_ascii=False)


def get(conn: Connection, summary_id: str) -> Summary:
    """Returns one summary. Raises `SummaryNotFound`."""
    row = conn.execute(f"SELECT {_COLUMNS} FROM summaries AS s WHERE s.id = ?", (summary_id,)).fetchone()
    if row is None:
        raise SummaryNotFound(summary_id)
    return _summary(row)


def resolve(conn: Connection, ref: str) -> str:
    """Returns the full id for `ref` (an id or a unique prefix of one).

    Raises `SummaryNotFound`, `AmbiguousId`.
    """
    span = id_range(ref)
    if span is None:
        raise SummaryNotFound(ref)
    matches, found = conn.execute(
        "SELECT count(*), min(id) FROM summaries WHERE id BETWEEN ? AND ?", span
    ).fetchone()
    if matches == 0:
        raise SummaryNotFound(ref)
    if matches > 1:
        raise AmbiguousId(ref, matches)
    return str(found)


def of_session(conn: Connection, session_id: str) -> list[Summary]:
    """Returns a session's summaries, oldest first. Raises `SessionNotFound`."""
    require(conn, session_id)
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM summaries AS s WHERE s.session_id = ? ORDER BY s.seq", (session_id,)
    )
    ids: dict[str, str] = {}
    return [_summary(row, ids) for row in rows]


def insert(conn: Connection, session_id: str, new: NewSummary, now: datetime) -> Summary:
    """Stores a summary and marks those that it replaces. Raises the errors of `ContextStore.add_summary`."""
    require(conn, session_id)
    missing = conn.execute(
        """
        SELECT c.value FROM json_each(?) AS c
        WHERE NOT EXISTS (SELECT 1 FROM messages AS m WHERE m.id = c.value AND m.session_id = ?)
        ORDER BY c.key LIMIT 1
        """,
        (json.dumps(new.covers), session_id),
    ).fetchone()
    if missing is not None:
        raise MessageNotFound(str(missing[0]))
    replaced = [get(conn, summary_id) for summary_id in new.replaces]
    for one in replaced:
        if one.session_id != session_id:
            raise SummaryNotFound(one.id)
    require_wider(new, replaced)
    added = Summary(
        id=new_id(),
        session_id=session_id,
        level=new.level,
        text=storable(new.text),
        covers=new.covers,
        created_at=moment(micros(now)),
        updated_at=moment(micros(now)),
        state=state_of_new(replaced),
        topics=tuple(storable(topic) for topic in new.topics),
        fallback=new.fallback,
        model=new.model,
    )
    put(conn, added)
    conn.executemany(
        """
        UPDATE summaries SET merged_into = ?, state = CASE state WHEN 'stale' THEN 'stale' ELSE 'merged' END
        WHERE id = ?
        """,
        [(added.id, one.id) for one in replaced],
    )
    return added


def put(conn: Connection, summary: Summary) -> None:
    """Stores a summary unchanged."""
    conn.execute(
        """
        INSERT INTO summaries
            (id, session_id, level, text, topics, state, fallback, edited, model, merged_into, created_at,
             updated_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            summary.id,
            summary.session_id,
            summary.level,
            summary.text,
            _topics(summary.topics),
            summary.state.value,
            int(summary.fallback),
            int(summary.edited),
            summary.model,
            summary.merged_into,
            micros(summary.created_at),
            micros(summary.updated_at),
        ),
    )
    conn.executemany(
        "INSERT INTO summary_messages (summary_id, position, message_id, session_id) VALUES (?, ?, ?, ?)",
        [(summary.id, at, covered, summary.session_id) for at, covered in enumerate(summary.covers)],
    )


def rewrite(
    conn: Connection,
    summary_id: str,
    now: datetime,
    *,
    text: str,
    topics: Sequence[str],
    fallback: bool,
    edited: bool,
    model: str | None,
) -> Summary:
    """Replaces the text; a stale summary gets its previous state back. Raises `SummaryNotFound`."""
    conn.execute(
        """
        UPDATE summaries SET
            text = ?, topics = ?, fallback = ?, edited = ?, model = ?, updated_at = ?,
            state = CASE WHEN merged_into IS NULL THEN 'current' ELSE 'merged' END
        WHERE id = ?
        """,
        (storable(text), _topics(topics), int(fallback), int(edited), model, micros(now), summary_id),
    )
    return get(conn, summary_id)


def age(conn: Connection, message_ids: Sequence[str]) -> list[Summary]:
    """Marks the summaries that cover one of the messages as stale; returns them, oldest first."""
    found = [
        str(row[0])
        for row in conn.execute(
            """
            SELECT s.id FROM summaries AS s WHERE s.id IN (
                SELECT c.summary_id FROM json_each(?) AS changed
                JOIN messages AS m ON m.id = changed.value
                JOIN summary_messages AS c ON c.session_id = m.session_id AND c.message_id = m.id
            )
            ORDER BY s.seq
            """,
            (json.dumps(list(message_ids)),),
        )
    ]
    conn.executemany("UPDATE summaries SET state = 'stale' WHERE id = ?", [(one,) for one in found])
    return [get(conn, one) for one in found]


def to_improve(conn: Connection, limit: int) -> list[Summary]:
    """Returns fallback and stale summaries that the user has not edited, oldest first."""
    rows = conn.execute(
        f"""
        SELECT {_COLUMNS} FROM summaries AS s
        WHERE s.edited = 0 AND (s.fallback = 1 OR s.state = 'stale') ORDER BY s.seq LIMIT ?
        """,
        (max(limit, 0),),
    )
    return [_summary(row) for row in rows]
