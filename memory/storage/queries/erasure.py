"""Erases sessions, messages and memories permanently, with everything that is based on them."""

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memory.context.entities import Summary
from memory.entities import Copy, Erased, Place
from memory.errors import MessageNotFound
from memory.memories.entities import FINDABLE, MemoryChange, depends_on, reading, repeats
from memory.storage import skills as skills
from memory.storage.connection import Connection
from memory.storage.insights import TIMING
from memory.storage.queries import (
    context,
    erasure_check,
    full_text,
    memories,
    projects,
    session_merge,
    sessions,
    sync_log,
    tasks,
)
from memory.storage.queries.erasure_check import Entry
from memory.summaries.planning import LEAST

# ruff: noqa: S608  # the names put into SQL are all written in this module


@dataclass(frozen=True, slots=True)
class Dependents:
    """Memories with a source among some messages: those erased with these, and those that only lose it."""

    going: tuple[str, ...]
    losing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gone:
    """Memories that are erased (`ids`), those that only lost a source, and how much was erased with them."""

    ids: tuple[str, ...] = ()
    losing: tuple[str, ...] = ()
    versions: int = 0
    vectors: int = 0
    full_text: int = 0
    entries: tuple[Entry, ...] = ()


_RESTING = """
    SELECT r.memory_id, r.quote, m.content FROM memory_sources AS r
    JOIN messages AS m ON m.id = r.message_id AND m.session_id = r.session_id
    WHERE r.memory_id IN (
        SELECT memory_id FROM memory_sources WHERE message_id IN (SELECT value FROM json_each(:ids))
    ) AND (r.message_id IN (SELECT value FROM json_each(:ids))) = :gone
"""


def dependents_of(conn: Connection, message_ids: Collection[str]) -> Dependents:
    """Divides the memories that have one of these messages, which must still exist, as a source.

    What the user wrote outside any session stays, and so does what other sources also state.
    """
    ids = json.dumps(list(message_ids))
    gone, left = _words(conn, ids, gone=True), _words(conn, ids, gone=False)
    own = {
        row[0]
        for row in conn.execute(
            "SELECT id FROM memories WHERE own_words = 1 AND id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(gone)),),
        )
    }
    going = [one for one in gone if one not in own and _rests(conn, one, gone[one], left.get(one, []))]
    return Dependents(tuple(going), tuple(one for one in gone if one not in set(going)))


def tasks_based_on(conn: Connection, session_ids: Collection[str]) -> list[str]:
    """Returns the tasks that are deleted with these sessions: those that read any of their text."""
    messages = conn.execute(
        "SELECT id FROM messages WHERE session_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(session_ids)),),
    )
    said = [row[0] for row in messages]
    learned = with_merged(conn, dependents_of(conn, said).going)
    return tasks.dependents_of(conn, [*session_ids, *said, *learned])


def _words(conn: Connection, ids: str, *, gone: bool) -> dict[str, list[str]]:
    """Returns, by memory, the text of its sources among the messages (or of its other ones)."""
    found: dict[str, list[str]] = {}
    for memory_id, quote, content in conn.execute(_RESTING, {"ids": ids, "gone": int(gone)}):
        found.setdefault(memory_id, []).extend((quote, content))
    return found


def _rests(conn: Connection, memory_id: str, gone: list[str], left: list[str]) -> bool:
    if not left:
        return True
    row = conn.execute("SELECT subject, text FROM memories WHERE id = ?", (memory_id,)).fetchone()
    return depends_on(reading(*row), gone, left)


