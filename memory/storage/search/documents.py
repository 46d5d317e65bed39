"""Finds the documents that match a query, each at the chunk that matches best."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from memory.documents.entities import Chunk, DocumentKind, DocumentMatch
from memory.entities import RoomKind
from memory.search.entities import (
    All,
    AnyOf,
    Condition,
    Field,
    Is,
    ItemKind,
    Mark,
    Named,
    Not,
    Order,
    Page,
    Query,
    Snippet,
    When,
    Words,
)
from memory.search.language import wanted_words
from memory.search.terms import LETTERS_A_PIECE, is_unspaced, merged, snippet
from memory.storage.connection import Connection, storable
from memory.storage.queries import documents
from memory.storage.search.gathering import rarities
from memory.storage.search.plan import (
    FALSE,
    TRUE,
    Lens,
    Sought,
    Sql,
    expression,
    is_named,
    joined,
    occurrences,
    only_words,
    scores,
    surface_of,
    when,
)

EXAMINED = 3_000
"""Matching chunks that are grouped by document, those stored last."""
RANKED = 300
"""Of these, chunks whose texts are compared."""
_LEAST_PREFIX = 2
"""Letters of the beginning of a word; a single letter is searched for as a word, because it would be in every
chunk.
"""
_LISTED = "(SELECT value FROM json_each(?))"
_SEARCHED = ", ".join(f"'{state}'" for state in documents.SEARCHED)
_SHOWN = (
    f"d.state IN ({_SEARCHED}) AND d.id NOT IN (SELECT document_id FROM notes WHERE deleted_at IS NOT NULL)"
)
"""The documents that are found: none whose file is archived, no note in the bin."""
_DATED = """
    coalesce(
        d.modified_ns / 1000, (SELECT updated_at FROM notes WHERE document_id = d.id), d.added_at
    )
