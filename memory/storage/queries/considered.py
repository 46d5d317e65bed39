"""What was looked at for the prompts of replies."""

import json
from collections.abc import Sequence

from memory.context.decisions import Outcome, RecallDecision
from memory.storage.connection import Connection


def put(conn: Connection, session_id: str, reply_id: str, found: Sequence[RecallDecision]) -> None:
    """In place of what was kept for that reply. What has gone meanwhile is left out."""
    conn.execute("DELETE FROM considered WHERE reply_id = ?", (reply_id,))
    conn.executemany(
        """
        INSERT INTO considered (reply_id, position, session_id, kind, item_id, fate, score, parts)
        SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE
            EXISTS (SELECT 1 FROM messages WHERE id = ?5 AND content <> '')
            OR EXISTS (SELECT 1 FROM memories WHERE id = ?5) OR EXISTS (SELECT 1 FROM summaries WHERE id = ?5)
        """,
        [
            (
                reply_id,
                position,
                session_id,
                one.kind,
                one.id,
                one.fate,
                one.score,
                json.dumps({name: round(part, 6) for name, part in one.parts.items()}),
            )
            for position, one in enumerate(found)
        ],
    )


def of_reply(conn: Connection, reply_id: str) -> list[RecallDecision]:
    """In the order in which they were ranked."""
    rows = conn.execute(
        """
        SELECT kind, item_id, fate, score, parts FROM considered WHERE reply_id = ? ORDER BY position
        """,
        (reply_id,),
    )
    return [
        RecallDecision(kind, item, Outcome(fate), score, json.loads(parts))
        for kind, item, fate, score, parts in rows
    ]


def naming(conn: Connection, item_id: str, limit: int) -> list[tuple[str, RecallDecision]]:
    """Replies for which it was looked at, the latest first, and what became of it."""
    rows = conn.execute(
        """
        SELECT reply_id, kind, item_id, fate, score, parts FROM considered
        WHERE item_id = ? ORDER BY reply_id DESC LIMIT ?
        """,
        (item_id, limit),
    )
    return [
        (reply, RecallDecision(kind, item, Outcome(fate), score, json.loads(parts)))
        for reply, kind, item, fate, score, parts in rows
    ]
