"""A session that was merged into another one takes its messages out again when it leaves the bin."""
# ruff: noqa: S608  # the names put into SQL come from the schema

import json
from collections.abc import Sequence

from memory.storage.connection import Connection
from memory.storage.queries import epochs, merge_notes
from memory.storage.queries.belonging import tables
from memory.storage.queries.merge_notes import MergeNote
from memory.storage.queries.timing import TIMING

_LISTED = "(SELECT value FROM json_each(?))"


def part(conn: Connection, session_id: str) -> None:
    """Does nothing to a session that was not merged. What was said since the merging stays where it was said.

    Summaries that stand for messages of both sides go: they are made anew from what each has.
    """
    note = merge_notes.take(conn, session_id)
    if note is None:
        return
    place = conn.execute(
        f"SELECT session_id FROM messages WHERE id IN {_LISTED} ORDER BY seq LIMIT 1",
        (json.dumps(note.messages),),
    ).fetchone()
    if place is None or place[0] == session_id:
        return
    conn.execute("PRAGMA defer_foreign_keys = ON")
    _take_out(conn, session_id, place[0], note)


def _take_out(conn: Connection, session_id: str, source: str, note: MergeNote) -> None:
    own = [
        row[0]
        for row in conn.execute(
            f"SELECT id FROM messages WHERE session_id = ? AND id IN {_LISTED} ORDER BY seq",
            (source, json.dumps(note.messages)),
        )
    ]
    ids, roots = json.dumps(own), json.dumps(note.roots)
    (before,) = conn.execute(
        f"SELECT parent_id FROM messages WHERE session_id = ? AND id IN {_LISTED} ORDER BY seq LIMIT 1",
        (source, roots),
    ).fetchone() or (None,)
    _part_summaries(conn, session_id, source, ids)
    for name, column in _made_from_messages(conn):
        conn.execute(
            f'UPDATE "{name}" SET session_id = ? WHERE session_id = ? AND "{column}" IN {_LISTED}',
            (session_id, source, ids),
        )
    conn.execute(
        f"UPDATE attachments SET session_id = ? WHERE session_id = ? AND id IN {_LISTED}",
        (session_id, source, json.dumps(note.attachments)),
    )
    summed = conn.execute("SELECT id FROM summaries WHERE session_id = ?", (session_id,)).fetchall()
    owners = json.dumps([*own, *(row[0] for row in summed)])
    move_vectors(conn, session_id, f"session_id = ? AND owner_id IN {_LISTED}", source, owners)
    # What has been said since goes on from where the other one's words began.
    conn.execute(
        f"""
        UPDATE messages SET parent_id = ? WHERE session_id = ?
            AND parent_id IN {_LISTED} AND id NOT IN {_LISTED}
        """,
        (before, source, ids, ids),
    )
    conn.execute(
        f"""
        UPDATE messages SET session_id = ?, parent_id = CASE WHEN id IN {_LISTED} THEN NULL ELSE parent_id END
        WHERE session_id = ? AND id IN {_LISTED}
        """,
        (session_id, roots, source, ids),
    )
    _settle(conn, session_id, source, own, note.head, before)
    own_tags = conn.execute("SELECT tag FROM session_tags WHERE session_id = ?", (session_id,)).fetchall()
    conn.executemany(
        "DELETE FROM session_tags WHERE session_id = ? AND tag = ?",
        [(source, tag) for (tag,) in own_tags if merge_notes.digest(tag) in note.tags],
    )
    # A remembered result may rest on words of both.
    conn.execute("DELETE FROM job_results WHERE session_id = ? AND kind <> ?", (source, TIMING))
    for one in (session_id, source):
        epochs.drop(conn, one)


def _made_from_messages(conn: Connection) -> list[tuple[str, str]]:
    """Tables of which each row goes with one message, and the column that names it."""
    return [
        (name, key.columns[0])
        for name, table in tables(conn).items()
        for key in table.foreign
        if key.parent == "messages" and key.columns[1:] == ("session_id",) and name != "messages"
    ]


