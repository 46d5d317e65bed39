"""Memories as rows: lookup, storage, uses, and the log of their changes."""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from memory.clock import micros, moment
from memory.errors import AmbiguousId, CannotUndo, ChangeNotFound, MemoryNotFound, MessageNotFound
from memory.memories.entities import (
    FINDABLE,
    Memory,
    MemoryChange,
    MemoryCounts,
    MemoryFilter,
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemorySource,
    MemoryState,
    MemoryTier,
    MemoryUse,
    MemoryVersion,
    NewMemory,
    Unlearned,
    Unset,
    UseKind,
)
from memory.storage.connection import Connection, fold, id_range, new_id, storable
from memory.storage.queries import sessions
from memory.storage.queries.context import names_one_of
from memory.storage.queries.projects import project_id as known_project
from memory.storage.queries.projects import project_named
from memory.storage.words import Term, beginnings, is_unspaced

# ruff: noqa: S608  # the names put into SQL are all written in this module


_TEXT = "m.subject || ' ' || m.text"
_LEAST_PIECE = 3


def containing(text: str) -> tuple[str, list[object]]:
    """Returns a condition on `memories AS m`: every word of `text` begins a word of the memory.

    Also returns its parameters. Words of scripts without spaces may be anywhere. The index of pieces leads to
    the few memories that are checked. Memories that are not in it, because they are no longer findable, are
    all checked.
    """
    words = beginnings(text)
    if not words:
        return "0", []
    conditions: list[str] = []
    parameters: list[object] = []
    long = [word for word in words if len(word) >= _LEAST_PIECE]
    if long:
        conditions.append(
            """
            (m.state NOT IN ('inbox', 'kept')
                OR m.seq IN (SELECT rowid FROM memories_pieces WHERE memories_pieces MATCH ?))
            """
        )
        parameters.append(" AND ".join(Term(word).fts() for word in long))
    for word in words:
        unspaced = is_unspaced(word)
        conditions.append(f"instr({'fold' if unspaced else 'spaced'}({_TEXT}), ?) > 0")
        parameters.append(fold(word) if unspaced else f" {fold(word)}")
    return "(" + " AND ".join(conditions) + ")", parameters


def said_at(conn: Connection, memory_ids: Collection[str]) -> dict[str, datetime]:
    """Returns, by memory, when the newest message that it is based on was written."""
    rows = conn.execute(
        """
        SELECT s.memory_id, max(m.created_at) FROM memory_sources AS s
        JOIN messages AS m ON m.id = s.message_id AND m.session_id = s.session_id
        WHERE s.memory_id IN (SELECT value FROM json_each(?)) GROUP BY s.memory_id
        """,
        (json.dumps(list(memory_ids)),),
    )
    return {memory_id: moment(at) for memory_id, at in rows}


_COLUMNS = """
    m.id, m.kind, m.tier, m.state, m.origin, m.subject, m.text, m.confidence, m.importance, m.created_at,
    m.updated_at, m.pinned, m.version, m.uses, m.used_at, m.valid_from, m.valid_until, m.expires_at,
    m.superseded_by, p.name, m.model, m.proposed_by
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
        proposed_by=row[21],
    )


def _moment(value: int | None) -> datetime | None:
    return None if value is None else moment(value)


def _micros(value: datetime | None) -> int | None:
    return None if value is None else micros(value)


# --- finding ---------------------------------------------------------------------------------------


def resolve(conn: Connection, ref: str) -> str:
    """Returns the full id for `ref` (an id or a unique prefix of one).

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
    """Returns one memory. Raises `MemoryNotFound`."""
    row = conn.execute(f"SELECT {_COLUMNS} FROM {_FROM} WHERE m.id = ?", (memory_id,)).fetchone()
    if row is None:
        raise MemoryNotFound(memory_id)
    return _memory(row)


def require(conn: Connection, memory_id: str) -> None:
    """Raises `MemoryNotFound` unless there is such a memory."""
    if conn.execute("SELECT 1 FROM memories WHERE id = ?", (memory_id,)).fetchone() is None:
        raise MemoryNotFound(memory_id)


