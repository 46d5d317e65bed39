"""Messages that say the very same as those that are erased: what stands elsewhere is not gone."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Collection

from memory.entities import Copy
from memory.storage.connection import Connection
from memory.summaries.passages import LEAST

_LISTED = "(SELECT value FROM json_each(?))"
_LEAST = " ".join(f"WHEN '{role.value}' THEN {least}" for role, least in LEAST.items())
# Equal texts have equally many words, and how many a row has is in a small table of the full-text index: nine
# in ten messages need not be read to see that they say something else.
_EQUAL = f"""
    WITH gone AS MATERIALIZED (
        SELECT m.seq, m.content, d.sz FROM messages AS m JOIN messages_fts_docsize AS d ON d.id = m.seq
        WHERE (m.id IN {_LISTED} OR m.session_id IN {_LISTED})
            AND length(trim(m.content)) >= CASE m.role {_LEAST} END
    )
    SELECT m.seq FROM messages_fts_docsize AS d CROSS JOIN messages AS m ON m.seq = d.id
    WHERE d.sz IN (SELECT sz FROM gone) AND m.content IN (SELECT content FROM gone)
        AND m.seq NOT IN (SELECT seq FROM gone)
"""


def of(conn: Connection, session_ids: Collection[str], message_ids: Collection[str]) -> list[int]:
    """Rows of messages, of none of these sessions and none of these themselves, that say the same as one of
    them. Ask before they are erased, and `left` afterwards."""
    if not (session_ids or message_ids):
        return []
    names = (json.dumps(list(message_ids)), json.dumps(list(session_ids)))
    return [row[0] for row in conn.execute(_EQUAL, names)]


def left(conn: Connection, rows: Collection[int]) -> tuple[Copy, ...]:
    """The sessions in which these messages still say something, the one used last first."""
    return _told(
        conn,
        f"""
        SELECT id, title, deleted_at IS NOT NULL FROM sessions
        WHERE id IN (SELECT session_id FROM messages WHERE seq IN {_LISTED} AND content <> '')
        ORDER BY updated_at DESC, id DESC
        """,
        rows,
    )


def titled(conn: Connection, session_ids: Collection[str]) -> tuple[Copy, ...]:
    """Those of the sessions that are there and have a title still."""
    return _told(
        conn,
        f"""
        SELECT id, title, deleted_at IS NOT NULL FROM sessions WHERE id IN {_LISTED} AND title <> ''
        ORDER BY updated_at DESC, id DESC
        """,
        session_ids,
    )


def _told(conn: Connection, sql: str, listed: Collection[object]) -> tuple[Copy, ...]:
    found = conn.execute(sql, (json.dumps(list(listed)),))
    return tuple(Copy(session_id, title, bool(binned)) for session_id, title, binned in found)
