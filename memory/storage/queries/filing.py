"""What there is to put sessions in order by, and what was suggested for them."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from memory.organising.entities import Filed, TagSuggestion
from memory.storage.connection import Connection
from memory.storage.queries import sessions
from memory.storage.values import one_line, storable

_LISTED = "(SELECT value FROM json_each(?))"
_CHARACTERS = 500
"""Of a message so many are looked at."""


def suggest(conn: Connection, session_id: str, scores: Mapping[str, float]) -> list[TagSuggestion]:
    """Raises `SessionNotFound`."""
    sessions.require(conn, session_id)
    conn.execute("DELETE FROM tag_suggestions WHERE session_id = ? AND rejected = 0", (session_id,))
    conn.executemany(
        """
        INSERT OR IGNORE INTO tag_suggestions (session_id, tag, score)
        SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM session_tags WHERE session_id = ?1 AND tag = ?2)
        """,
        [(session_id, one_line(tag), score) for tag, score in scores.items() if tag],
    )
    return suggestions(conn, session_id)


def suggestions(conn: Connection, session_id: str | None) -> list[TagSuggestion]:
    rows = conn.execute(
        """
        SELECT g.session_id, g.tag, g.score, s.title
        FROM tag_suggestions AS g JOIN sessions AS s ON s.id = g.session_id
        WHERE g.rejected = 0 AND s.deleted_at IS NULL AND (?1 IS NULL OR g.session_id = ?1)
            AND NOT EXISTS (SELECT 1 FROM session_tags WHERE session_id = g.session_id AND tag = g.tag)
        ORDER BY g.score DESC, g.session_id, g.tag
        """,
        (session_id,),
    )
    return [TagSuggestion(*row) for row in rows]


def reject(conn: Connection, session_id: str, tags: Collection[str]) -> int:
    """Raises `SessionNotFound`."""
    sessions.require(conn, session_id)
    waiting = {one.tag for one in suggestions(conn, session_id)}
    conn.executemany(
        """
        INSERT INTO tag_suggestions (session_id, tag, score, rejected) VALUES (?, ?, 0, 1)
        ON CONFLICT (session_id, tag) DO UPDATE SET rejected = 1
        """,
        [(session_id, one_line(tag)) for tag in tags if tag],
    )
    return len(waiting.intersection(tags))


def file(conn: Connection, session_id: str, category: str) -> bool:
    """Raises `SessionNotFound`."""
    sessions.require(conn, session_id)
    changed = conn.execute(
        """
        UPDATE sessions SET category = ?, category_source = 'model'
        WHERE id = ? AND category_source <> 'person'
        """,
        (storable(category), session_id),
    )
    return bool(changed.rowcount)


def release(conn: Connection, session_id: str) -> None:
    """Raises `SessionNotFound`."""
    sessions.set_columns(conn, session_id, {"category": "", "category_source": "none"})


def to_file(conn: Connection, limit: int) -> list[str]:
    rows = conn.execute(
        """
        SELECT s.id FROM sessions AS s
        WHERE s.category_source = 'none' AND s.deleted_at IS NULL
            AND s.memory_mode IN ('normal', 'reads') AND s.message_count > 1
        ORDER BY s.updated_at DESC, s.id DESC LIMIT ?
        """,
        (max(limit, 0),),
    )
    return [row[0] for row in rows]


@dataclass(frozen=True, slots=True)
class Page:
    """Which sessions, and how much of each: vectors of so many messages, words of so many of the person's."""

    limit: int
    offset: int
    depth: int
    messages: int


def filed(
    conn: Connection, model: str | None, session_ids: Collection[str] | None, page: Page, *, tagged: bool
) -> list[Filed]:
    where = ["s.deleted_at IS NULL", "s.memory_mode IN ('normal', 'reads')"]
    parameters: list[object] = []
    if session_ids is not None:
        where.append(f"s.id IN {_LISTED}")
        parameters.append(json.dumps(list(session_ids)))
    if tagged:
        where.append("EXISTS (SELECT 1 FROM session_tags WHERE session_id = s.id)")
    rows = conn.execute(
        f"""
        SELECT s.id, s.title, s.category, s.category_source = 'person',
            (SELECT json_group_array(tag ORDER BY tag) FROM session_tags WHERE session_id = s.id),
            (SELECT json_group_array(tag ORDER BY tag) FROM tag_suggestions
             WHERE session_id = s.id AND rejected)
        FROM sessions AS s WHERE {" AND ".join(where)}
        ORDER BY s.updated_at DESC, s.id DESC LIMIT ? OFFSET ?
        """,
        (*parameters, max(page.limit, 0), max(page.offset, 0)),
    ).fetchall()
    return [_filed(conn, row, model, page) for row in rows]


def _filed(conn: Connection, row: Any, model: str | None, page: Page) -> Filed:
    own, title, category, locked, tags, rejected = row
    # The first words lie where no message is above them; for more all have to be put in order.
    first = "AND parent_id IS NULL" if page.messages == 1 else ""
    said = conn.execute(
        f"""
        SELECT substr(content, 1, {_CHARACTERS}) FROM messages
        WHERE session_id = ? AND role = 'user' AND status <> 'streaming' {first} ORDER BY seq LIMIT ?
        """,
        (own, page.messages),
    ).fetchall()
    return Filed(
        own,
        "\n".join([title, *(text for (text,) in said)]),
        tuple(json.loads(tags)),
        category,
        bool(locked),
        None if model is None else centroid(conn, own, model, page.depth),
        tuple(json.loads(rejected)),
    )


def centroid(conn: Connection, session_id: str, model: str, depth: int) -> bytes | None:
    """The mean of the vectors of a session's earliest messages, of length 1; None without any."""
    import numpy as np

    rows = conn.execute(
        """
        SELECT data FROM vectors
        WHERE session_id = ? AND kind = 'message' AND part = 0 AND model = ?
        ORDER BY kind, owner_id LIMIT ?
        """,
        (session_id, model, depth),
    ).fetchall()
    if not rows:
        return None
    total = np.frombuffer(b"".join(row[0] for row in rows), dtype="<f4").reshape(len(rows), -1).sum(axis=0)
    length = float(np.linalg.norm(total))
    return (total / length).astype("<f4").tobytes() if length > 0 else None