def let_go(conn: Connection, message_ids: Collection[str]) -> Gone:
    """Erases what is based on these messages, which must still exist: memories, earlier versions, quotes."""
    resting = dependents_of(conn, message_ids)
    ids = json.dumps(list(message_ids))
    going = with_merged(conn, resting.going)
    losing = tuple(one for one in resting.losing if one not in set(going))
    earlier = sum(_drop_versions(conn, one, ids) for one in losing)
    conn.execute(
        """
        DELETE FROM memory_sources WHERE message_id IN (SELECT value FROM json_each(?1))
            AND memory_id IN (SELECT value FROM json_each(?2))
        """,
        (ids, json.dumps(losing)),
    )
    gone = erase(conn, going)
    memories.strip(conn, message_ids)
    return replace(gone, losing=losing, versions=gone.versions + earlier)


def _drop_versions(conn: Connection, memory_id: str, ids: str) -> int:
    """Deletes earlier versions of a memory that are based on these messages; returns how many."""
    said = [
        [
            text
            for quote, content in conn.execute(
                f"""
                SELECT r.quote, m.content FROM memory_sources AS r
                JOIN messages AS m ON m.id = r.message_id AND m.session_id = r.session_id
                WHERE r.memory_id = ? AND r.message_id {inside} IN (SELECT value FROM json_each(?))
                """,
                (memory_id, ids),
            )
            for text in (quote, content)
        ]
        for inside in ("", "NOT")
    ]
    versions = conn.execute(
        "SELECT version, subject, text FROM memory_versions WHERE memory_id = ?", (memory_id,)
    ).fetchall()
    resting = [version for version, *words in versions if depends_on(reading(*words), *said)]
    conn.execute(
        """
        DELETE FROM memory_versions WHERE memory_id = ? AND version IN (SELECT value FROM json_each(?))
        """,
        (memory_id, json.dumps(resting)),
    )
    return len(resting)


def with_parts(conn: Connection, memory_ids: Collection[str]) -> tuple[str, ...]:
    """Returns the memories and those that they were merged from."""
    rows = conn.execute(
        """
        WITH RECURSIVE whole (id) AS (
            SELECT value FROM json_each(?)
            UNION SELECT p.part_id FROM memory_parts AS p JOIN whole ON whole.id = p.memory_id
        )
        SELECT id FROM whole
        """,
        (json.dumps(list(memory_ids)),),
    )
    return tuple(row[0] for row in rows)


def with_merged(conn: Connection, memory_ids: Collection[str]) -> tuple[str, ...]:
    """Returns the memories, and those merged from them that state something that only they stated."""
    going = list(dict.fromkeys(memory_ids))
    while more := [one for one in _merged_from(conn, going) if one not in going]:
        going += more
    return tuple(going)


def _merged_from(conn: Connection, going: Collection[str]) -> list[str]:
    gone: dict[str, list[str]] = {}
    left: dict[str, list[str]] = {}
    for memory_id, part_id, subject, text in conn.execute(
        """
        SELECT p.memory_id, p.part_id, m.subject, m.text
        FROM memory_parts AS p JOIN memories AS m ON m.id = p.part_id
        WHERE p.memory_id IN (
            SELECT memory_id FROM memory_parts WHERE part_id IN (SELECT value FROM json_each(?))
        )
        """,
        (json.dumps(list(going)),),
    ):
        (gone if part_id in going else left).setdefault(memory_id, []).append(reading(subject, text))
    return [one for one in gone if _rests(conn, one, gone[one], left.get(one, []))]


