"""Erasing for good, with everything that was made from what is erased."""
# ruff: noqa: S608  # the names put into SQL come from the schema

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from memory.context.entities import Summary
from memory.entities import Erased
from memory.errors import MessageNotFound
from memory.memories.entities import MemoryChange
from memory.storage.connection import Connection
from memory.storage.queries import (
    ageing,
    copies,
    epochs,
    indices,
    last_change,
    leftovers,
    lineage,
    memories_log,
    merge_notes,
    recalled,
    sessions,
    summaries,
    titles,
)

_LISTED = "(SELECT value FROM json_each(?))"
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
    """As `erase_sessions`, of one, and looks where else the same words stand. Raises `SessionNotFound`."""
    same = copies.of(conn, [session_id], ())
    return replace(erase_sessions(conn, [session_id]), copies=copies.left(conn, same))


def erase_sessions(conn: Connection, session_ids: Collection[str]) -> Erased:
    """Deletes sessions and all that belongs to them, then looks whether anything is left of them.

    Raises `SessionNotFound`.
    """
    own = list(dict.fromkeys(session_ids))
    for one in own:
        sessions.require(conn, one)
    # Their titles and tags tell of what was said in the one that they were merged into.
    own += merge_notes.merged_into(conn, own)
    merge_notes.drop(conn, own)
    last_change.drop(conn)
    names = json.dumps(own)
    said = conn.execute(
        f"SELECT seq, id, content, status FROM messages WHERE session_id IN {_LISTED}", (names,)
    ).fetchall()
    summed = conn.execute(f"SELECT id FROM summaries WHERE session_id IN {_LISTED}", (names,)).fetchall()
    counts = {
        name: leftovers.count(conn, f"SELECT count(*) FROM {table} WHERE session_id IN {_LISTED}", names)
        for name, table in _COUNTED.items()
    }
    messages = [row[1] for row in said]
    known = lineage.let_go(conn, messages)
    ids = [*own, *messages, *(row[0] for row in summed)]
    # A job of no session in particular may name one of these.
    counts["jobs"] += _drop_jobs(conn, [*ids, *known.ids], without=own)
    with indices.purged(conn, "messages", len(messages)):
        conn.execute(f"DELETE FROM sessions WHERE id IN {_LISTED}", (names,))
    recalled_in = recalled.forget(conn, [*ids, *known.ids, *known.losing], gone=[*ids, *known.ids])
    entries = _entries("messages", [(row[0], row[1], row[2]) for row in said if row[3] != "streaming"])
    marks = leftovers.Marks(ids, known.ids, entries + known.entries, own)
    return Erased(
        messages=counts["messages"],
        summaries=counts["summaries"],
        epochs=counts["epochs"],
        turns=counts["turns"],
        vectors=counts["vectors"] + known.vectors,
        full_text=len(entries) + known.full_text,
        jobs=counts["jobs"],
        results=counts["results"],
        verified=leftovers.left(conn, marks) == 0,
        recalled_in=recalled_in,
        memories=len(known.ids),
        versions=known.versions,
    )


def forget_message(conn: Connection, message_id: str) -> list[Summary]:
    """As `forget_messages`, of one; returns the summaries that are stale now. Raises `MessageNotFound`."""
    return [summaries.get(conn, one) for one in forget_messages(conn, [message_id]).stale]


