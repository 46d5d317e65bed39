"""A new session that begins with a copy of another one's branch."""

import json
from collections.abc import Mapping
from datetime import datetime

from memory.clock import micros
from memory.context.copies import Kept, copied
from memory.entities import Message, MessageStatus, TitleSource
from memory.errors import MessageNotFound
from memory.storage.connection import Connection
from memory.storage.queries import attachments, epochs, messages, sessions, summaries
from memory.storage.values import new_id, one_line


def fork(conn: Connection, session_id: str, leaf_id: str, title: str | None, now: datetime) -> str:
    """Returns the new session's id; without a title it has that of the other one.

    Raises `SessionNotFound`, `MessageNotFound`.
    """
    sessions.require(conn, session_id)
    branch = messages.branch(conn, session_id, leaf_id)
    if not branch:
        raise MessageNotFound(leaf_id)
    target = new_id()
    ids = {message.id: new_id() for message in branch}
    _copy_session(conn, session_id, target, title, now)
    for message in branch:
        _copy_message(conn, message, target, ids)
    sessions.set_columns(conn, target, {"head_id": ids[leaf_id]})
    # It is learned from where it was said; but it says the same, and goes on to when that is forgotten.
    sessions.count_as_learned(conn, target)
    _copy_sources(conn, target, ids)

    kept = Kept(
        summaries.of_session(conn, session_id),
        epochs.of_session(conn, session_id),
        epochs.turns_of_session(conn, session_id),
    )
    rows = conn.execute("SELECT id FROM messages WHERE session_id = ?", (session_id,))
    outside = {str(row[0]) for row in rows}.difference(ids)
    held = attachments.copy(conn, session_id, target)
    taken = copied(kept, target, {**ids, **held}, outside, new_id)
    # A narrow summary points to the wider one, which is stored after it.
    conn.execute("PRAGMA defer_foreign_keys = ON")
    for summary in taken.summaries:
        summaries.put(conn, summary)
    for epoch in taken.epochs:
        epochs.put(conn, epoch)
    for turn in taken.turns:
        epochs.put_turn(conn, turn)
    return target


def _copy_session(conn: Connection, source: str, target: str, title: str | None, now: datetime) -> None:
    conn.execute(
        """
        INSERT INTO sessions
            (id, project_id, title, title_source, memory_mode, system_prompt, model, important, category,
             category_source, created_at, updated_at)
        SELECT ?, project_id, ifnull(?, title), ifnull(?, title_source), memory_mode, system_prompt, model,
            important, category, category_source, ?, ?
        FROM sessions WHERE id = ?
        """,
        (
            target,
            None if title is None else one_line(title),
            None if title is None else TitleSource.PERSON.value,
            micros(now),
            micros(now),
            source,
        ),
    )
    conn.execute(
        "INSERT INTO session_tags (session_id, tag) SELECT ?, tag FROM session_tags WHERE session_id = ?",
        (target, source),
    )


def _copy_message(conn: Connection, message: Message, target: str, ids: Mapping[str, str]) -> None:
    status = message.status
    if status is MessageStatus.STREAMING:  # nobody goes on writing at the copy
        status = MessageStatus.PARTIAL if message.content else MessageStatus.FAILED
    conn.execute(
        """
        INSERT INTO messages
            (id, session_id, parent_id, role, speaker, content, created_at, status, stop_reason, important,
             model, tokens, token_model, preface)
        SELECT ?, ?, ?, role, speaker, content, created_at, ?, stop_reason, important,
            model, tokens, token_model, preface
        FROM messages WHERE id = ?
        """,
        (
            ids[message.id],
            target,
            None if message.parent_id is None else ids[message.parent_id],
            status.value,
            message.id,
        ),
    )


def _copy_sources(conn: Connection, target: str, ids: Mapping[str, str]) -> None:
    """What was learned from the messages rests on their copies, too."""
    conn.execute(
        """
        INSERT INTO memory_sources (memory_id, message_id, session_id, quote)
        SELECT s.memory_id, c.value, ?, s.quote FROM json_each(?) AS c
        JOIN memory_sources AS s ON s.message_id = c.key
        """,
        (target, json.dumps(dict(ids))),
    )