def erase(conn: Connection, memory_ids: Collection[str]) -> Gone:
    """Erases memories with their versions, uses, vectors, full text and part in the change log.

    What they replaced or were merged from returns to the inbox. Prompts are not searched. Unknown ids are
    ignored.
    """
    rows = conn.execute(
        "SELECT seq, id, subject, text, state FROM memories WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(memory_ids)),),
    ).fetchall()
    if not rows:
        return Gone()
    found = tuple(row[1] for row in rows)
    ids = json.dumps(found)
    versions = conn.execute(
        "SELECT count(*) FROM memory_versions WHERE memory_id IN (SELECT value FROM json_each(?))", (ids,)
    ).fetchone()[0]
    vectors = conn.execute(
        """
        DELETE FROM vectors WHERE kind = 'memory' AND owner_id IN (SELECT value FROM json_each(?))
        """,
        (ids,),
    ).rowcount
    # A memory that was replaced by or merged into a forgotten one was not itself forgotten.
    conn.execute(
        """
        UPDATE memories SET state = 'inbox', superseded_by = NULL
        WHERE id NOT IN (SELECT value FROM json_each(?1)) AND (
            state = 'superseded' AND superseded_by IN (SELECT value FROM json_each(?1))
            OR state = 'archived' AND id IN (
                SELECT part_id FROM memory_parts WHERE memory_id IN (SELECT value FROM json_each(?1))
            )
        )
        """,
        (ids,),
    )
    with full_text.purged(conn, "memories", len(found)):
        conn.execute("DELETE FROM memories WHERE id IN (SELECT value FROM json_each(?))", (ids,))
    memories.strip(conn, found)
    memories.drop_names(conn, found)
    return Gone(
        ids=found,
        versions=int(versions),
        vectors=int(vectors),
        full_text=sum(row[4] in FINDABLE for row in rows),
        entries=tuple(Entry("memories", row[0], f"{row[2]} {row[3]}") for row in rows),
    )


# ruff: noqa: S608  # the names put into SQL are all written in this module


def forget_titles(
    conn: Connection, session_ids: Collection[str], message_ids: Collection[str]
) -> tuple[str, ...]:
    """Empties titles that are based on these messages, which must still exist, and returns their sessions.

    Covers these sessions and those that were merged into them. A title written by the user stays.
    """
    # A session that was merged into one of them is in the bin, with the title made from its own messages.
    wanted = [*session_ids, *session_merge.merged_into(conn, session_ids)]
    emptied = _resting(conn, wanted, message_ids, own=False)
    conn.execute(
        """
        UPDATE sessions SET title = '', title_source = 'first_words'
        WHERE id IN (SELECT value FROM json_each(?))
        """,
        (json.dumps(emptied),),
    )
    return tuple(emptied)


def own_titles(
    conn: Connection, session_ids: Collection[str], message_ids: Collection[str]
) -> tuple[str, ...]:
    """Returns the sessions whose title is the user's and based on these messages, which must still exist."""
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
        note = session_merge.look_at_note(conn, session_id)
        said = conn.execute(
            """
            SELECT id, content FROM messages
            WHERE session_id = ?1 OR id IN (SELECT value FROM json_each(?2))
            """,
            (session_id, json.dumps([] if note is None else note.messages)),
        ).fetchall()
        gone = [content for message_id, content in said if message_id in forgotten]
        left = [content for message_id, content in said if message_id not in forgotten]
        if depends_on(title, gone, left) or repeats(title, gone, left):
            found.append(session_id)
    return found


_LISTED = "(SELECT value FROM json_each(?))"
_LEAST = " ".join(f"WHEN '{role.value}' THEN {least}" for role, least in LEAST.items())
# Equal texts have equally many words, and the word count of a row is in a small table of the full-text index:
# for nine in ten messages it shows that they differ without reading them.
_EQUAL = f"""
    WITH gone AS MATERIALIZED (
        SELECT m.seq, m.content, d.sz FROM messages AS m JOIN messages_fts_docsize AS d ON d.id = m.seq
        WHERE (m.id IN {_LISTED} OR m.session_id IN {_LISTED})
            AND length(trim(m.content)) >= CASE m.role {_LEAST} END
    )
    SELECT m.seq FROM messages_fts_docsize AS d CROSS JOIN messages AS m ON m.seq = d.id
    WHERE d.sz IN (SELECT sz FROM gone) AND m.content IN (SELECT content FROM gone)
        AND m.seq NOT IN (SELECT seq FROM gone)
"""