def get_many(conn: Connection, ids: Sequence[str]) -> list[Memory]:
    """Returns memories in the requested order; deleted ones are left out."""
    found = {
        one.id: one for one in _where(conn, "m.id IN (SELECT value FROM json_each(?))", json.dumps(list(ids)))
    }
    return [found[one] for one in dict.fromkeys(ids) if one in found]


def select(conn: Connection, wanted: MemoryFilter, limit: int | None, offset: int) -> list[Memory]:
    """Returns memories, pinned ones first, then the latest changed first."""
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
            SELECT memory_id FROM memory_sources WHERE message_id IN (SELECT value FROM json_each(?1))
            UNION
            SELECT memory_id FROM memory_note_sources WHERE document_id IN (SELECT value FROM json_each(?1))
        ) ORDER BY m.seq
        """,
        json.dumps(list(message_ids)),
    )


def parts(conn: Connection, memory_id: str) -> list[Memory]:
    """Returns the memories that a merged one was made from, oldest first. Raises `MemoryNotFound`."""
    require(conn, memory_id)
    where = "m.id IN (SELECT part_id FROM memory_parts WHERE memory_id = ?) ORDER BY m.seq"
    return _where(conn, where, memory_id)


def replaced_by(conn: Connection, ids: Collection[str]) -> list[Memory]:
    """Returns the memories that others, with these ids, have superseded."""
    where = "m.superseded_by IN (SELECT value FROM json_each(?)) ORDER BY m.seq"
    return _where(conn, where, json.dumps(list(ids)))


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
    """Stores a memory with its sources and parts, and its project if that is new; returns the memory's id.

    A new id is made if none is given. Raises `MessageNotFound`.
    """
    memory_id, at = memory_id or new_id(), micros(now)
    project = None
    if new.project is not None:
        project = known_project(conn, new.project) or project_named(conn, new.project, now)
    conn.execute(
        """
        INSERT INTO memories (
            id, kind, tier, state, origin, subject, text, confidence, importance, pinned, valid_from,
            valid_until, expires_at, project_id, model, own_words, worded_at, created_at, updated_at,
            proposed_by
        ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
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
            new.proposed_by,
        ),
    )
    add_sources(conn, memory_id, new.sources)
    conn.executemany(
        "INSERT OR IGNORE INTO memory_parts (memory_id, part_id) VALUES (?, ?)",
        [(memory_id, part) for part in new.parts],
    )
    # A session that has been deleted by now does not prevent the memory from being stored.
    conn.execute(
        "INSERT INTO memory_kept_in (memory_id, session_id) SELECT ?, id FROM sessions WHERE id = ?",
        (memory_id, new.kept_in),
    )
    return memory_id


def add_sources(conn: Connection, memory_id: str, sources: Sequence[MemorySource]) -> int:
    """Adds sources and returns how many were new. Raises `MessageNotFound`."""
    added = 0
    for source in sources:
        if not source.session_id:
            added += _add_note(conn, memory_id, source)
            continue
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


def _add_note(conn: Connection, memory_id: str, source: MemorySource) -> int:
    """Adds a note as a source; one that no longer exists is left out."""
    return int(
        conn.execute(
            """
            INSERT OR IGNORE INTO memory_note_sources (memory_id, document_id, quote)
            SELECT ?, document_id, ? FROM notes WHERE document_id = ?
            """,
            (memory_id, storable(source.quote), source.message_id),
        ).rowcount
    )


def set_columns(conn: Connection, memory_ids: Collection[str], changes: dict[str, object]) -> None:
    """Sets columns, whose names come from this package, never from data."""
    if changes:
        assignments = ", ".join(f"{column} = ?" for column in changes)
        conn.execute(
            f"UPDATE memories SET {assignments} WHERE id IN (SELECT value FROM json_each(?))",
            (*changes.values(), json.dumps(list(memory_ids))),
        )


