"""Titles that were made from what was said, when it is to be forgotten."""

import json
from collections.abc import Collection

from memory.memories.wording import repeats, rests_on
from memory.storage.connection import Connection
from memory.storage.queries import merge_notes


def forget(conn: Connection, session_ids: Collection[str], message_ids: Collection[str]) -> tuple[str, ...]:
    """Empties titles that rest on these messages, which are still there, of these sessions and of those that
    were merged into them. A person's own title stays.

    Returns the sessions.
    """
    # What was merged into one of them lies in the bin, under the title that its words had given it.
    wanted = [*session_ids, *merge_notes.merged_into(conn, session_ids)]
    emptied = _resting(conn, wanted, message_ids, own=False)
    conn.execute(
        """
        UPDATE sessions SET title = '', title_source = 'first_words'
        WHERE id IN (SELECT value FROM json_each(?))
        """,
        (json.dumps(emptied),),
    )
    return tuple(emptied)


def own(conn: Connection, session_ids: Collection[str], message_ids: Collection[str]) -> tuple[str, ...]:
    """The sessions whose title is a person's own and rests on these messages, which are still there."""
    return tuple(_resting(conn, session_ids, message_ids, own=True))


def _resting(
    conn: Connection, session_ids: Collection[str], message_ids: Collection[str], *, own: bool
) -> list[str]:
    named = conn.execute(
        """
        SELECT id, title FROM sessions
        WHERE (title_source = 'person') = ? AND title <> '' AND id IN (SELECT value FROM json_each(?))
        """,
        (int(own), json.dumps(list(session_ids))),
    ).fetchall()
    forgotten = set(message_ids)
    found = []
    for session_id, title in named:
        note = merge_notes.look(conn, session_id)
        said = conn.execute(
            """
            SELECT id, content FROM messages
            WHERE session_id = ?1 OR id IN (SELECT value FROM json_each(?2))
            """,
            (session_id, json.dumps([] if note is None else note.messages)),
        ).fetchall()
        gone = [content for message_id, content in said if message_id in forgotten]
        left = [content for message_id, content in said if message_id not in forgotten]
        if rests_on(title, gone, left) or repeats(title, gone, left):
            found.append(session_id)
    return found
