"""Sessions and the trees of their messages as rows."""

import json
from collections.abc import Collection
from datetime import datetime
from typing import Any

from memory.clock import micros, moment
from memory.entities import (
    CategorySource,
    MemoryMode,
    Message,
    MessagePatch,
    MessageStatus,
    NewMessage,
    NewSession,
    Node,
    RoomKind,
    Session,
    SessionPatch,
    TitleSource,
)
from memory.errors import AmbiguousId, MessageNotFound, SessionNotFound
from memory.storage.connection import (
    Connection,
    fold,
    id_range,
    in_folded,
    new_id,
    one_line,
    pack_tokens,
    storable,
    unpack_tokens,
)
from memory.storage.queries.projects import project_id as known_project
from memory.storage.queries.projects import project_named
from memory.storage.words import beginnings, prefix_expression
from models.messages import Role

# ruff: noqa: S608  # the names put into SQL are all written in this module


# The message that a head names may be forgotten or in another session on another device. The latest message
# then takes its place; the column stays empty, so that all devices show the same.
_HEAD = """
    coalesce(s.head_id, CASE WHEN s.message_count > 0 THEN (
        SELECT id FROM messages WHERE session_id = s.id ORDER BY created_at DESC, id DESC LIMIT 1
    ) END)
"""
_COLUMNS = f"""
    s.id, s.title, s.title_source, s.memory_mode, s.created_at, s.updated_at, p.name, s.system_prompt,
    s.model, {_HEAD}, s.starred, s.important, s.deleted_at, s.external_id, s.message_count,
    (SELECT json_group_array(tag ORDER BY tag) FROM session_tags WHERE session_id = s.id),
    s.archived_at, s.pinned_at, s.category, s.category_source
"""
_FROM = "sessions AS s LEFT JOIN projects AS p ON p.id = s.project_id"
_FROM_PINNED = _FROM.replace("AS s", "AS s INDEXED BY sessions_pinned")


def _session(row: Any, room: RoomKind) -> Session:
    return Session(
        id=row[0],
        title=row[1],
        title_source=TitleSource(row[2]),
        room=room,
        memory_mode=MemoryMode(row[3]),
        created_at=moment(row[4]),
        updated_at=moment(row[5]),
        project=row[6],
        system_prompt=row[7],
        model=row[8],
        head_id=row[9],
        starred=bool(row[10]),
        important=bool(row[11]),
        deleted_at=None if row[12] is None else moment(row[12]),
        external_id=row[13],
        message_count=row[14],
        tags=() if row[15] == "[]" else tuple(json.loads(row[15])),
        archived_at=None if row[16] is None else moment(row[16]),
        pinned_at=None if row[17] is None else moment(row[17]),
        category=row[18],
        category_source=CategorySource(row[19]),
    )


def resolve(conn: Connection, ref: str) -> str:
    """Returns the full id for `ref`: an id, a unique prefix of one, or `last`.

    Raises `SessionNotFound`, `AmbiguousId`.
    """
    if ref.strip().lower() == "last":
        row = conn.execute(
            """
            SELECT id FROM sessions WHERE deleted_at IS NULL AND archived_at IS NULL
            ORDER BY updated_at DESC, id DESC LIMIT 1
            """
        ).fetchone()
        if row is None:
            raise SessionNotFound(ref)
        return str(row[0])
    span = id_range(ref)
    if span is None:
        raise SessionNotFound(ref)
    matches, found = conn.execute(
        "SELECT count(*), min(id) FROM sessions WHERE id BETWEEN ? AND ?", span
    ).fetchone()
    if matches == 0:
        raise SessionNotFound(ref)
    if matches > 1:
        raise AmbiguousId(ref, matches)
    return str(found)


def get(conn: Connection, session_id: str, room: RoomKind) -> Session:
    """Returns one session. Raises `SessionNotFound`."""
    row = conn.execute(f"SELECT {_COLUMNS} FROM {_FROM} WHERE s.id = ?", (session_id,)).fetchone()
    if row is None:
        raise SessionNotFound(session_id)
    return _session(row, room)


def require(conn: Connection, session_id: str) -> None:
    """Raises `SessionNotFound` unless there is such a session."""
    if conn.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone() is None:
        raise SessionNotFound(session_id)


