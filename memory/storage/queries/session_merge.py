"""Merges sessions, separates them again, and forks them: copies a branch into a new session."""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from memory.clock import micros
from memory.context.entities import Epoch, Summary, SummaryState, TierUse, TurnRecord
from memory.entities import Message, MessageStatus, TitleSource
from memory.errors import CannotMerge, MessageNotFound
from memory.organising import Merged
from memory.storage.connection import Connection, new_id, one_line
from memory.storage.insights import TIMING
from memory.storage.queries import context, sessions, sync_log
from memory.storage.queries.table_ownership import tables

# ruff: noqa: S608  # the names put into SQL are written in this module or come from the schema


@dataclass(frozen=True, slots=True)
class Kept:
    """The rows stored for the prompts of one session, each list in the order of storing."""

    summaries: Sequence[Summary]
    epochs: Sequence[Epoch]
    turns: Sequence[TurnRecord]


def copied(
    kept: Kept, target: str, messages: Mapping[str, str], outside: Collection[str], new_id: Callable[[], str]
) -> Kept:
    """Returns copies for the session `target`, under new ids; texts and times stay.

    `messages` maps the ids of the branch to those of its copies; `outside` are the source's other messages. A
    summary is copied if everything it covers is. An epoch is copied if it begins in the branch and its head
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
    """Creates the fork and returns its id; by default with the title of the other session.

    Raises `SessionNotFound`, `MessageNotFound`.
    """
    sessions.require(conn, session_id)
    branch = sessions.branch(conn, session_id, leaf_id)
    if not branch:
        raise MessageNotFound(leaf_id)
    target = new_id()
    ids = {message.id: new_id() for message in branch}
    _copy_session(conn, session_id, target, title, now)
    for message in branch:
        _copy_message(conn, message, target, ids)
    sessions.set_columns(conn, target, {"head_id": ids[leaf_id]})
    # Only the originals are learned from. The copies are also sources, in case an original is forgotten.
    sessions.count_as_learned(conn, target)
    _copy_sources(conn, target, ids)

    kept = Kept(
        context.summaries_of_session(conn, session_id),
        context.epochs_of_session(conn, session_id),
        context.turns_of_session(conn, session_id),
    )
    rows = conn.execute("SELECT id FROM messages WHERE session_id = ?", (session_id,))
    outside = {str(row[0]) for row in rows}.difference(ids)
    held = context.copy(conn, session_id, target)
    taken = copied(kept, target, {**ids, **held}, outside, new_id)
    # A narrow summary refers to the wider one, which is stored after it.
    conn.execute("PRAGMA defer_foreign_keys = ON")
    for summary in taken.summaries:
        context.put_summary(conn, summary)
    for epoch in taken.epochs:
        context.put_epoch(conn, epoch)
    for turn in taken.turns:
        context.put_turn(conn, turn)
    _copy_reading(conn, session_id, target, ids)
    return target


# What belongs to messages of documents that were read: table, column of the message, all other columns.
_PLACE = 'begin, "end", page, first_line, last_line, sha256'
_READING = (
    ("passages", "message_id", f"document_id, marker, heading, header, text, {_PLACE}"),
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


_KEY = "merged:"


@dataclass(frozen=True, slots=True)
class MergeNote:
    """Ids of what a session gave away.

    These are its messages in order, those without a parent, its head and its attachments. `tags` and
    `documents` are digests, not texts and ids, of the tags and documents that the other session received with
    it.
    """

    into: str
    messages: tuple[str, ...]
    roots: tuple[str, ...]
    head: str | None
    attachments: tuple[str, ...]
    tags: tuple[str, ...]
    documents: tuple[str, ...] = ()


def digest(tag: str) -> str:
    return hashlib.sha256(tag.encode()).hexdigest()


def keep_note(conn: Connection, session_id: str, note: MergeNote) -> None:
    conn.execute(
        "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
        (f"{_KEY}{session_id}", json.dumps(asdict(note))),
    )


def take_note(conn: Connection, session_id: str) -> MergeNote | None:
    """Deletes and returns the note on a session; None if there is none."""
    note = look_at_note(conn, session_id)
    drop_note(conn, [session_id])
    return note


def look_at_note(conn: Connection, session_id: str) -> MergeNote | None:
    row = conn.execute("SELECT value FROM meta WHERE key = ?", (f"{_KEY}{session_id}",)).fetchone()
    if row is None:
        return None
    read: dict[str, Any] = json.loads(row[0])
    lists = ("messages", "roots", "attachments", "tags", "documents")
    return MergeNote(
        into=read["into"], head=read["head"], **{name: tuple(read.get(name, ())) for name in lists}
    )


def now_in(conn: Connection, session_id: str) -> str:
    """Returns the session that now contains this one's messages: itself unless it was merged into another."""
    while (note := look_at_note(conn, session_id)) is not None:
        session_id = note.into
    return session_id


