"""In which replies memories served, and up to where sessions have been learned from."""

import json
from collections.abc import Collection
from datetime import datetime

from memory.clock import micros, moment
from memory.errors import MessageNotFound
from memory.memories.entities import MemoryUse, Unlearned, UseKind
from memory.storage.connection import Connection
from memory.storage.queries import sessions
from memory.storage.queries.memories import require


def use(
    conn: Connection,
    memory_ids: Collection[str],
    *,
    reply_id: str,
    session_id: str,
    how: UseKind,
    now: datetime,
) -> None:
    """Memories that are gone are left out. Raises `MessageNotFound`."""
    reply = conn.execute(
        "SELECT 1 FROM messages WHERE id = ? AND session_id = ?", (reply_id, session_id)
    ).fetchone()
    if reply is None:
        raise MessageNotFound(reply_id)
    ids = json.dumps(list(memory_ids))
    if how is not UseKind.RECALLED:
        # Counted before it is noted: once a reply, however often it was of use there.
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
    """The latest first. Raises `MemoryNotFound`."""
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


# A place in the index is passed over without a look at its row.
_SAID_SINCE = """
    SELECT m.seq, m.id FROM messages AS m
    WHERE m.session_id = ? AND m.seq > ? AND m.role = 'user' AND m.status IN ('complete', 'partial')
        AND trim(m.content, char(9, 10, 13, 32)) <> ''
"""


def unlearned(conn: Connection, limit: int, session: str | None) -> list[Unlearned]:
    """The session that was used last first."""
    places = conn.execute(
        """
        SELECT s.id, coalesce(l.seq, 0) FROM sessions AS s LEFT JOIN learned AS l ON l.session_id = s.id
        WHERE s.memory_mode = 'normal' AND s.deleted_at IS NULL AND (?1 IS NULL OR s.id = ?1)
        ORDER BY s.updated_at DESC, s.id DESC
        """,
        (session,),
    ).fetchall()
    found: list[Unlearned] = []
    for session_id, seq in places:
        if len(found) >= limit:
            break
        said = conn.execute(f"{_SAID_SINCE} ORDER BY m.seq", (session_id, seq)).fetchall()
        if said:
            found.append(Unlearned(session_id, said[-1][0], tuple(row[1] for row in said)))
    return found


def mark_learned(conn: Connection, session_id: str, seq: int) -> None:
    """Raises `SessionNotFound`."""
    sessions.require(conn, session_id)
    conn.execute(
        """
        INSERT INTO learned (session_id, seq) VALUES (?, ?)
        ON CONFLICT (session_id) DO UPDATE SET seq = max(seq, excluded.seq)
        """,
        (session_id, seq),
    )