def copies_of(conn: Connection, session_ids: Collection[str], message_ids: Collection[str]) -> list[int]:
    """Returns the rows of other messages, in other sessions, with the same text as one of the given messages,
    and those of the messages that the given sessions gave away when they were merged.

    Must be called before these are erased, and `copies_left` afterwards.
    """
    if not (session_ids or message_ids):
        return []
    names = (json.dumps(list(message_ids)), json.dumps(list(session_ids)))
    notes = [session_merge.look_at_note(conn, one) for one in session_ids]
    given = json.dumps([message for note in notes if note is not None for message in note.messages])
    rows = conn.execute(
        f"""
        SELECT seq FROM messages WHERE id IN {_LISTED} AND id NOT IN {_LISTED}
            AND session_id NOT IN {_LISTED}
        """,
        (given, *names),
    )
    return [row[0] for row in [*rows, *conn.execute(_EQUAL, names)]]


def copies_left(conn: Connection, rows: Collection[int]) -> tuple[Copy, ...]:
    """Returns the sessions in which these messages still have content, latest used first."""
    return _told(
        conn,
        f"""
        SELECT id, title, deleted_at IS NOT NULL FROM sessions
        WHERE id IN (SELECT session_id FROM messages WHERE seq IN {_LISTED} AND content <> '')
        ORDER BY updated_at DESC, id DESC
        """,
        rows,
    )


def titled_copies(conn: Connection, session_ids: Collection[str]) -> tuple[Copy, ...]:
    """Returns those of the sessions that still exist and have a title, latest used first."""
    found = _told(
        conn,
        f"""
        SELECT id, title, deleted_at IS NOT NULL FROM sessions WHERE id IN {_LISTED} AND title <> ''
        ORDER BY updated_at DESC, id DESC
        """,
        session_ids,
    )
    return tuple(replace(one, title_only=True) for one in found)


def _told(conn: Connection, sql: str, listed: Collection[object]) -> tuple[Copy, ...]:
    found = conn.execute(sql, (json.dumps(list(listed)),))
    return tuple(Copy(session_id, title, bool(binned)) for session_id, title, binned in found)


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
    """Erases one session as `erase_sessions` does, and finds copies of its text. Raises `SessionNotFound`."""
    same = copies_of(conn, [session_id], ())
    return replace(erase_sessions(conn, [session_id]), copies=copies_left(conn, same))


def erase_sessions(conn: Connection, session_ids: Collection[str]) -> Erased:
    """Deletes sessions and everything that belongs to them, then checks that nothing of them is left.

    Raises `SessionNotFound`.
    """
    own = list(dict.fromkeys(session_ids))
    for one in own:
        sessions.require(conn, one)
    # Titles and tags of the sessions merged into these reveal their content.
    own += session_merge.merged_into(conn, own)
    session_merge.drop_note(conn, own)
    projects.drop(conn)
    names = json.dumps(own)
    said = conn.execute(
        f"SELECT seq, id, content, status FROM messages WHERE session_id IN {_LISTED}", (names,)
    ).fetchall()
    summed = conn.execute(f"SELECT id FROM summaries WHERE session_id IN {_LISTED}", (names,)).fetchall()
    counts = {
        name: erasure_check.count(conn, f"SELECT count(*) FROM {table} WHERE session_id IN {_LISTED}", names)
        for name, table in _COUNTED.items()
    }
    messages = [row[1] for row in said]
    known = let_go(conn, messages)
    ids = [*own, *messages, *(row[0] for row in summed)]
    drafted, places = _without_what_read(conn, [*own, *messages, *known.ids])
    # A job without a session may name one of these.
    counts["jobs"] += _drop_jobs(conn, [*ids, *known.ids], without=own)
    with full_text.purged(conn, "messages", len(messages)):
        conn.execute(f"DELETE FROM sessions WHERE id IN {_LISTED}", (names,))
    recalled_in = context.forget_recalled(conn, [*ids, *known.ids, *known.losing], gone=[*ids, *known.ids])
    recalled_in = tuple(dict.fromkeys([*recalled_in, *(one for one in drafted if one not in own)]))
    entries = _entries("messages", [(row[0], row[1], row[2]) for row in said if row[3] != "streaming"])
    marks = erasure_check.Marks(ids, known.ids, entries + known.entries, own)
    return Erased(
        messages=counts["messages"],
        summaries=counts["summaries"],
        epochs=counts["epochs"],
        turns=counts["turns"],
        vectors=counts["vectors"] + known.vectors,
        full_text=len(entries) + known.full_text,
        jobs=counts["jobs"],
        results=counts["results"],
        verified=erasure_check.left(conn, marks) == 0,
        recalled_in=recalled_in,
        memories=len(known.ids),
        versions=known.versions,
        places=places,
    )


