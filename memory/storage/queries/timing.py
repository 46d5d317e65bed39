"""How fast replies came: kept among the remembered results, by the reply, without a word of it."""

import hashlib
import json

from memory.clock import micros, moment
from memory.insights.entities import Timed
from memory.storage.connection import Connection

TIMING = "timing"


def note(conn: Connection, session_id: str, timed: Timed) -> None:
    text = json.dumps(
        [
            timed.message_id,
            timed.model,
            round(timed.first_token_ms, 1),
            round(timed.tokens_per_second, 2),
            timed.prompt_tokens,
            timed.completion_tokens,
        ]
    )
    conn.execute(
        """
        INSERT INTO job_results (kind, hash, session_id, result, created_at) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (kind, hash) DO UPDATE SET result = excluded.result, created_at = excluded.created_at
        """,
        (TIMING, hashlib.sha256(timed.message_id.encode()).digest(), session_id, text, micros(timed.at)),
    )


def select(conn: Connection, since: int | None, limit: int) -> list[Timed]:
    """The latest `limit`, the earliest first; of sessions outside the bin."""
    rows = conn.execute(
        """
        SELECT result, created_at FROM job_results
        WHERE kind = ? AND created_at >= ?
            AND session_id NOT IN (SELECT id FROM sessions WHERE deleted_at IS NOT NULL)
        ORDER BY created_at DESC LIMIT ?
        """,
        (TIMING, since or 0, max(limit, 0)),
    ).fetchall()
    found = []
    for text, at in reversed(rows):
        message, model, first, speed, read, written = json.loads(text)
        found.append(Timed(message, model, moment(at), first, speed, read, written))
    return found
