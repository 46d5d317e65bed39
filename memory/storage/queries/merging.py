"""Sessions that become one, and come apart again: messages keep their ids, and all that was made from them
goes with them.

A message must be stored before those below it, so what is appended is numbered anew. While its number changes
a message counts as being written: that takes it out of the full-text indices, and puts it back afterwards.
"""
# ruff: noqa: S608  # the names put into SQL come from the schema

from collections.abc import Sequence
from datetime import datetime

from memory.clock import micros
from memory.errors import CannotMerge
from memory.organising.entities import Merged
from memory.storage.connection import Connection
from memory.storage.queries import epochs, merge_notes, parting, sessions
from memory.storage.queries.belonging import tables

_STAYS = frozenset(
    {"messages", "session_tags", "tag_suggestions", "learned", "drafts", "left_open", "vectors", "epochs"}
    | {"jobs", "moves"}
)
"""What is looked after one by one, or stays with the session that is emptied."""


def merge(conn: Connection, session_id: str, others: Sequence[str], now: datetime) -> Merged:
    """Raises `SessionNotFound`, `CannotMerge`."""
    _check(conn, [session_id, *others])
    conn.execute("PRAGMA defer_foreign_keys = ON")
    moved = sum(_take_in(conn, session_id, one, now) for one in others)
    for one in (session_id, *others):
        epochs.drop(conn, one)
    return Merged(session_id, tuple(others), moved)


def _check(conn: Connection, session_ids: Sequence[str]) -> None:
    if len(set(session_ids)) < max(len(session_ids), 2):
        raise CannotMerge("same")
    modes = set()
    for one in session_ids:
        sessions.require(conn, one)
        mode, binned = conn.execute(
            "SELECT memory_mode, deleted_at FROM sessions WHERE id = ?", (one,)
        ).fetchone()
        if binned is not None:
            raise CannotMerge("binned")
        writing = conn.execute(
            "SELECT 1 FROM messages WHERE session_id = ? AND status = 'streaming' LIMIT 1", (one,)
        ).fetchone()
        if writing is not None:
            raise CannotMerge("writing")
        modes.add(mode)
    if len(modes) > 1:
        raise CannotMerge("mode")


def _take_in(conn: Connection, target: str, other: str, now: datetime) -> int:
    said = conn.execute(
        "SELECT id, parent_id, status FROM messages WHERE session_id = ? ORDER BY seq", (other,)
    ).fetchall()
    head, tags = _ends(conn, target, other)
    (end,) = conn.execute("SELECT head_id FROM sessions WHERE id = ?", (other,)).fetchone()
    held = [row[0] for row in conn.execute("SELECT id FROM attachments WHERE session_id = ?", (other,))]
    _learned(conn, target, other, [row[0] for row in said])
    _renumber(conn, target, other, said, head)
    for name, table in tables(conn).items():
        if "session_id" in table.columns and name not in _STAYS:
            conn.execute(f'UPDATE "{name}" SET session_id = ? WHERE session_id = ?', (target, other))
    parting.move_vectors(conn, target, "session_id = ?", other)
    conn.execute("DELETE FROM jobs WHERE session_id = ?", (other,))
    conn.execute("DELETE FROM tag_suggestions WHERE session_id = ?", (other,))
    parting.rename_in_log(conn, other, target)
    _settle(conn, target, other, len(said), now)
    note = merge_notes.MergeNote(
        into=target,
        messages=tuple(row[0] for row in said),
        roots=tuple(row[0] for row in said if row[1] is None),
        head=end,
        attachments=tuple(held),
        tags=tuple(map(merge_notes.digest, tags)),
    )
    merge_notes.keep(conn, other, note)
    return len(said)


def _ends(conn: Connection, target: str, other: str) -> tuple[str | None, list[str]]:
    """The end of the session that takes in, and the tags that it is given with the other one."""
    (head,) = conn.execute("SELECT head_id FROM sessions WHERE id = ?", (target,)).fetchone()
    tags = conn.execute(
        """
        SELECT tag FROM session_tags WHERE session_id = ?1
            AND tag NOT IN (SELECT tag FROM session_tags WHERE session_id = ?2)
        """,
        (other, target),
    ).fetchall()
    conn.executemany(
        "INSERT INTO session_tags (session_id, tag) VALUES (?, ?)", [(target, tag) for (tag,) in tags]
    )
    return head, [tag for (tag,) in tags]


def _renumber(
    conn: Connection, target: str, other: str, said: Sequence[tuple[str, str | None, str]], head: str | None
) -> None:
    (last,) = conn.execute("SELECT coalesce(max(seq), 0) FROM messages").fetchone()
    conn.execute("UPDATE messages SET status = 'streaming' WHERE session_id = ?", (other,))
    conn.executemany(
        "UPDATE messages SET seq = ?, session_id = ?, parent_id = ? WHERE id = ? AND session_id = ?",
        [
            (last + place, target, head if parent is None else parent, own, other)
            for place, (own, parent, _) in enumerate(said, start=1)
        ],
    )
    conn.executemany(
        "UPDATE messages SET status = ? WHERE id = ? AND session_id = ?",
        [(status, own, target) for own, _, status in said],
    )


def _learned(conn: Connection, target: str, other: str, said: Sequence[str]) -> None:
    """Nothing that was not learned from is passed over: then some is read once more, and known already."""
    up_to = {
        one: (conn.execute("SELECT seq FROM learned WHERE session_id = ?", (one,)).fetchone() or (-1,))[0]
        for one in (target, other)
    }
    rest = conn.execute(
        "SELECT 1 FROM messages WHERE session_id = ? AND seq > ? AND role = 'user' LIMIT 1",
        (target, up_to[target]),
    ).fetchone()
    if rest is not None:
        return
    known = conn.execute(
        "SELECT count(*) FROM messages WHERE session_id = ? AND seq <= ?", (other, up_to[other])
    ).fetchone()[0]
    (last,) = conn.execute("SELECT coalesce(max(seq), 0) FROM messages").fetchone()
    conn.execute(
        "INSERT INTO learned (session_id, seq) VALUES (?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq",
        (target, last + min(known, len(said))),
    )


def _settle(conn: Connection, target: str, other: str, moved: int, now: datetime) -> None:
    """Counts, ends and marks of both; the other one goes to the bin."""
    conn.execute(
        """
        UPDATE sessions SET
            message_count = message_count + ?3,
            head_id = coalesce(o.head_id, sessions.head_id),
            updated_at = max(sessions.updated_at, o.updated_at),
            starred = max(sessions.starred, o.starred),
            important = max(sessions.important, o.important)
        FROM (SELECT head_id, updated_at, starred, important FROM sessions WHERE id = ?2) AS o
        WHERE sessions.id = ?1
        """,
        (target, other, moved),
    )
    conn.execute(
        """
        UPDATE sessions SET message_count = 0, head_id = NULL, deleted_at = ? WHERE id = ?
        """,
        (micros(now), other),
    )