def forget_message(conn: Connection, message_id: str) -> list[Summary]:
    """Does `forget_messages` for one; returns the summaries that are now stale. Raises `MessageNotFound`."""
    return [context.get_summary(conn, one) for one in forget_messages(conn, [message_id]).stale]


def forget_messages(conn: Connection, message_ids: Collection[str]) -> Erased:
    """Empties messages and deletes everything made from them, then checks that nothing of it is left.

    Raises `MessageNotFound`.
    """
    ids = list(dict.fromkeys(message_ids))
    found = conn.execute(
        f"SELECT seq, id, session_id, content, status FROM messages WHERE id IN {_LISTED}", (json.dumps(ids),)
    ).fetchall()
    missing = set(ids) - {row[1] for row in found}
    if missing:
        raise MessageNotFound(min(missing))
    projects.drop(conn)
    said = [(row[0], row[1], row[3]) for row in found if row[3] and row[4] != "streaming"]
    held_in = sorted({row[2] for row in found})
    known = let_go(conn, ids)
    untitled = forget_titles(conn, held_in, ids)
    with full_text.purged(conn, "messages", len(said)):
        conn.execute(
            f"""
            UPDATE messages SET content = '', preface = '', tokens = NULL, token_model = NULL, meta = '{{}}'
            WHERE seq IN {_LISTED}
            """,
            (json.dumps([row[0] for row in found]),),
        )
    _forget_citations(conn, ids)
    # What another device has changed of them may wait here for something else.
    for (key,) in conn.execute(
        f"SELECT DISTINCT key FROM sync_waiting WHERE tbl = 'messages' AND key IN {_LISTED}",
        (json.dumps(ids),),
    ).fetchall():
        sync_log.empty_waiting_message(conn, key)
    recalled_in = context.forget_recalled(conn, [*ids, *known.ids, *known.losing], gone=known.ids)
    used_in, places = _without_what_read(conn, [*ids, *known.ids])
    recalled_in = tuple(dict.fromkeys([*recalled_in, *used_in]))
    aged = [one.id for one in context.age_summaries(conn, ids)]
    vectors = conn.execute(
        f"DELETE FROM vectors WHERE kind IN ('message', 'summary') AND owner_id IN {_LISTED}",
        (json.dumps([*ids, *aged]),),
    ).rowcount
    # A stale summary is empty until it is made again: a crash in between leaves nothing that was forgotten.
    conn.execute(f"UPDATE summaries SET text = '', topics = '[]' WHERE id IN {_LISTED}", (json.dumps(aged),))
    ended = sum(context.drop(conn, one) for one in held_in)
    # A stored result may contain their text. How fast other replies came is only numbers, and stays.
    timed = [hashlib.sha256(one.encode()).hexdigest().upper() for one in ids]
    results = conn.execute(
        f"""
        DELETE FROM job_results WHERE session_id IN {_LISTED}
            AND (kind <> '{TIMING}' OR hex(hash) IN (SELECT value FROM json_each(?)))
        """,
        (json.dumps(held_in), json.dumps(timed)),
    ).rowcount
    jobs = _drop_jobs(conn, [*ids, *known.ids, *aged])
    # The messages still exist, but are empty; an empty message has no words in the index.
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
        verified=erasure_check.left(conn, erasure_check.Marks(ids, known.ids, words + known.entries)) == 0,
        recalled_in=tuple(one for one in recalled_in if one not in held_in),
        memories=len(known.ids),
        versions=known.versions,
        stale=tuple(aged),
        untitled=untitled,
        places=places,
    )