"""


@dataclass(frozen=True, slots=True)
class _Found:
    document: str
    dated: int
    seq: int | None = None
    score: float = 0.0
    matches: int = 0


def find(
    conn: Connection,
    lens: Lens,
    room: RoomKind,
    query: Query,
    *,
    kind: ItemKind,
    limit: int,
    order: Order,
) -> Page[DocumentMatch]:
    """Returns the best or the latest documents, or notes. Excluded words must be nowhere in them.

    If the query has no words, the documents have no chunk.
    """
    where = query.where
    wanted = list(wanted_words(where))
    if wanted:
        found, complete = _chunks(conn, lens, room, kind, where, wanted)
    else:
        found, complete = _listed(conn, room, kind, where), True
    by_score = order is Order.BEST and bool(wanted)
    found.sort(key=lambda one: (one.score if by_score else 0.0, one.dated, one.document), reverse=True)
    shown = found[: max(limit, 0)]
    hits = _matches(conn, lens, room, DocumentKind(kind.value), shown, wanted)
    return Page(tuple(hits), len(found), not complete)


def among(
    conn: Connection, room: RoomKind, query: Query, chunk_ids: Collection[str], *, kind: ItemKind
) -> frozenset[str]:
    """Returns those of these chunks of documents, or of notes, that match."""
    allowed = TRUE if query.where is None else _Compiler(room).on_chunk(query.where)
    rows = conn.execute(
        f"""
        SELECT c.id FROM chunks AS c JOIN documents AS d ON d.id = c.document_id
        WHERE c.id IN {_LISTED} AND d.kind = ? AND {allowed.text}
        """,
        (json.dumps(list(chunk_ids)), kind.value, *allowed.parameters),
    )
    return frozenset(row[0] for row in rows.fetchall())


def _listed(conn: Connection, room: RoomKind, kind: ItemKind, where: Condition | None) -> list[_Found]:
    allowed = TRUE if where is None else _Compiler(room).on_chunk(where)
    rows = conn.execute(
        f"SELECT d.id, {_DATED} FROM documents AS d WHERE {_SHOWN} AND d.kind = ? AND {allowed.text}",
        (kind.value, *allowed.parameters),
    )
    return [_Found(document, dated) for document, dated in rows.fetchall()]


def _chunks(
    conn: Connection,
    lens: Lens,
    room: RoomKind,
    kind: ItemKind,
    where: Condition | None,
    wanted: Sequence[Words],
) -> tuple[list[_Found], bool]:
    """Returns the documents of the matching chunks, each with its best one, and whether these are all."""
    allowed = TRUE if where is None else _Compiler(room).on_chunk(where)
    rows = conn.execute(
        f"""
        SELECT c.seq, d.id, {_DATED} FROM chunks AS c JOIN documents AS d ON d.id = c.document_id
        WHERE {_SHOWN} AND d.kind = ? AND {allowed.text} ORDER BY c.seq DESC LIMIT ?
        """,
        (kind.value, *allowed.parameters, EXAMINED + 1),
    ).fetchall()
    dated: dict[str, int] = {}
    seqs: dict[str, list[int]] = {}
    for seq, document, at in rows[:EXAMINED]:
        dated[document] = at
        seqs.setdefault(document, []).append(seq)
    values = _scores(conn, lens, wanted, _to_rank(seqs, dated))
    found = []
    for document, own in seqs.items():
        # Of equals, the first one in the document.
        best = max(reversed(own), key=lambda seq: values.get(seq, 0.0))
        found.append(_Found(document, dated[document], best, values.get(best, 0.0), len(own)))
    return found, len(rows) <= EXAMINED


def _to_rank(seqs: Mapping[str, Sequence[int]], dated: Mapping[str, int]) -> list[int]:
    """Returns the chunks that are compared: as many of each document, its first ones."""
    latest = sorted(seqs, key=lambda document: (dated[document], document), reverse=True)[:RANKED]
    each = RANKED // max(len(latest), 1)
    return [seq for document in latest for seq in seqs[document][-each:]]


def _scores(conn: Connection, lens: Lens, wanted: Sequence[Words], seqs: Sequence[int]) -> dict[int, float]:
    rows = conn.execute(
        f"SELECT seq, context || char(10) || text FROM chunks WHERE seq IN {_LISTED}", (json.dumps(seqs),)
    ).fetchall()
    rare = rarities(conn, wanted, "chunks") if len(wanted) > 1 and rows else {}
    sought = [Sought(surface_of(one, lens), rare.get(one, 1.0)) for one in wanted]
    together = " ".join(one.text for one in wanted) if len(wanted) > 1 else ""
    values = scores([text for _seq, text in rows], sought, together)
    return {seq: value for (seq, _text), value in zip(rows, values, strict=True)}


def _matches(
    conn: Connection,
    lens: Lens,
    room: RoomKind,
    kind: DocumentKind,
    found: Sequence[_Found],
    wanted: Sequence[Words],
) -> list[DocumentMatch]:
    loaded = documents.hits(conn, [one.seq for one in found if one.seq is not None])
    chunks: list[Chunk | None] = [None if one.seq is None else loaded[one.seq].chunk for one in found]
    marks = iter(lens.marks([one.text for one in chunks if one is not None], wanted))
    made = []
    for one, chunk in zip(found, chunks, strict=True):
        document = documents.get(conn, one.document)
        title = Snippet(document.title, marks_in(document.title, wanted))
        piece = None if chunk is None else snippet(chunk.text, next(marks))
        made.append(DocumentMatch(document, room, title, one.score, chunk, piece, one.matches, kind))
    return made


def marks_in(title: str, wanted: Sequence[Words]) -> tuple[tuple[int, int], ...]:
    """Returns the ranges of the words in a title."""
    return merged([at for one in wanted for word in one.text.split() for at in occurrences(title, word)])


class _Compiler:
    """Compiles conditions to SQL that is true for the matching chunks `c` of the documents `d`."""

    def __init__(self, room: RoomKind) -> None:
        self._room = room
        self._numbers = count(1)

    def on_chunk(self, part: Condition, c: str = "c", d: str = "d") -> Sql:
        match part:
            case All() | AnyOf() if only_words(part):
                # The index answers all of them at once, many times faster.
                return _in_index(part, c)
            case All(parts):
                return joined(" AND ", [self.on_chunk(one, c, d) for one in parts])
            case AnyOf(parts):
                return joined(" OR ", [self.on_chunk(one, c, d) for one in parts])
            case Not(inner):
                return self._nowhere(inner, d)
            case Words():
                return _words(part, c)
            case When():
                dated = _DATED.replace("d.", f"{d}.")
                return when(part, dated, dated)
            case Named(Field.PROJECT, name, prefix):
                if not name:
                    return Sql(f"{d}.project_id IS NOT NULL")
                called = is_named("name", name, prefix=prefix)
                return Sql(
                    f"{d}.project_id IN (SELECT id FROM projects WHERE {called.text})", called.parameters
                )
            case Is(Mark.PRIVATE):
                return TRUE if self._room is RoomKind.PRIVATE else FALSE
            case _:
                # Documents have no tags, marks, models or authors of messages.
                return FALSE

    def _nowhere(self, inner: Condition, d: str) -> Sql:
        number = next(self._numbers)
        c, e = f"c{number}", f"d{number}"
        if not any(wanted_words(inner)):
            of_document = self.on_chunk(inner, c, d)
            return Sql(f"NOT ({of_document.text})", of_document.parameters)
        excluded = self.on_chunk(inner, c, e)
        return Sql(
            f"{d}.id NOT IN (SELECT {c}.document_id FROM chunks AS {c}"
            f" JOIN documents AS {e} ON {e}.id = {c}.document_id WHERE {excluded.text})",
            excluded.parameters,
        )


def _in_index(part: Condition, c: str) -> Sql:
    return Sql(
        f"{c}.seq IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?)", (expression(_whole(part)),)
    )


def _whole(part: Condition) -> Condition:
    """Returns the condition with single letters as whole words."""
    match part:
        case All(parts):
            return All(tuple(map(_whole, parts)))
        case AnyOf(parts):
            return AnyOf(tuple(map(_whole, parts)))
        case Words(text, prefix=True) if len(text.split()[-1]) < _LEAST_PREFIX:
            return Words(text)
        case _:
            return part


def _words(part: Words, c: str) -> Sql:
    if not is_unspaced(part.text):
        return _in_index(part, c)
    if len(part.text) >= LETTERS_A_PIECE:
        return Sql(
            f"{c}.seq IN (SELECT rowid FROM chunks_pieces WHERE chunks_pieces MATCH ?)",
            (f'"{storable(part.text)}"',),
        )
    return Sql(
        f"({c}.seq IN (SELECT id FROM chunks_pieces_docsize)"
        f" AND instr({c}.context || char(10) || {c}.text, ?) > 0)",
        (storable(part.text),),
    )