def _part_summaries(conn: Connection, session_id: str, source: str, ids: str) -> None:
    """Those of these messages alone go along; those of both go for good."""
    mixed = """
        SELECT summary_id FROM summary_messages WHERE session_id = ?1
        GROUP BY summary_id
        HAVING sum(message_id IN (SELECT value FROM json_each(?2))) BETWEEN 1 AND count(*) - 1
    """
    conn.execute(f"DELETE FROM summaries WHERE id IN ({mixed})", (source, ids))
    conn.execute(
        """
        UPDATE summaries SET session_id = ?3 WHERE session_id = ?1 AND id IN (
            SELECT summary_id FROM summary_messages
            WHERE session_id = ?1 AND message_id IN (SELECT value FROM json_each(?2))
        )
        """,
        (source, ids, session_id),
    )
    # What was merged into a summary that is gone stands for itself again.
    conn.execute(
        """
        UPDATE summaries SET state = 'current'
        WHERE session_id IN (?, ?) AND state = 'merged' AND merged_into IS NULL
        """,
        (source, session_id),
    )


def _settle(
    conn: Connection, session_id: str, source: str, own: Sequence[str], head: str | None, before: str | None
) -> None:
    conn.execute(
        "UPDATE sessions SET message_count = ?, head_id = ? WHERE id = ?",
        (len(own), head if head in own else (own[-1] if own else None), session_id),
    )
    conn.execute("UPDATE sessions SET message_count = message_count - ? WHERE id = ?", (len(own), source))
    (at,) = conn.execute("SELECT head_id FROM sessions WHERE id = ?", (source,)).fetchone()
    if at in own:
        conn.execute("UPDATE sessions SET head_id = ? WHERE id = ?", (before, source))
    conn.execute(
        """
        INSERT INTO learned (session_id, seq) SELECT ?, seq FROM learned WHERE session_id = ?
        ON CONFLICT DO UPDATE SET seq = excluded.seq
        """,
        (session_id, source),
    )
    rename_in_log(conn, source, session_id, own)


def move_vectors(conn: Connection, target: str, where: str, *parameters: str) -> None:
    """Gives vectors to another session. They come anew, so that whoever holds them in memory hears of it."""
    rows = conn.execute(
        f"SELECT kind, owner_id, part, model, data FROM vectors WHERE {where}", parameters
    ).fetchall()
    conn.execute(f"DELETE FROM vectors WHERE {where}", parameters)
    conn.executemany(
        "INSERT INTO vectors (kind, owner_id, part, session_id, model, data) VALUES (?, ?, ?, ?, ?, ?)",
        [(kind, owner, part, target, model, data) for kind, owner, part, model, data in rows],
    )


def rename_in_log(conn: Connection, old: str, new: str, messages: Sequence[str] | None = None) -> None:
    """In what is known of how memories were: their sources are in another session now. With `messages` only
    sources that are among these."""
    changes = conn.execute(
        "SELECT id, before, after FROM memory_changes WHERE instr(before, ?1) OR instr(after, ?1)",
        (f'"{old}"',),
    ).fetchall()
    moved = None if messages is None else set(messages)
    for change_id, *states in changes:
        renamed = [_renamed(json.loads(state), old, new, moved) for state in states]
        conn.execute(
            "UPDATE memory_changes SET before = ?, after = ? WHERE id = ?",
            (*map(json.dumps, renamed), change_id),
        )


def _renamed(
    states: dict[str, dict[str, list[list[str]]] | None], old: str, new: str, moved: set[str] | None
) -> object:
    for state in states.values():
        if state is not None:
            state["sources"] = [
                [message, new if session == old and (moved is None or message in moved) else session, quote]
                for message, session, quote in state["sources"]
            ]
    return states