def own_messages(conn: Connection, session_id: str, holder: str) -> Callable[[str], bool]:
    """Returns a function that checks whether a message of `holder` was the session's own.

    `holder` is the session that now contains the session's messages.
    """
    note = look_at_note(conn, session_id)
    others = {
        message
        for one in merged_into(conn, [session_id])
        if (taken := look_at_note(conn, one)) is not None
        for message in taken.messages
    }
    if note is None or holder == session_id:
        return lambda message: message not in others
    own = set(note.messages) - others
    return lambda message: message in own


def drop_note(conn: Connection, session_ids: Collection[str]) -> None:
    conn.executemany("DELETE FROM meta WHERE key = ?", [(f"{_KEY}{one}",) for one in session_ids])


def merged_into(conn: Connection, session_ids: Collection[str]) -> list[str]:
    """Returns the sessions that were merged into these, directly or indirectly."""
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


_LISTED = "(SELECT value FROM json_each(?))"


def unmerge(conn: Connection, session_id: str) -> None:
    """Moves the messages of a merged session back to it; does nothing to a session that was not merged.

    Messages since the merge stay where they were written. Summaries that cover messages of both sides are
    deleted, and made again from the messages of each side.
    """
    note = take_note(conn, session_id)
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
    if before in own:
        before = None
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
    # Messages since the merge continue from where the other session's messages began.
    conn.execute(
        f"""
        UPDATE messages SET parent_id = ? WHERE session_id = ?
            AND parent_id IN {_LISTED} AND id NOT IN {_LISTED}
        """,
        (before, source, ids, ids),
    )
    # With merges on several devices, a message may continue one that belongs to neither side.
    conn.execute(
        """
        UPDATE messages SET session_id = ?1,
            parent_id = CASE WHEN id IN (SELECT value FROM json_each(?2)) THEN NULL
                WHEN parent_id IN (SELECT value FROM json_each(?4)) THEN parent_id END
        WHERE session_id = ?3 AND id IN (SELECT value FROM json_each(?4))
        """,
        (session_id, roots, source, ids),
    )
    _stamp_first(conn, ids)
    _settle_apart(conn, session_id, source, own, note.head, before)
    own_tags = conn.execute("SELECT tag FROM session_tags WHERE session_id = ?", (session_id,)).fetchall()
    conn.executemany(
        "DELETE FROM session_tags WHERE session_id = ? AND tag = ?",
        [(source, tag) for (tag,) in own_tags if digest(tag) in note.tags],
    )
    about = conn.execute(
        "SELECT document_id FROM session_documents WHERE session_id = ?", (session_id,)
    ).fetchall()
    conn.executemany(
        "DELETE FROM session_documents WHERE session_id = ? AND document_id = ?",
        [(source, one) for (one,) in about if digest(one) in note.documents],
    )
    # A stored result may be based on messages of both sessions.
    conn.execute("DELETE FROM job_results WHERE session_id = ? AND kind <> ?", (source, TIMING))
    for one in (session_id, source):
        context.drop(conn, one)


def _stamp_first(conn: Connection, ids: str) -> None:
    """Has it sent that the first of these messages follow none, although that may be no change here: on a
    device where one still follows another message, it would stay in that message's session.
    """
    if conn.execute("SELECT 1 FROM sync_state").fetchone() is None:
        return
    for (first,) in conn.execute(
        f"SELECT id FROM messages WHERE id IN {_LISTED} AND parent_id IS NULL", (ids,)
    ).fetchall():
        sync_log.stamp_as_own(conn, "messages", first, "parent_id")


def _made_from_messages(conn: Connection) -> list[tuple[str, str]]:
    """Returns the tables whose rows each belong to one message, and the column that names it."""
    return [
        (name, key.columns[0])
        for name, table in tables(conn).items()
        for key in table.foreign
        if key.parent == "messages" and key.columns[1:] == ("session_id",) and name != "messages"
    ]


def _part_summaries(conn: Connection, session_id: str, source: str, ids: str) -> None:
    """Moves the summaries of these messages alone, and permanently deletes those that also cover others."""
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
    # A summary that was merged into a deleted one is current again.
    conn.execute(
        """
        UPDATE summaries SET state = 'current'
        WHERE session_id IN (?, ?) AND state = 'merged' AND merged_into IS NULL
        """,
        (source, session_id),
    )