def forget_messages(conn: Connection, message_ids: Collection[str]) -> Erased:
    """Empties messages and all that was made from them, then looks whether anything is left of it.

    Raises `MessageNotFound`.
    """
    ids = list(dict.fromkeys(message_ids))
    found = conn.execute(
        f"SELECT seq, id, session_id, content, status FROM messages WHERE id IN {_LISTED}", (json.dumps(ids),)
    ).fetchall()
    missing = set(ids) - {row[1] for row in found}
    if missing:
        raise MessageNotFound(min(missing))
    last_change.drop(conn)
    said = [(row[0], row[1], row[3]) for row in found if row[3] and row[4] != "streaming"]
    held_in = sorted({row[2] for row in found})
    known = lineage.let_go(conn, ids)
    untitled = titles.forget(conn, held_in, ids)
    with indices.purged(conn, "messages", len(said)):
        conn.execute(
            f"""
            UPDATE messages SET content = '', preface = '', tokens = NULL, token_model = NULL, meta = '{{}}'
            WHERE seq IN {_LISTED}
            """,
            (json.dumps([row[0] for row in found]),),
        )
    recalled_in = recalled.forget(conn, [*ids, *known.ids, *known.losing], gone=known.ids)
    aged = [one.id for one in ageing.age(conn, ids)]
    vectors = conn.execute(
        f"DELETE FROM vectors WHERE kind IN ('message', 'summary') AND owner_id IN {_LISTED}",
        (json.dumps([*ids, *aged]),),
    ).rowcount
    # Until it is made anew a summary says nothing: a crash in between leaves no word of what was forgotten.
    conn.execute(f"UPDATE summaries SET text = '', topics = '[]' WHERE id IN {_LISTED}", (json.dumps(aged),))
    ended = sum(epochs.drop(conn, one) for one in held_in)
    # A remembered result may hold its words.
    results = conn.execute(
        f"DELETE FROM job_results WHERE session_id IN {_LISTED}", (json.dumps(held_in),)
    ).rowcount
    jobs = _drop_jobs(conn, [*ids, *known.ids, *aged])
    # The messages are there still, and empty; an empty message has no words in the index.
    words = tuple(replace(entry, kept=True) for entry in _entries("messages", said))
    return Erased(
        messages=len(ids),
        summaries=0,
        epochs=ended,
        turns=0,
        vectors=int(vectors) + known.vectors,
        full_text=len(said) + known.full_text,
        jobs=jobs,
        results=int(results),
        verified=leftovers.left(conn, leftovers.Marks(ids, known.ids, words + known.entries)) == 0,
        recalled_in=tuple(one for one in recalled_in if one not in held_in),
        memories=len(known.ids),
        versions=known.versions,
        stale=tuple(aged),
        untitled=untitled,
    )


def forget_memories(conn: Connection, memory_ids: Collection[str]) -> Erased:
    """Erases memories, what they were merged from and what was merged from them, then looks whether anything
    is left of them. Ids of none are passed over."""
    return take_memories(conn, lineage.with_parts(conn, memory_ids))


def take_memories(conn: Connection, memory_ids: Collection[str]) -> Erased:
    """As `forget_memories`; what they were merged from comes back to the inbox."""
    known = lineage.erase(conn, lineage.with_merged(conn, memory_ids))
    recalled_in = recalled.forget(conn, known.ids, gone=known.ids)
    jobs = _drop_jobs(conn, known.ids)
    return Erased(
        messages=0,
        summaries=0,
        epochs=0,
        turns=0,
        vectors=known.vectors,
        full_text=known.full_text,
        jobs=jobs,
        results=0,
        verified=leftovers.left(conn, leftovers.Marks((), known.ids, known.entries)) == 0,
        recalled_in=recalled_in,
        memories=len(known.ids),
        versions=known.versions,
    )


def undo_change(conn: Connection, ref: str, now: datetime) -> MemoryChange:
    """Undoes a change of memories; those that it had added are gone from prompts, too.

    Raises `ChangeNotFound`, `CannotUndo`.
    """
    change, gone = memories_log.undo(conn, ref, now)
    recalled.forget(conn, gone, gone=gone)
    return change


def _drop_jobs(conn: Connection, ids: Collection[str], *, without: Collection[str] = ()) -> int:
    """Takes jobs that name one of the ids out of the queue; those of the sessions `without` go with these."""
    named = leftovers.jobs_naming(conn, ids)
    return int(
        conn.execute(
            """
            DELETE FROM jobs WHERE id IN (SELECT value FROM json_each(?1))
                AND (session_id IS NULL OR session_id NOT IN (SELECT value FROM json_each(?2)))
            """,
            (json.dumps(named), json.dumps(list(without))),
        ).rowcount
    )


def _entries(owner: str, said: Sequence[tuple[int, str, str]]) -> tuple[leftovers.Entry, ...]:
    return tuple(leftovers.Entry(owner, seq, content) for seq, _, content in said)
