"""Checks whether anything is left of erased data, in any table or beneath the full-text indexes."""
# ruff: noqa: S608  # the names put into SQL come from the schema

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from memory.context.entities import TOLD
from memory.storage.connection import Connection
from memory.storage.queries import context
from memory.storage.words import beginnings, pieces

_LISTED = "(SELECT value FROM json_each(?))"
_LEAST_PIECE = 3
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Entry:
    """A text that was in the full-text indexes of its table; `kept`: its row still exists."""

    owner: str
    row: int
    text: str
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Marks:
    """The ids and texts of what was erased.

    `ids` are of messages, summaries and sessions, `memories` of memories. `entries` are the texts that were
    indexed. `sessions` were erased as wholes.
    """

    ids: Collection[str]
    memories: Collection[str]
    entries: Collection[Entry]
    sessions: Collection[str] = ()


def left(conn: Connection, marks: Marks) -> int:
    """Returns how many rows of any table still belong to what was erased, name it, or contain its words."""
    found = _in_indices(conn, marks.entries)
    found += _owned(conn, ("memory_id", "part_id", "superseded_by"), marks.memories)
    found += _owned(conn, ("item_id",), [*marks.ids, *marks.memories])
    found += count(
        conn, f"SELECT count(*) FROM memories WHERE id IN {_LISTED}", json.dumps(list(marks.memories))
    )
    found += count(
        conn,
        f"SELECT count(*) FROM vectors WHERE kind <> 'chunk' AND owner_id IN {_LISTED}",
        json.dumps([*marks.ids, *marks.memories]),
    )
    found += _owned_by_sources(conn, marks)
    gone = {*marks.memories, *(marks.ids if marks.sessions else ())}
    found += len(context.turns_naming(conn, gone))
    if not marks.sessions:
        return found + _recalled_still(conn, set(marks.ids)) + _cited_still(conn, marks.ids)
    found += count(
        conn, f"SELECT count(*) FROM sessions WHERE id IN {_LISTED}", json.dumps(list(marks.sessions))
    )
    found += _owned(conn, ("session_id",), marks.sessions)
    return found + len(jobs_naming(conn, marks.sessions))


OF_REPLIES = ("citations", "unsupported")
"""Tables of what sentences of replies rest on; their keys begin with the reply."""


def _cited_still(conn: Connection, message_ids: Collection[str]) -> int:
    ids = json.dumps(list(message_ids))
    return sum(
        count(conn, f"SELECT count(*) FROM {table} WHERE reply_id IN {_LISTED}", ids)
        + count(
            conn,
            f"""
            SELECT count(*) FROM sync_waiting
            WHERE tbl = '{table}' AND json_extract(key, '$[0]') IN {_LISTED}
            """,
            ids,
        )
        for table in OF_REPLIES
    )


def documents_left(conn: Connection, document_ids: Collection[str]) -> int:
    """Returns how many rows of any table still belong to erased documents."""
    own = count(conn, f"SELECT count(*) FROM documents WHERE id IN {_LISTED}", json.dumps(list(document_ids)))
    return own + _owned(conn, ("document_id",), document_ids)


def jobs_naming(conn: Connection, ids: Collection[str]) -> list[str]:
    """Returns the jobs whose key or payload names one of the ids."""
    gone = set(ids)
    return [
        job_id
        for job_id, key, payload in conn.execute("SELECT id, key, payload FROM jobs")
        if not gone.isdisjoint(_ID.findall(f"{key} {payload}"))
    ]


def _recalled_still(conn: Connection, ids: set[str]) -> int:
    """Returns the number of turns in which one of the ids was recalled and whose preface is not empty."""
    return sum(
        part.tier in TOLD and not ids.isdisjoint(part.ids) and _preface(conn, turn.reply_id)
        for turn in context.turns_naming(conn, ids)
        for part in turn.parts
    )


def _owned(conn: Connection, columns: Collection[str], ids: Collection[str]) -> int:
    """Returns the number of rows of any table that name one of the ids in one of these columns."""
    tables = conn.execute(
        """
        SELECT t.name, c.name FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
        WHERE t.schema = 'main' AND t.type = 'table' AND c.name IN (SELECT value FROM json_each(?))
        """,
        (json.dumps(list(columns)),),
    ).fetchall()
    names = json.dumps(list(ids))
    return sum(
        count(conn, f'SELECT count(*) FROM "{table}" WHERE "{column}" IN {_LISTED}', names)
        for table, column in tables
    )


def _owned_by_sources(conn: Connection, marks: Marks) -> int:
    return count(
        conn,
        f"SELECT count(*) FROM memory_sources WHERE message_id IN {_LISTED}",
        json.dumps(list(marks.ids)),
    )


def _preface(conn: Connection, reply_id: str) -> bool:
    row = conn.execute(
        "SELECT preface FROM messages WHERE id = (SELECT parent_id FROM messages WHERE id = ?)", (reply_id,)
    ).fetchone()
    return row is not None and row[0] != ""


def _in_indices(conn: Connection, entries: Iterable[Entry]) -> int:
    """Returns how many of the texts are still in a full-text index.

    Checks the table in which the index keeps the lengths of its rows, and looks up every word.
    """
    found = 0
    held = list(entries)
    for owner in {one.owner for one in held}:
        own = [one for one in held if one.owner == owner]
        rows = {one.row for one in own}
        span = min(rows), max(rows)
        gone = json.dumps([one.row for one in own if not one.kept])
        words = beginnings(" ".join({piece for one in own for piece in one.text.split()}))
        for index, wanted in (
            (f"{owner}_fts", set(words)),
            (f"{owner}_pieces", {piece for word in words for piece in _pieces(word)}),
        ):
            found += count(conn, f'SELECT count(*) FROM "{index}_docsize" WHERE id IN {_LISTED}', gone)
            found += sum(_holding(conn, index, word, rows, span) for word in wanted)
    return found


def _pieces(word: str) -> list[str]:
    """Returns the parts of a word by which the index of pieces can find it."""
    return [one for one in pieces(word) if len(one) >= _LEAST_PIECE]


def _holding(conn: Connection, index: str, word: str, rows: Collection[int], span: tuple[int, int]) -> int:
    hits = conn.execute(
        f"SELECT rowid FROM {index} WHERE {index} MATCH ? AND rowid BETWEEN ? AND ?",
        (f'"{word}"', *span),
    )
    return sum(row in rows for (row,) in hits)


def count(conn: Connection, sql: str, parameter: str) -> int:
    return int(conn.execute(sql, (parameter,)).fetchone()[0])
