"""The vectors of one room, as rows with the texts that they were made from."""

import json
from collections.abc import Collection, Sequence
from sys import intern

from memory.memories.entities import reading
from memory.storage.changes import ChangeNotes
from memory.storage.connection import Connection, columns
from memory.storage.database import Database, Reader
from memory.vectors.entities import (
    Embedded,
    StoredVector,
    Unembedded,
    VectorChanges,
    VectorCounts,
    VectorPage,
)

# ruff: noqa: S608  # the names put into SQL are all written in this module


_Row = tuple[str, str, int, str | None, bytes, int]
"""Kind, owner, part, session, vector, and row number."""
_COLUMNS = "kind, owner_id, part, session_id, data, rowid"

KINDS = ("message", "summary", "memory", "chunk")

# Offsets that put memories and summaries before all messages: they are few, and wanted first.
_MEMORIES_FROM = 2**61
_SUMMARIES_FROM = 2**60


def unembedded(
    conn: Connection, model: str, *, limit: int, before: int | None, session: str | None
) -> list[Unembedded]:
    """Returns memories, then summaries, then messages, without a vector of `model`, latest first."""
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
    """Stores the passages of each text that is unchanged since it was embedded; returns how many texts."""
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


def scan(conn: Connection, model: str, after: int, limit: int) -> VectorPage:
    # In the order of the file, each page is read and decrypted once. By its index SQLite would jump about,
    # and without NOT INDEXED it would sort all remaining rows for every page.
    rows = f"SELECT {_COLUMNS} FROM vectors NOT INDEXED WHERE rowid > ? AND model = ? ORDER BY rowid LIMIT ?"
    names = ("kind", "owner_id", "part", "session_id", "rowid")
    (kinds, owners, parts, sessions, places), data = columns(
        conn, rows, names, (after, model, limit), blobs="data"
    )
    if not places:
        return VectorPage()
    # The same string objects as in recall's data of the room: lookup by identity is faster.
    owners = [intern(owner) for owner in owners]
    projects = _projects(conn, kinds, owners, sessions)
    return VectorPage(kinds, owners, parts, sessions, projects, data, last=places[-1])


def of(
    conn: Connection, model: str, owners: Collection[str], sessions: Collection[str]
) -> list[StoredVector]:
    found: list[_Row] = [
        row
        for kind in KINDS
        for row in conn.execute(
            f"""
            SELECT {_COLUMNS} FROM vectors WHERE kind = ? AND model = ? AND (
                owner_id IN (SELECT value FROM json_each(?))
                OR session_id IN (SELECT value FROM json_each(?))
            )
            """,
            (kind, model, json.dumps(list(owners)), json.dumps(list(sessions))),
        )
    ]
    own = _projects(conn, [row[0] for row in found], [row[1] for row in found], [row[3] for row in found])
    return [
        StoredVector(kind, intern(owner), part, session, project, data)
        for (kind, owner, part, session, data, _), project in zip(found, own, strict=True)
    ]


def counts(conn: Connection) -> dict[str, int]:
    return dict(conn.execute("SELECT model, count(*) FROM vectors GROUP BY model").fetchall())


def drop_others(conn: Connection, model: str) -> int:
    return int(conn.execute("DELETE FROM vectors WHERE model <> ?", (model,)).rowcount)


def _projects(
    conn: Connection, kinds: Sequence[str], owners: Sequence[str], sessions: Sequence[str | None]
) -> list[str | None]:
    """Returns the names of the projects of rows: that of their session; a memory has its own project."""
    memories = {owner for kind, owner in zip(kinds, owners, strict=True) if kind == "memory"}
    rows = conn.execute(
        """
        SELECT s.id, p.name FROM sessions AS s JOIN projects AS p ON p.id = s.project_id
        WHERE s.id IN (SELECT value FROM json_each(?1))
        UNION ALL SELECT k.id, p.name FROM memories AS k JOIN projects AS p ON p.id = k.project_id
        WHERE k.id IN (SELECT value FROM json_each(?2))
        """,
        (json.dumps(list(set(sessions))), json.dumps(list(memories))),
    )
    names: dict[str, str] = dict(rows.fetchall())
    return [
        names.get(owner if session is None else session)
        for owner, session in zip(owners, sessions, strict=True)
    ]


class VectorStore:
    """The vectors of one room, with the texts that they were made from. `model` is the fingerprint of an
    embedding model. Raises the errors of `Store`. A call that has returned is durable. Scans of all vectors
    use `reader`, in parallel with other calls."""

    def __init__(self, database: Database, notes: ChangeNotes, reader: Reader | Database) -> None:
        self._database = database
        self._reader = reader
        self._notes = notes

    async def unembedded(
        self, model: str, *, limit: int = 64, before: int | None = None, session: str | None = None
    ) -> list[Unembedded]:
        """Returns texts without a vector of that model: memories before summaries before messages, latest
        first; only those of `session` (memories with a source in it) and with a `seq` below `before`, if
        given. Left out are sessions that neither use nor add memory, replies being written, summaries that
        are out of date, and memories that can no longer be found."""
        return await self._database.read(
            lambda conn: unembedded(conn, model, limit=limit, before=before, session=session)
        )

    async def put(self, model: str, made: Sequence[Embedded]) -> int:
        """Stores the passages of each text, replacing earlier ones. A text that was changed or erased since
        it was read is left out. Returns how many texts were stored."""
        return await self._database.write(lambda conn: put(conn, model, made))

    async def scan(self, model: str, *, after: int = 0, limit: int = 2000) -> VectorPage:
        """Returns stored vectors in storage order, after the `last` of the previous page."""
        return await self._reader.read(lambda conn: scan(conn, model, after, limit))

    async def of(
        self, model: str, *, owners: Collection[str] = (), sessions: Collection[str] = ()
    ) -> list[StoredVector]:
        """Returns the vectors of these owners, and of everything in these sessions."""
        return await self._database.read(lambda conn: of(conn, model, owners, sessions))

    async def counts(self) -> VectorCounts:
        return VectorCounts(await self._database.read(counts))

    async def drop_others(self, model: str) -> int:
        """Deletes the vectors of every other model. Returns how many there were."""
        return await self._database.write(lambda conn: drop_others(conn, model))

    async def changes(self, since: int | None) -> VectorChanges:
        """Returns the changes since a version; None starts tracking and reports nothing.

        A change that was rolled back may also be reported, so read what it names again.
        """
        if since is None:
            await self._database.prepare(self._notes.listen)
            return VectorChanges(self._notes.version, frozenset(), frozenset())
        return await self._database.read(lambda _conn: self._since(since))

    def _since(self, since: int) -> VectorChanges:
        owners = self._notes.since("vector", since)
        sessions = self._notes.since("session", since)
        return VectorChanges(self._notes.version, frozenset(map(str, owners)), frozenset(map(str, sessions)))
