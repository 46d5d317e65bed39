"""Vectors as rows beside the texts that they were made from."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Collection, Sequence
from sys import intern

from memory.memories.wording import reading
from memory.storage.connection import Connection
from memory.vectors.entities import Embedded, StoredVector, Unembedded, VectorKey, VectorPage

_Row = tuple[str, str, int, str | None, int, bytes, str | None]
"""Kind, owner, part, session, time, vector, and the project's id where it is not that of the session."""

# Each kind has its owners in a table of its own; what says when they were made is looked up there alone.
_OWNERS = {
    "chunk": ("NULL", "NULL", ""),
    "memory": ("o.created_at", "o.project_id", "LEFT JOIN memories AS o ON o.id = v.owner_id"),
    "message": (
        "o.created_at",
        "NULL",
        "LEFT JOIN messages AS o ON o.id = v.owner_id AND o.session_id = v.session_id",
    ),
    "summary": ("o.created_at", "NULL", "LEFT JOIN summaries AS o ON o.id = v.owner_id"),
}

# Memories and summaries come before all messages in the order of storing: they are few, and what is looked
# for first.
_MEMORIES_FROM = 2**61
_SUMMARIES_FROM = 2**60


def unembedded(
    conn: Connection, model: str, *, limit: int, before: int | None, session: str | None
) -> list[Unembedded]:
    """Memories, then summaries, then messages, without a vector of `model`, the latest first."""
    place, most = 2**62 if before is None else before, max(limit, 0)
    found = _memories(conn, model, most, place - _MEMORIES_FROM, session) if place > _MEMORIES_FROM else []
    if place > _SUMMARIES_FROM:
        found += _summaries(conn, model, most - len(found), place - _SUMMARIES_FROM, session)
    return found + _messages(conn, model, most - len(found), place, session)


def _memories(conn: Connection, model: str, limit: int, before: int, session: str | None) -> list[Unembedded]:
    rows = conn.execute(
        """
        SELECT k.seq, k.id, k.subject, k.text FROM memories AS k
        WHERE k.seq < ?1 AND k.state IN ('inbox', 'kept')
            AND (?2 IS NULL OR k.id IN (SELECT memory_id FROM memory_sources WHERE session_id = ?2))
            AND NOT EXISTS (
                SELECT 1 FROM vectors WHERE kind = 'memory' AND owner_id = k.id AND part = 0 AND model = ?3
            )
        ORDER BY k.seq DESC LIMIT ?4
        """,
        (before, session, model, limit),
    )
    return [
        Unembedded(_MEMORIES_FROM + seq, "memory", owner, None, reading(subject, text))
        for seq, owner, subject, text in rows
    ]


def _summaries(
    conn: Connection, model: str, limit: int, before: int, session: str | None
) -> list[Unembedded]:
    rows = conn.execute(
        """
        SELECT y.seq, y.id, y.session_id, y.text FROM summaries AS y JOIN sessions AS s ON s.id = y.session_id
        WHERE y.seq < ?1 AND y.state <> 'stale' AND trim(y.text) <> '' AND s.memory_mode <> 'blank'
            AND (?2 IS NULL OR y.session_id = ?2)
            AND NOT EXISTS (
                SELECT 1 FROM vectors WHERE kind = 'summary' AND owner_id = y.id AND part = 0 AND model = ?3
            )
        ORDER BY y.seq DESC LIMIT ?4
        """,
        (before, session, model, limit),
    )
    return [Unembedded(_SUMMARIES_FROM + seq, "summary", owner, own, text) for seq, owner, own, text in rows]


def _messages(conn: Connection, model: str, limit: int, before: int, session: str | None) -> list[Unembedded]:
    where, parameters = "m.seq < ?", [before]
    if session is not None:
        where, parameters = f"{where} AND m.session_id = ?", [*parameters, session]  # type: ignore[list-item]
    rows = conn.execute(
        f"""
        SELECT m.seq, m.id, m.session_id, m.content FROM messages AS m
        JOIN sessions AS s ON s.id = m.session_id
        WHERE {where} AND m.status IN ('complete', 'partial') AND m.role <> 'system'
            AND trim(m.content) <> '' AND s.memory_mode <> 'blank'
            AND NOT EXISTS (
                SELECT 1 FROM vectors WHERE kind = 'message' AND owner_id = m.id AND part = 0 AND model = ?
            )
        ORDER BY m.seq DESC LIMIT ?
        """,
        (*parameters, model, limit),
    )
    return [Unembedded(seq, "message", owner, session, text) for seq, owner, session, text in rows]


