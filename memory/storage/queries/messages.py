"""Messages as nodes of a session's tree."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Collection
from datetime import datetime
from typing import Any

from memory.clock import micros, moment
from memory.entities import Message, MessagePatch, MessageStatus, NewMessage, Node
from memory.errors import MessageNotFound, SessionNotFound
from memory.storage.connection import Connection
from memory.storage.values import new_id, pack_tokens, storable, unpack_tokens
from models.messages import Role

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


def get(conn: Connection, message_id: str) -> Message:
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
    row = conn.execute("SELECT head_id FROM sessions WHERE id = ?", (session_id,)).fetchone()
    if row is None:
        raise SessionNotFound(session_id)
    return None if row[0] is None else str(row[0])


def insert(
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


def update(conn: Connection, message_id: str, patch: MessagePatch, now: datetime) -> Message:
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
    message = get(conn, message_id)
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
    # Many nodes per row: between two rows, other work of the process gets its turn.
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


def settle_interrupted(conn: Connection) -> int:
    """Marks replies that a crash cut off as `partial`, or as `failed` if empty. Returns how many."""
    changed = conn.execute(
        """
        UPDATE messages SET status = CASE WHEN content = '' THEN 'failed' ELSE 'partial' END
        WHERE status = 'streaming'
        """
    ).rowcount
    return int(changed)
