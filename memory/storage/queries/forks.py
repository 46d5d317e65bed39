"""Forks: new sessions that begin with a copy of another one's branch and of what was derived from it."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memory.clock import micros
from memory.context.entities import Epoch, Summary, SummaryState, TierUse, TurnRecord
from memory.entities import Message, MessageStatus, TitleSource
from memory.errors import MessageNotFound
from memory.storage.connection import Connection
from memory.storage.queries import attachments, epochs, messages, sessions, summaries
from memory.storage.values import new_id, one_line


@dataclass(frozen=True, slots=True)
class Kept:
    """What is stored for the prompts of one session, each list in the order of storing."""

    summaries: Sequence[Summary]
    epochs: Sequence[Epoch]
    turns: Sequence[TurnRecord]


def copied(
    kept: Kept, target: str, messages: Mapping[str, str], outside: Collection[str], new_id: Callable[[], str]
) -> Kept:
    """Returns copies for the session `target`, under new ids; texts and times stay.

    `messages` maps the ids of the branch to those of its copies; `outside` are the source's other messages. A
    summary is copied if all that it covers is. An epoch is copied if it begins in the branch and its head
    contains nothing of the source that is not copied, so that the copy continues with exactly the prompt that
    a model has read. A turn is copied with its reply.
    """
    taken = [one for one in kept.summaries if all(message_id in messages for message_id in one.covers)]
    ids = dict(messages) | {one.id: new_id() for one in taken}
    lost = {*outside, *(one.id for one in kept.summaries if one.id not in ids)}
    summaries = [
        replace(
            one,
            id=ids[one.id],
            session_id=target,
            covers=tuple(ids[message_id] for message_id in one.covers),
            merged_into=ids.get(one.merged_into or ""),
            state=_state(one, merged=one.merged_into in ids),
        )
        for one in taken
    ]
    epochs = [
        replace(
            one,
            id=ids.setdefault(one.id, new_id()),
            session_id=target,
            start_id=ids[one.start_id],
            parts=_parts(one.parts, ids),
        )
        for one in kept.epochs
        if one.start_id in ids and lost.isdisjoint(held for part in one.parts for held in part.ids)
    ]
    turns = [
        replace(
            one,
            reply_id=ids[one.reply_id],
            session_id=target,
            epoch_id=ids.get(one.epoch_id or ""),
            parts=_parts(one.parts, ids),
        )
        for one in kept.turns
        if one.reply_id in ids
    ]
    return Kept(summaries, epochs, turns)


def _state(summary: Summary, *, merged: bool) -> SummaryState:
    if summary.state is SummaryState.STALE:
        return summary.state
    return SummaryState.MERGED if merged else SummaryState.CURRENT


def _parts(parts: Sequence[TierUse], ids: Mapping[str, str]) -> tuple[TierUse, ...]:
    return tuple(replace(part, ids=tuple(ids.get(held, held) for held in part.ids)) for part in parts)


def fork(conn: Connection, session_id: str, leaf_id: str, title: str | None, now: datetime) -> str:
    """Creates the fork and returns its id; without a title it has that of the other session.

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
    # Only the originals are learned from. The copies are sources too, in case an original is forgotten.
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
    # A narrow summary refers to the wider one, which is stored after it.
    conn.execute("PRAGMA defer_foreign_keys = ON")
    for summary in taken.summaries:
        summaries.put(conn, summary)
    for epoch in taken.epochs:
        epochs.put(conn, epoch)
    for turn in taken.turns:
        epochs.put_turn(conn, turn)
    _copy_reading(conn, session_id, target, ids)
    return target


# What belongs to messages of documents that were read: table, column of the message, all other columns.
_PLACE = 'begin, "end", page, first_line, last_line, sha256'
_READING = (
    ("passages", "message_id", f"document_id, marker, heading, text, {_PLACE}"),
    ("citations", "reply_id", f"document_id, number, marker, quote, verified, {_PLACE}"),
    ("unsupported", "reply_id", 'begin, "end"'),
)


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
    if status is MessageStatus.STREAMING:  # nothing continues to write the copy
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


def _copy_reading(conn: Connection, source: str, target: str, ids: Mapping[str, str]) -> None:
    """Copies the documents that the session is about, and the branch's passages and citations."""
    conn.execute(
        """
        INSERT INTO session_documents (session_id, document_id, added_at)
        SELECT ?, document_id, added_at FROM session_documents WHERE session_id = ?
        """,
        (target, source),
    )
    for table, owner, columns in _READING:
        conn.execute(
            f"""
            INSERT INTO {table} (session_id, {owner}, {columns})
            SELECT ?1, c.value, {columns} FROM json_each(?2) AS c
            JOIN {table} AS t ON t.session_id = ?3 AND t.{owner} = c.key
            """,
            (target, json.dumps(dict(ids)), source),
        )


def _copy_sources(conn: Connection, target: str, ids: Mapping[str, str]) -> None:
    """Adds the copies as sources of what was learned from the originals."""
    conn.execute(
        """
        INSERT INTO memory_sources (memory_id, message_id, session_id, quote)
        SELECT s.memory_id, c.value, ?, s.quote FROM json_each(?) AS c
        JOIN memory_sources AS s ON s.message_id = c.key
        """,
        (target, json.dumps(dict(ids))),
    )