def _forget_citations(conn: Connection, message_ids: Collection[str]) -> None:
    """Deletes what replies cite, also what waits for a document from another device: the citation of a
    sentence that no passage supports contains the sentence."""
    ids = json.dumps(list(message_ids))
    for table in erasure_check.OF_REPLIES:
        conn.execute(f"DELETE FROM {table} WHERE reply_id IN {_LISTED}", (ids,))
        conn.execute(
            f"DELETE FROM sync_waiting WHERE tbl = '{table}' AND json_extract(key, '$[0]') IN {_LISTED}",
            (ids,),
        )


def forget_memories(conn: Connection, memory_ids: Collection[str]) -> Erased:
    """Erases memories, then checks that nothing of them is left.

    Includes what they were merged from and what was merged from them. Unknown ids are ignored.
    """
    return take_memories(conn, with_parts(conn, memory_ids))


def take_memories(conn: Connection, memory_ids: Collection[str]) -> Erased:
    """Erases memories as `forget_memories` does, but moves those that they were merged from to the inbox."""
    known = erase(conn, with_merged(conn, memory_ids))
    recalled_in = context.forget_recalled(conn, known.ids, gone=known.ids)
    used_in, places = _without_what_read(conn, known.ids)
    recalled_in = tuple(dict.fromkeys([*recalled_in, *used_in]))
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
        verified=erasure_check.left(conn, erasure_check.Marks((), known.ids, known.entries)) == 0,
        recalled_in=recalled_in,
        memories=len(known.ids),
        versions=known.versions,
        places=places,
    )


def undo_change(conn: Connection, ref: str, now: datetime) -> MemoryChange:
    """Undoes a change of memories; also removes from prompts the memories that it had added.

    Raises `ChangeNotFound`, `CannotUndo`.
    """
    change, gone = memories.undo(conn, ref, now)
    context.forget_recalled(conn, gone, gone=gone)
    return change


def _without_what_read(conn: Connection, ids: Collection[str]) -> tuple[tuple[str, ...], tuple[Place, ...]]:
    """Erases drafts of skills and tasks made from these messages, memories and sessions: each quotes them.

    Returns the sessions whose prompts had text of one, and the places that are gone.
    """
    reading = tasks.dependents_of(conn, ids)
    places = tasks.places_of(conn, reading)
    known = dict(conn.execute("SELECT id, name FROM skills"))
    used_in = (*skills.forget_sources(conn, ids), *(tasks.erase(conn, reading) if reading else ()))
    left = {row[0] for row in conn.execute("SELECT id FROM skills")}
    places += tuple(Place("skill", name) for key, name in known.items() if key not in left)
    return used_in, places


def _drop_jobs(conn: Connection, ids: Collection[str], *, without: Collection[str] = ()) -> int:
    """Deletes the jobs that name one of the ids; those of the sessions `without` are deleted with these."""
    named = erasure_check.jobs_naming(conn, ids)
    return int(
        conn.execute(
            """
            DELETE FROM jobs WHERE id IN (SELECT value FROM json_each(?1))
                AND (session_id IS NULL OR session_id NOT IN (SELECT value FROM json_each(?2)))
            """,
            (json.dumps(named), json.dumps(list(without))),
        ).rowcount
    )


def _entries(owner: str, said: Sequence[tuple[int, str, str]]) -> tuple[erasure_check.Entry, ...]:
    return tuple(erasure_check.Entry(owner, seq, content) for seq, _, content in said)