def sources(conn: Connection, memory_id: str) -> list[MemorySource]:
    """Returns the sources of a memory: messages, the oldest first, then notes. Raises `MemoryNotFound`."""
    require(conn, memory_id)
    rows = conn.execute(
        """
        SELECT s.message_id, s.session_id, s.quote FROM memory_sources AS s
        JOIN messages AS m ON m.id = s.message_id AND m.session_id = s.session_id
        WHERE s.memory_id = ? ORDER BY m.created_at, m.seq
        """,
        (memory_id,),
    )
    notes = conn.execute(
        """
        SELECT s.document_id, '', s.quote FROM memory_note_sources AS s
        JOIN notes AS n ON n.document_id = s.document_id
        WHERE s.memory_id = ? ORDER BY n.created_at, n.document_id
        """,
        (memory_id,),
    )
    return [MemorySource(*row) for row in (*rows.fetchall(), *notes.fetchall())]


def versions(conn: Connection, memory_id: str) -> list[MemoryVersion]:
    """Returns the earlier versions of a memory, oldest first. Raises `MemoryNotFound`."""
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


KEPT_VERSIONS = 10
"""Earlier versions of a procedure that are kept."""


def apply(conn: Connection, memory_id: str, patch: MemoryPatch, now: datetime) -> None:
    """Applies the patch; does nothing if it changes nothing. Raises `MemoryNotFound`."""
    memory = get(conn, memory_id)
    changes = _columns(memory, patch)
    if not changes:
        return
    if "text" in changes or "subject" in changes:
        conn.execute(
            """
            INSERT INTO memory_versions (memory_id, version, subject, text, created_at)
            SELECT id, version, subject, text, worded_at FROM memories WHERE id = ?
            """,
            (memory_id,),
        )
        changes["version"] = memory.version + 1
        changes["worded_at"] = micros(now)
    if patch.state in FINDABLE:
        changes["superseded_by"] = None
    changes["updated_at"] = micros(now)
    set_columns(conn, [memory_id], changes)
    after = get(conn, memory_id)
    if after.kind is MemoryKind.PROCEDURE or after.tier is MemoryTier.PROCEDURAL:
        conn.execute(
            "DELETE FROM memory_versions WHERE memory_id = ? AND version < ?",
            (memory_id, after.version - KEPT_VERSIONS),
        )


def _columns(memory: Memory, patch: MemoryPatch) -> dict[str, object]:
    """Returns the columns whose values change."""
    changes: dict[str, object] = {}
    for name in ("kind", "tier", "state"):
        value = getattr(patch, name)
        if value is not None and value is not getattr(memory, name):
            changes[name] = value.value
    for name in ("subject", "text"):
        words = getattr(patch, name)
        if words is not None and storable(words) != getattr(memory, name):
            changes[name] = storable(words)
    for name in ("confidence", "importance"):
        number = getattr(patch, name)
        if number is not None and number != getattr(memory, name):
            changes[name] = number
    if patch.pinned is not None and patch.pinned is not memory.pinned:
        changes["pinned"] = int(patch.pinned)
    for name in ("valid_from", "valid_until", "expires_at"):
        at = getattr(patch, name)
        if not isinstance(at, Unset) and _whole(at) != getattr(memory, name):
            changes[name] = None if at is None else micros(at)
    return changes


def _whole(at: datetime | None) -> datetime | None:
    return None if at is None else moment(micros(at))


def use(
    conn: Connection,
    memory_ids: Collection[str],
    *,
    reply_id: str,
    session_id: str,
    how: UseKind,
    now: datetime,
) -> None:
    """Records a use; deleted memories are left out. Raises `MessageNotFound`."""
    reply = conn.execute(
        "SELECT 1 FROM messages WHERE id = ? AND session_id = ?", (reply_id, session_id)
    ).fetchone()
    if reply is None:
        raise MessageNotFound(reply_id)
    ids = json.dumps(list(memory_ids))
    if how is not UseKind.RECALLED:
        # Counted before it is recorded: once per reply, however often it was used there.
        conn.execute(
            """
            UPDATE memories SET uses = uses + 1, used_at = ?
            WHERE id IN (SELECT value FROM json_each(?)) AND NOT EXISTS (
                SELECT 1 FROM memory_uses AS u
                WHERE u.memory_id = memories.id AND u.reply_id = ? AND u.how <> 'recalled'
            )
            """,
            (micros(now), ids, reply_id),
        )
    conn.execute(
        """
        INSERT INTO memory_uses (memory_id, reply_id, session_id, how, used_at)
        SELECT m.id, ?, ?, ?, ? FROM memories AS m WHERE m.id IN (SELECT value FROM json_each(?))
        ON CONFLICT DO NOTHING
        """,
        (reply_id, session_id, how.value, micros(now), ids),
    )


