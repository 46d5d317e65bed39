"""What leads from one session to others, and from a memory to sessions, by the rows between them."""

from memory.clock import moment
from memory.memories.wording import reading
from memory.organising.links import Backlink, SharedMemory
from memory.storage.connection import Connection

# Everything that ties a memory to a session, learned or served.
_TIES = """
    SELECT memory_id, session_id FROM memory_sources
    UNION SELECT memory_id, session_id FROM memory_uses WHERE how <> 'recalled'
"""
_MOST = 500


def shared(conn: Connection, session_id: str) -> list[SharedMemory]:
    """What merely was recalled ties nothing: most of what is recalled is not used."""
    rows = conn.execute(
        f"""
        WITH own (memory_id) AS (
            SELECT memory_id FROM memory_sources WHERE session_id = ?1
            UNION SELECT memory_id FROM memory_uses WHERE session_id = ?1 AND how <> 'recalled'
        )
        SELECT t.session_id, m.id, m.subject, m.text
        FROM ({_TIES}) AS t JOIN own ON own.memory_id = t.memory_id
        JOIN memories AS m ON m.id = t.memory_id
        JOIN sessions AS s ON s.id = t.session_id
        WHERE t.session_id <> ?1 AND s.deleted_at IS NULL AND m.state IN ('inbox', 'kept')
        ORDER BY t.session_id, m.seq LIMIT {_MOST}
        """,  # noqa: S608 - written in this module
        (session_id,),
    )
    return [SharedMemory(other, own, reading(subject, text)) for other, own, subject, text in rows]


def backlinks(conn: Connection, memory_id: str) -> list[Backlink]:
    rows = conn.execute(
        """
        SELECT r.session_id, s.title, 'learned', m.id, min(m.created_at), count(*)
        FROM memory_sources AS r
        JOIN messages AS m ON m.id = r.message_id AND m.session_id = r.session_id
        JOIN sessions AS s ON s.id = r.session_id
        WHERE r.memory_id = ?1 AND s.deleted_at IS NULL GROUP BY r.session_id
        UNION ALL
        SELECT u.session_id, s.title,
            CASE max(CASE u.how WHEN 'opened' THEN 4 WHEN 'confirmed' THEN 3 WHEN 'cited' THEN 2 ELSE 1 END)
                WHEN 4 THEN 'opened' WHEN 3 THEN 'confirmed' WHEN 2 THEN 'cited' ELSE 'recalled' END,
            u.reply_id, min(u.used_at), count(DISTINCT u.reply_id)
        FROM memory_uses AS u JOIN sessions AS s ON s.id = u.session_id
        WHERE u.memory_id = ?1 AND s.deleted_at IS NULL GROUP BY u.session_id
        """,
        (memory_id,),
    ).fetchall()
    rows.sort(key=lambda row: (row[2] != "learned", row[4], row[0]))
    return [
        Backlink(session, title, how, message, moment(at), count)
        for session, title, how, message, at, count in rows
    ]
