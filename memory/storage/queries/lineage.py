"""Finds what is based on which messages, and erases memories with everything made from them."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Collection
from dataclasses import dataclass, replace

from memory.memories.entities import FINDABLE
from memory.memories.wording import reading, rests_on
from memory.storage.connection import Connection
from memory.storage.queries import full_text, memory_changes
from memory.storage.queries.erasure_check import Entry


@dataclass(frozen=True, slots=True)
class Resting:
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


def resting_on(conn: Connection, message_ids: Collection[str]) -> Resting:
    """Divides the memories that have one of these messages, which must still exist, as a source.

    What the user wrote outside any session stays, and so does what other sources say too.
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
    return Resting(tuple(going), tuple(one for one in gone if one not in set(going)))


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
    return rests_on(reading(*row), gone, left)


def let_go(conn: Connection, message_ids: Collection[str]) -> Gone:
    """Erases what is based on these messages, which must still exist: memories, earlier versions, quotes."""
    resting = resting_on(conn, message_ids)
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
    memory_changes.strip(conn, message_ids)
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
    resting = [version for version, *words in versions if rests_on(reading(*words), *said)]
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
    """Returns the memories and those merged from them that say something that only they said."""
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

    What they replaced or were merged from returns to the inbox. Prompts are not searched. Ids of no memory
    are ignored.
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
    memory_changes.strip(conn, found)
    memory_changes.drop_names(conn, found)
    return Gone(
        ids=found,
        versions=int(versions),
        vectors=int(vectors),
        full_text=sum(row[4] in FINDABLE for row in rows),
        entries=tuple(Entry("memories", row[0], f"{row[2]} {row[3]}") for row in rows),
    )