def uses(conn: Connection, memory_id: str) -> list[MemoryUse]:
    """Returns the uses of a memory, latest first. Raises `MemoryNotFound`."""
    require(conn, memory_id)
    rows = conn.execute(
        """
        SELECT reply_id, session_id, how, used_at FROM memory_uses WHERE memory_id = ?
        ORDER BY used_at DESC, reply_id DESC, how
        """,
        (memory_id,),
    )
    return [
        MemoryUse(memory_id, reply, session, UseKind(how), moment(at)) for reply, session, how, at in rows
    ]


def learned_in(conn: Connection, session_ids: Collection[str]) -> list[tuple[str, str]]:
    """Returns sessions and the memories in use that have a source in them, as pairs of ids."""
    rows = conn.execute(
        """
        SELECT DISTINCT s.session_id, s.memory_id FROM memory_sources AS s
        JOIN memories AS m ON m.id = s.memory_id
        WHERE m.state IN ('inbox', 'kept') AND s.session_id IN (SELECT value FROM json_each(?))
        ORDER BY s.memory_id, s.session_id
        """,
        (json.dumps(list(session_ids)),),
    )
    return [(session, memory) for session, memory in rows]


def useful_uses(conn: Connection, memory_ids: Collection[str]) -> dict[str, list[datetime]]:
    """Returns when each memory served in a reply, earliest first; memories that never did are left out.

    Several kinds of use in one reply are one use, at the time of the first.
    """
    found: dict[str, list[datetime]] = {}
    for memory_id, at in conn.execute(
        """
        SELECT memory_id, min(used_at) AS first FROM memory_uses
        WHERE how <> 'recalled' AND memory_id IN (SELECT value FROM json_each(?))
        GROUP BY memory_id, reply_id ORDER BY first
        """,
        (json.dumps(list(memory_ids)),),
    ):
        found.setdefault(memory_id, []).append(moment(at))
    return found


# Index entries up to `seq` are skipped without reading their rows.
_SAID_SINCE = """
    SELECT m.seq, m.id FROM messages AS m
    WHERE m.session_id = ? AND m.seq > ? AND m.role = 'user' AND m.status IN ('complete', 'partial')
        AND trim(m.content, char(9, 10, 13, 32)) <> ''
"""


def unlearned(conn: Connection, limit: int, session: str | None) -> list[Unlearned]:
    """Returns the unlearned messages of sessions, the latest used session first."""
    places = conn.execute(
        """
        SELECT s.id, p.name, coalesce(l.seq, 0)
        FROM sessions AS s
        LEFT JOIN learned AS l ON l.session_id = s.id
        LEFT JOIN projects AS p ON p.id = s.project_id
        WHERE s.memory_mode = 'normal' AND s.deleted_at IS NULL AND (?1 IS NULL OR s.id = ?1)
        ORDER BY s.updated_at DESC, s.id DESC
        """,
        (session,),
    ).fetchall()
    found: list[Unlearned] = []
    for session_id, project, seq in places:
        if len(found) >= limit:
            break
        said = conn.execute(f"{_SAID_SINCE} ORDER BY m.seq", (session_id, seq)).fetchall()
        if said:
            found.append(Unlearned(session_id, project, said[-1][0], tuple(row[1] for row in said)))
    return found


def mark_learned(conn: Connection, session_id: str, seq: int) -> None:
    """Marks a session as learned from up to `seq`. Raises `SessionNotFound`."""
    sessions.require(conn, session_id)
    conn.execute(
        """
        INSERT INTO learned (session_id, seq) VALUES (?, ?)
        ON CONFLICT (session_id) DO UPDATE SET seq = max(seq, excluded.seq)
        """,
        (session_id, seq),
    )


# ruff: noqa: S608  # the names put into SQL are all written in this module


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


def select_changes(conn: Connection, limit: int, memory_id: str | None) -> list[MemoryChange]:
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