def _settle_apart(
    conn: Connection, session_id: str, source: str, own: Sequence[str], head: str | None, before: str | None
) -> None:
    conn.execute(
        "UPDATE sessions SET head_id = ? WHERE id = ?",
        (head if head in own else (own[-1] if own else None), session_id),
    )
    # Another device may have added messages to the emptied session.
    conn.execute(
        """
        UPDATE sessions SET message_count = (SELECT count(*) FROM messages WHERE session_id = sessions.id)
        WHERE id IN (?, ?)
        """,
        (session_id, source),
    )
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
    """Assigns vectors to another session; inserts the rows again, so that copies in memory are updated."""
    rows = conn.execute(
        f"SELECT kind, owner_id, part, model, data FROM vectors WHERE {where}", parameters
    ).fetchall()
    conn.execute(f"DELETE FROM vectors WHERE {where}", parameters)
    conn.executemany(
        "INSERT INTO vectors (kind, owner_id, part, session_id, model, data) VALUES (?, ?, ?, ?, ?, ?)",
        [(kind, owner, part, target, model, data) for kind, owner, part, model, data in rows],
    )


def rename_in_log(conn: Connection, old: str, new: str, messages: Sequence[str] | None = None) -> None:
    """Renames the session of memory sources in the change log; with `messages`, only of these sources."""
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


_STAYS = frozenset(
    {"messages", "session_tags", "tag_suggestions", "learned", "drafts", "left_open", "vectors", "epochs"}
    | {"jobs", "session_documents"}
)
"""Tables that are handled one by one, or whose rows stay with the emptied session."""


def merge(conn: Connection, session_id: str, others: Sequence[str], now: datetime) -> Merged:
    """Appends the messages of other sessions to one. Raises `SessionNotFound`, `CannotMerge`."""
    _check(conn, [session_id, *others])
    conn.execute("PRAGMA defer_foreign_keys = ON")
    moved = sum(_take_in(conn, session_id, one, now) for one in others)
    for one in (session_id, *others):
        context.drop(conn, one)
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
    about = _documents(conn, target, other)
    _renumber_passages(conn, target, other)
    _learned(conn, target, other, [row[0] for row in said])
    _renumber(conn, target, other, said, head)
    for name, table in tables(conn).items():
        if "session_id" in table.columns and name not in _STAYS:
            conn.execute(f'UPDATE "{name}" SET session_id = ? WHERE session_id = ?', (target, other))
    move_vectors(conn, target, "session_id = ?", other)
    conn.execute("DELETE FROM jobs WHERE session_id = ?", (other,))
    conn.execute("DELETE FROM tag_suggestions WHERE session_id = ?", (other,))
    rename_in_log(conn, other, target)
    _settle(conn, target, other, len(said), now)
    note = MergeNote(
        into=target,
        messages=tuple(row[0] for row in said),
        roots=tuple(row[0] for row in said if row[1] is None),
        head=end,
        attachments=tuple(held),
        tags=tuple(map(digest, tags)),
        documents=tuple(map(digest, about)),
    )
    keep_note(conn, other, note)
    return len(said)


def _ends(conn: Connection, target: str, other: str) -> tuple[str | None, list[str]]:
    """Returns the head of the receiving session, and the tags that it is given from the other one."""
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


def _documents(conn: Connection, target: str, other: str) -> list[str]:
    """Also binds the documents of the other session to the receiving one; returns the new ones."""
    found = conn.execute(
        """
        SELECT document_id FROM session_documents WHERE session_id = ?1
            AND document_id NOT IN (SELECT document_id FROM session_documents WHERE session_id = ?2)
        """,
        (other, target),
    ).fetchall()
    conn.execute(
        """
        INSERT OR IGNORE INTO session_documents (session_id, document_id, added_at)
        SELECT ?, document_id, added_at FROM session_documents WHERE session_id = ?
        """,
        (target, other),
    )
    return [row[0] for row in found]


def _renumber_passages(conn: Connection, target: str, other: str) -> None:
    """Gives the other session's passages numbers that the receiving one has not used.

    The prefaces that contain them under their old numbers are emptied: a reply could cite the wrong one.
    """
    (last,) = conn.execute(
        "SELECT coalesce(max(marker), 0) FROM passages WHERE session_id IN (?, ?)", (target, other)
    ).fetchone()
    conn.execute(
        """
        UPDATE messages SET preface = '' WHERE session_id = ?1 AND id IN (
            SELECT message_id FROM passages WHERE session_id = ?1
        )
        """,
        (other,),
    )
    conn.execute("UPDATE passages SET marker = marker + ? WHERE session_id = ?", (last, other))


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
    """Sets the point up to which the target counts as learned from, so that nothing unlearned is skipped.

    Some messages may therefore be read again; their content is already known.
    """
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
    """Combines the counts, heads and marks of both, and moves the other session to the bin."""
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