def put(conn: Connection, model: str, made: Sequence[Embedded]) -> int:
    """Stores the passages of each text that still is what was embedded. Returns how many texts those are."""
    taken = 0
    for one in made:
        source = one.source
        if not _still_says(conn, source):
            continue
        conn.execute(
            "DELETE FROM vectors WHERE kind = ? AND owner_id = ? AND model = ?",
            (source.kind, source.owner_id, model),
        )
        conn.executemany(
            "INSERT INTO vectors (kind, owner_id, part, session_id, model, data) VALUES (?, ?, ?, ?, ?, ?)",
            [
                (source.kind, source.owner_id, part, source.session_id, model, data)
                for part, data in enumerate(one.parts)
            ],
        )
        taken += 1
    return taken


def _still_says(conn: Connection, source: Unembedded) -> bool:
    if source.kind == "memory":
        row = conn.execute(
            "SELECT subject, text FROM memories WHERE id = ? AND state IN ('inbox', 'kept')",
            (source.owner_id,),
        ).fetchone()
        return row is not None and reading(*row) == source.text
    if source.kind == "summary":
        row = conn.execute(
            "SELECT 1 FROM summaries WHERE id = ? AND state <> 'stale' AND text = ?",
            (source.owner_id, source.text),
        ).fetchone()
        return row is not None
    row = conn.execute(
        "SELECT 1 FROM messages WHERE seq = ? AND id = ? AND content = ?",
        (source.seq, source.owner_id, source.text),
    ).fetchone()
    return row is not None


def scan(conn: Connection, model: str, after: VectorKey | None, limit: int) -> VectorPage:
    key = VectorKey("", "", -1) if after is None else after
    found: list[_Row] = []
    for kind in sorted(_OWNERS):
        if kind >= key.kind and len(found) < limit:
            owner, part = (key.owner_id, key.part) if kind == key.kind else ("", -1)
            found += _stored(
                conn,
                kind,
                "(v.owner_id, v.part) > (?, ?) AND v.model = ? ORDER BY v.owner_id, v.part LIMIT ?",
                (owner, part, model, limit - len(found)),
            )
    if not found:
        return VectorPage()
    kinds, owners, parts, sessions, times, data, projects = zip(*found, strict=True)
    # The same strings as in what recall knows of the room: looked up by identity, which is faster.
    own = _projects(conn, sessions, projects)
    return VectorPage(kinds, tuple(map(intern, owners)), parts, sessions, own, times, b"".join(data))


def of(
    conn: Connection, model: str, owners: Collection[str], sessions: Collection[str]
) -> list[StoredVector]:
    given = json.dumps(list(owners)), json.dumps(list(sessions))
    found = [
        row
        for kind in sorted(_OWNERS)
        for row in _stored(
            conn,
            kind,
            """
            v.model = ? AND (
                v.owner_id IN (SELECT value FROM json_each(?))
                OR v.session_id IN (SELECT value FROM json_each(?))
            )
            """,
            (model, *given),
        )
    ]
    own = _projects(conn, [row[3] for row in found], [row[6] for row in found])
    return [
        StoredVector(kind, intern(owner), part, session, project, created, data)
        for (kind, owner, part, session, created, data, _), project in zip(found, own, strict=True)
    ]


def counts(conn: Connection) -> dict[str, int]:
    return dict(conn.execute("SELECT model, count(*) FROM vectors GROUP BY model").fetchall())


def drop_others(conn: Connection, model: str) -> int:
    return int(conn.execute("DELETE FROM vectors WHERE model <> ?", (model,)).rowcount)


def _stored(conn: Connection, kind: str, where: str, parameters: tuple[object, ...]) -> list[_Row]:
    created, project, owners = _OWNERS[kind]
    rows: list[_Row] = conn.execute(
        f"""
        SELECT v.kind, v.owner_id, v.part, v.session_id, coalesce({created}, 0), v.data, {project}
        FROM vectors AS v {owners} WHERE v.kind = ? AND {where}
        """,
        (kind, *parameters),
    ).fetchall()
    return rows


def _projects(
    conn: Connection, sessions: Sequence[str | None], projects: Sequence[str | None]
) -> list[str | None]:
    """The names of the projects that rows belong to: by their session, else by the id of their own."""
    rows = conn.execute(
        """
        SELECT s.id, p.name FROM sessions AS s JOIN projects AS p ON p.id = s.project_id
        WHERE s.id IN (SELECT value FROM json_each(?1))
        UNION ALL SELECT id, name FROM projects WHERE id IN (SELECT value FROM json_each(?2))
        """,
        (json.dumps(list(set(sessions))), json.dumps(list(set(projects)))),
    )
    names: dict[str | None, str] = dict(rows.fetchall())
    return [
        names.get(project if session is None else session)
        for session, project in zip(sessions, projects, strict=True)
    ]
