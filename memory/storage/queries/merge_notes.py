"""What is remembered of sessions that were merged into others, so that they can come apart again.

It lies in the room and not with the session: what is with a session may have come from outside.
"""

import hashlib
import json
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from typing import Any

from memory.storage.connection import Connection

_KEY = "merged:"


@dataclass(frozen=True, slots=True)
class MergeNote:
    """Ids of what a session gave away: its messages in order, those without one above, its head, its
    attachments. `tags` are digests of those that the other session was given with it: not their words."""

    into: str
    messages: tuple[str, ...]
    roots: tuple[str, ...]
    head: str | None
    attachments: tuple[str, ...]
    tags: tuple[str, ...]


def digest(tag: str) -> str:
    return hashlib.sha256(tag.encode()).hexdigest()


def keep(conn: Connection, session_id: str, note: MergeNote) -> None:
    conn.execute(
        "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
        (f"{_KEY}{session_id}", json.dumps(asdict(note))),
    )


def take(conn: Connection, session_id: str) -> MergeNote | None:
    """The note on a session, which is there no longer; None when there is none."""
    note = look(conn, session_id)
    drop(conn, [session_id])
    return note


def look(conn: Connection, session_id: str) -> MergeNote | None:
    row = conn.execute("SELECT value FROM meta WHERE key = ?", (f"{_KEY}{session_id}",)).fetchone()
    if row is None:
        return None
    read: dict[str, Any] = json.loads(row[0])
    lists = ("messages", "roots", "attachments", "tags")
    return MergeNote(into=read["into"], head=read["head"], **{name: tuple(read[name]) for name in lists})


def now_in(conn: Connection, session_id: str) -> str:
    """The session that holds now what this one held: itself, unless it was merged into another one."""
    while (note := look(conn, session_id)) is not None:
        session_id = note.into
    return session_id


def own_messages(conn: Connection, session_id: str, holder: str) -> Callable[[str], bool]:
    """Whether a message of `holder`, which holds what the session held, was the session's own."""
    note = look(conn, session_id)
    others = {
        message
        for one in merged_into(conn, [session_id])
        if (taken := look(conn, one)) is not None
        for message in taken.messages
    }
    if note is None or holder == session_id:
        return lambda message: message not in others
    own = set(note.messages) - others
    return lambda message: message in own


def drop(conn: Connection, session_ids: Collection[str]) -> None:
    conn.executemany("DELETE FROM meta WHERE key = ?", [(f"{_KEY}{one}",) for one in session_ids])


def merged_into(conn: Connection, session_ids: Collection[str]) -> list[str]:
    """Sessions that were merged into these, or into such ones."""
    found: list[str] = []
    wanted = list(session_ids)
    while wanted:
        rows = conn.execute(
            """
            SELECT substr(key, ?) FROM meta
            WHERE key BETWEEN 'merged:' AND 'merged;'
                AND json_extract(value, '$.into') IN (SELECT value FROM json_each(?))
            """,
            (len(_KEY) + 1, json.dumps(wanted)),
        ).fetchall()
        wanted = [row[0] for row in rows if row[0] not in found and row[0] not in session_ids]
        found += wanted
    return found