def insert(conn: Connection, new: NewSession, now: datetime) -> str:
    """Stores a session without messages, and its project if that is new; returns the session's id."""
    session_id = new_id()
    project_id = None
    if new.project is not None:
        project_id = known_project(conn, new.project) or project_named(conn, new.project, now)
    conn.execute(
        """
        INSERT INTO sessions
            (id, project_id, title, title_source, memory_mode, system_prompt, model, created_at, updated_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            session_id,
            project_id,
            one_line(new.title),
            new.title_source.value,
            new.memory_mode.value,
            None if new.system_prompt is None else storable(new.system_prompt),
            new.model,
            micros(now),
            micros(now),
        ),
    )
    return session_id


def select(
    conn: Connection,
    room: RoomKind,
    *,
    limit: int | None,
    offset: int,
    binned: bool,
    containing: str,
    archived: bool | None = False,
) -> list[Session]:
    """Returns sessions, pinned ones first, each group latest used first.

    Every word of `containing` must be in the title, or all of them in one message. Archived sessions are
    included with `containing`, or if `archived` is None.
    """
    where = ["s.deleted_at IS NOT NULL" if binned else "s.deleted_at IS NULL"]
    parameters: list[object] = []
    if archived:
        where.append("s.archived_at IS NOT NULL")
    elif archived is False and not binned and not containing.strip():
        where.append("s.archived_at IS NULL")
    if containing.strip():
        condition, values = _containing(containing)
        where.append(condition)
        parameters += values
    left, skip = -1 if limit is None else max(limit, 0), max(offset, 0)
    if binned or archived:
        return _page(conn, room, where, parameters, left, skip)
    # Pinned sessions have a separate index, and sorting by it would keep the others from using theirs.
    pinned = _page(conn, room, [*where, "s.pinned_at IS NOT NULL"], parameters, -1, 0, _FROM_PINNED)
    found = pinned[skip:] if left < 0 else pinned[skip : skip + left]
    if 0 <= left <= len(found):
        return found
    rest = left if left < 0 else left - len(found)
    unpinned = [*where, "s.pinned_at IS NULL"]
    return found + _page(conn, room, unpinned, parameters, rest, max(skip - len(pinned), 0))


def _page(
    conn: Connection,
    room: RoomKind,
    where: list[str],
    parameters: list[object],
    limit: int,
    offset: int,
    source: str = _FROM,
) -> list[Session]:
    rows = conn.execute(
        f"""
        SELECT {_COLUMNS} FROM {source} WHERE {" AND ".join(where)}
        ORDER BY s.updated_at DESC, s.id DESC LIMIT ? OFFSET ?
        """,
        (*parameters, limit, offset),
    )
    return [_session(row, room) for row in rows]


def _containing(text: str) -> tuple[str, list[object]]:
    pieces = [fold(storable(piece)) for piece in text.split()]
    condition = " AND ".join(f"{in_folded('s.title')} > 0" for _ in pieces)
    values: list[object] = list(pieces)
    if beginnings(text):
        condition = f"""
            ({condition} OR s.id IN (
                SELECT m.session_id FROM messages_fts AS f JOIN messages AS m ON m.seq = f.rowid
                WHERE messages_fts MATCH ?
            ))
        """
        values.append(prefix_expression(text))
    return f"({condition})", values


def update(conn: Connection, session_id: str, patch: SessionPatch) -> None:
    """Changes the given fields; the time of last use stays. Raises `SessionNotFound`."""
    changes: dict[str, object] = {}
    if patch.title is not None:
        changes["title"] = one_line(patch.title)
    if patch.title_source is not None:
        changes["title_source"] = patch.title_source.value
    if patch.memory_mode is not None:
        changes["memory_mode"] = patch.memory_mode.value
        if patch.memory_mode is MemoryMode.NORMAL:
            # Messages from a time when nothing was to be added to memory are not learned from later either.
            count_as_learned(conn, session_id, but_in="normal")
    if patch.system_prompt is not None:
        changes["system_prompt"] = storable(patch.system_prompt)
    if patch.model is not None:
        changes["model"] = patch.model
    if patch.starred is not None:
        changes["starred"] = int(patch.starred)
    if patch.important is not None:
        changes["important"] = int(patch.important)
    set_columns(conn, session_id, changes)


def count_as_learned(conn: Connection, session_id: str, *, but_in: str = "") -> None:
    """Marks the session's current messages as learned from, unless its memory mode is `but_in`."""
    conn.execute(
        """
        INSERT INTO learned (session_id, seq)
        SELECT s.id, max(m.seq) FROM sessions AS s JOIN messages AS m ON m.session_id = s.id
        WHERE s.id = ? AND s.memory_mode <> ? GROUP BY s.id
        ON CONFLICT (session_id) DO UPDATE SET seq = max(seq, excluded.seq)
        """,
        (session_id, but_in),
    )


def set_columns(conn: Connection, session_id: str, changes: dict[str, object]) -> None:
    """Sets columns, whose names come from this package, never from data. Raises `SessionNotFound`."""
    assignments = ", ".join(f"{column} = ?" for column in changes) or "id = id"
    changed = conn.execute(
        f"UPDATE sessions SET {assignments} WHERE id = ?", (*changes.values(), session_id)
    ).rowcount
    if changed == 0:
        raise SessionNotFound(session_id)


def untitled(conn: Connection, limit: int) -> list[str]:
    """Returns ids of sessions with a finished reply and their first words as title, latest used first."""
    rows = conn.execute(
        """
        SELECT s.id FROM sessions AS s
        WHERE s.title_source = 'first_words' AND s.deleted_at IS NULL AND EXISTS (
            SELECT 1 FROM messages AS m
            WHERE m.session_id = s.id AND m.role = 'assistant' AND m.status = 'complete'
        )
        ORDER BY s.updated_at DESC, s.id DESC LIMIT ?
        """,
        (max(limit, 0),),
    )
    return [str(row[0]) for row in rows]


# ruff: noqa: S608  # the names put into SQL are all written in this module


COLUMNS = """
    m.id, m.session_id, m.parent_id, m.role, m.speaker, m.content, m.created_at, m.status, m.stop_reason,
    m.important, m.model, m.tokens, m.token_model, m.external_id, m.preface
"""
_ENDLESS = 2**62
WIDTH = 15


def message_of(row: Any) -> Message:
    """Builds a message from a row that begins with `COLUMNS`."""
    return Message(
        id=row[0],
        session_id=row[1],
        parent_id=row[2],
        role=Role(row[3]),
        speaker=row[4],
        content=row[5],
        created_at=moment(row[6]),
        status=MessageStatus(row[7]),
        stop_reason=row[8],
        important=bool(row[9]),
        model=row[10],
        tokens=unpack_tokens(row[11]),
        token_model=row[12],
        external_id=row[13],
        preface=row[14],
    )


def get_message(conn: Connection, message_id: str) -> Message:
    """Returns one message. Raises `MessageNotFound`."""
    row = conn.execute(f"SELECT {COLUMNS} FROM messages AS m WHERE m.id = ?", (message_id,)).fetchone()
    if row is None:
        raise MessageNotFound(message_id)
    return message_of(row)


def require_in(conn: Connection, session_id: str, message_id: str) -> None:
    """Raises `MessageNotFound` unless the message is one of the session's."""
    row = conn.execute(
        "SELECT 1 FROM messages WHERE session_id = ? AND id = ?", (session_id, message_id)
    ).fetchone()
    if row is None:
        raise MessageNotFound(message_id)


def head_of(conn: Connection, session_id: str) -> str | None:
    """Returns the id of a session's head, or None if it has none. Raises `SessionNotFound`."""
    row = conn.execute(f"SELECT {_HEAD} FROM sessions AS s WHERE s.id = ?", (session_id,)).fetchone()
    if row is None:
        raise SessionNotFound(session_id)
    return None if row[0] is None else str(row[0])


def insert_message(
    conn: Connection, session_id: str, parent_id: str | None, new: NewMessage, now: datetime
) -> Message:
    """Stores a message below `parent_id`; makes it the session's head and its time the session's last use."""
    message = Message(
        id=new_id(),
        session_id=session_id,
        parent_id=parent_id,
        role=new.role,
        speaker=storable(new.speaker),
        content=storable(new.content),
        created_at=moment(micros(now)),
        status=new.status,
        model=new.model,
    )
    conn.execute(
        """
        INSERT INTO messages (id, session_id, parent_id, role, speaker, content, created_at, status, model)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            message.id,
            session_id,
            parent_id,
            message.role.value,
            message.speaker,
            message.content,
            micros(now),
            message.status.value,
            message.model,
        ),
    )
    conn.execute(
        "UPDATE sessions SET head_id = ?, updated_at = ? WHERE id = ?", (message.id, micros(now), session_id)
    )
    return message


def update_message(conn: Connection, message_id: str, patch: MessagePatch, now: datetime) -> Message:
    """Changes the given fields; a change of status counts as a use of the session.

    Raises `MessageNotFound`.
    """
    changes: dict[str, object] = {}
    if patch.content is not None:
        changes["content"] = storable(patch.content)
    if patch.status is not None:
        changes["status"] = patch.status.value
    if patch.stop_reason is not None:
        changes["stop_reason"] = patch.stop_reason
    if patch.tokens is not None:
        changes["tokens"] = pack_tokens(patch.tokens)
    if patch.token_model is not None:
        changes["token_model"] = patch.token_model
    if patch.model is not None:
        changes["model"] = patch.model
    if patch.important is not None:
        changes["important"] = int(patch.important)
    if patch.preface is not None:
        changes["preface"] = storable(patch.preface)
    if changes:
        assignments = ", ".join(f"{column} = ?" for column in changes)
        conn.execute(f"UPDATE messages SET {assignments} WHERE id = ?", (*changes.values(), message_id))
    message = get_message(conn, message_id)
    if patch.status is not None:
        conn.execute("UPDATE sessions SET updated_at = ? WHERE id = ?", (micros(now), message.session_id))
    return message


def branch(
    conn: Connection,
    session_id: str,
    leaf_id: str,
    since: Collection[str] = (),
    newest: int | None = None,
) -> list[Message]:
    """Returns the messages from the root, or the newest of `since` on the way, to `leaf_id`, oldest first.

    At most `newest` (≥ 1) messages. Empty if the session has no such message. A parent is always stored
    before its children. The walk requires that, so it ends even in a damaged tree.
    """
    rows = conn.execute(
        f"""
        WITH RECURSIVE path (seq, id, parent_id, depth) AS (
            SELECT seq, id, parent_id, 0 FROM messages WHERE session_id = ? AND id = ?
            UNION ALL
            SELECT up.seq, up.id, up.parent_id, path.depth + 1
            FROM path JOIN messages AS up ON up.id = path.parent_id AND up.seq < path.seq
            WHERE path.id NOT IN (SELECT value FROM json_each(?)) AND path.depth + 1 < ?
        )
        SELECT {COLUMNS} FROM path JOIN messages AS m ON m.seq = path.seq ORDER BY path.depth DESC
        """,
        (session_id, leaf_id, json.dumps(list(since)), _ENDLESS if newest is None else newest),
    )
    return [message_of(row) for row in rows]


def outline(conn: Connection, session_id: str, excerpt: int = 0) -> list[Node]:
    """Returns all messages of a session as stored, with their first `excerpt` characters.

    Raises `SessionNotFound`.
    """
    head_of(conn, session_id)
    roles = {role.value: role for role in Role}
    if excerpt:
        rows = conn.execute(
            """
            SELECT id, parent_id, role, substr(content, 1, ?) FROM messages WHERE session_id = ? ORDER BY seq
            """,
            (excerpt, session_id),
        )
        return [Node(row[0], row[1], roles[row[2]], row[3]) for row in rows]
    # Many nodes per row: between two rows, other work of the process can run.
    rows = conn.execute(
        """
        SELECT json_group_array(json_array(id, parent_id, role) ORDER BY seq)
        FROM (
            SELECT seq, id, parent_id, role, row_number() OVER (ORDER BY seq) / 500 AS part
            FROM messages WHERE session_id = ?
        )
        GROUP BY part ORDER BY part
        """,
        (session_id,),
    )
    return [Node(id_, parent, roles[role]) for (part,) in rows for id_, parent, role in json.loads(part)]


def variants(conn: Connection, message: Message) -> list[Message]:
    """Returns the message and its siblings of the same role, oldest first."""
    rows = conn.execute(
        f"""
        SELECT {COLUMNS} FROM messages AS m
        WHERE m.session_id = ? AND m.parent_id IS ? AND m.role = ? ORDER BY m.seq
        """,
        (message.session_id, message.parent_id, message.role.value),
    )
    return [message_of(row) for row in rows]


def settle_interrupted(conn: Connection) -> str | None:
    """Marks replies that a crash cut off as `partial`, or as `failed` if empty.

    Returns the session of the newest of them; None if there were none, or it is in the bin.
    """
    newest = conn.execute(
        """
        SELECT m.session_id FROM messages AS m JOIN sessions AS s ON s.id = m.session_id
        WHERE m.status = 'streaming' AND s.deleted_at IS NULL ORDER BY m.seq DESC LIMIT 1
        """
    ).fetchone()
    conn.execute(
        """
        UPDATE messages SET status = CASE WHEN content = '' THEN 'failed' ELSE 'partial' END
        WHERE status = 'streaming'
        """
    )
    return None if newest is None else str(newest[0])
