"""Erasing for good, with everything that was made from what is erased."""
# ruff: noqa: S608  # the names put into SQL come from the schema

import json
from collections.abc import Sequence
from dataclasses import replace

from memory.context.entities import Summary, TurnRecord
from memory.entities import Erased
from memory.storage.connection import Connection
from memory.storage.queries import ageing, epochs, messages, sessions

_NAMING = "(instr(key, :id) > 0 OR instr(payload, :id) > 0)"
_COUNTED = {
    "messages": "messages",
    "summaries": "summaries",
    "epochs": "epochs",
    "turns": "turns",
    "vectors": "vectors",
    "jobs": "jobs",
    "results": "job_results",
}


def erase_session(conn: Connection, session_id: str) -> Erased:
    """Deletes a session and all that belongs to it, then looks whether anything is left of it.

    Raises `SessionNotFound`.
    """
    sessions.require(conn, session_id)
    said = conn.execute("SELECT seq, id FROM messages WHERE session_id = ?", (session_id,)).fetchall()
    summed = conn.execute("SELECT id FROM summaries WHERE session_id = ?", (session_id,)).fetchall()
    rows = [row[0] for row in said]
    ids = [session_id, *(row[1] for row in said), *(row[0] for row in summed)]
    counts = {
        name: _count(conn, f"SELECT count(*) FROM {table} WHERE session_id = ?", session_id)
        for name, table in _COUNTED.items()
    }
    indexed = _indexed(conn, "messages_fts_docsize", rows)
    # A job of no session in particular may name this one.
    for_it = conn.execute(f"DELETE FROM jobs WHERE session_id IS NULL AND {_NAMING}", {"id": session_id})
    counts["jobs"] += int(for_it.rowcount)
    conn.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
    recalled_in = _forget_recalled(conn, ids, gone=True)
    left = _left(conn, session_id, ids, rows)
    return Erased(full_text=indexed, verified=left == 0, recalled_in=recalled_in, **counts)


def forget_message(conn: Connection, message_id: str) -> list[Summary]:
    """Empties a message and all that was made from it; returns the summaries that are stale now.

    Raises `MessageNotFound`.
    """
    session_id = messages.get(conn, message_id).session_id
    conn.execute(
        "UPDATE messages SET content = '', preface = '', tokens = NULL, token_model = NULL WHERE id = ?",
        (message_id,),
    )
    conn.execute("DELETE FROM vectors WHERE kind = 'message' AND owner_id = ?", (message_id,))
    # A remembered result may hold its words.
    conn.execute("DELETE FROM job_results WHERE session_id = ?", (session_id,))
    _forget_recalled(conn, [message_id], gone=False)
    aged = ageing.age(conn, [message_id])
    epochs.drop(conn, session_id)
    return aged


def _forget_recalled(conn: Connection, ids: Sequence[str], *, gone: bool) -> tuple[str, ...]:
    """Empties the prefaces in which one of the ids was recalled, and ends the epochs that go on with them.

    With `gone` the ids are taken out of what is known of those turns as well. Returns the sessions.
    """
    known = set(ids)
    found = _recalling(conn, ids)
    for turn in found:
        conn.execute(
            "UPDATE messages SET preface = '' WHERE id = (SELECT parent_id FROM messages WHERE id = ?)",
            (turn.reply_id,),
        )
        epochs.drop(conn, turn.session_id)
        if gone:
            parts = tuple(
                replace(part, ids=tuple(held for held in part.ids if held not in known))
                for part in turn.parts
            )
            epochs.put_turn(conn, replace(turn, epoch_id=None, parts=parts))
    return tuple(dict.fromkeys(turn.session_id for turn in found))


def _recalling(conn: Connection, ids: Sequence[str]) -> list[TurnRecord]:
    rows = conn.execute(
        f"""
        SELECT {epochs.TURN_COLUMNS} FROM turns WHERE instr(parts, '"recall"') > 0 AND EXISTS (
            SELECT 1 FROM json_each(parts) AS part, json_each(part.value, '$.ids') AS held
            WHERE json_extract(part.value, '$.tier') = 'recall'
                AND held.value IN (SELECT value FROM json_each(?))
        )
        """,
        (json.dumps(list(ids)),),
    )
    return [epochs.turn_of(row) for row in rows]


def _left(conn: Connection, session_id: str, ids: Sequence[str], rows: Sequence[int]) -> int:
    """How many rows of any table still belong to the session or name what was in it."""
    tables = conn.execute(
        """
        SELECT t.name FROM pragma_table_list AS t
        WHERE t.schema = 'main' AND t.type = 'table'
            AND EXISTS (SELECT 1 FROM pragma_table_info(t.name) AS c WHERE c.name = 'session_id')
        """
    ).fetchall()
    found = _count(conn, "SELECT count(*) FROM sessions WHERE id = ?", session_id)
    for (table,) in tables:
        found += _count(conn, f'SELECT count(*) FROM "{table}" WHERE session_id = ?', session_id)
    found += _count(
        conn,
        """
        SELECT count(*) FROM vectors
        WHERE kind IN ('message', 'summary') AND owner_id IN (SELECT value FROM json_each(?))
        """,
        json.dumps(ids),
    )
    found += int(conn.execute(f"SELECT count(*) FROM jobs WHERE {_NAMING}", {"id": session_id}).fetchone()[0])
    for (index,) in conn.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND name GLOB 'messages_*_docsize'"
    ).fetchall():
        found += _indexed(conn, index, rows)
    return found + len(_recalling(conn, ids))


def _indexed(conn: Connection, table: str, rows: Sequence[int]) -> int:
    """How many of the messages are in a full-text index, by the table in which it keeps their lengths."""
    return _count(
        conn, f'SELECT count(*) FROM "{table}" WHERE id IN (SELECT value FROM json_each(?))', json.dumps(rows)
    )


def _count(conn: Connection, sql: str, parameter: str) -> int:
    return int(conn.execute(sql, (parameter,)).fetchone()[0])
