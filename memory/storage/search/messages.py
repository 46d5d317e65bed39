"""Finds, ranks and scores the messages that match a query, and makes their snippets."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Collection, Mapping, Sequence

from memory.entities import Message, RoomKind, Session
from memory.search.entities import MessageHit, Order, Page, Query, Snippet, Words
from memory.search.language import wanted_words
from memory.search.snippets import snippet
from memory.search.terms import is_unspaced
from memory.storage.connection import Connection
from memory.storage.queries import sessions
from memory.storage.queries.messages import COLUMNS, message_of
from memory.storage.search.gathering import Gatherer, Row
from memory.storage.search.match_locator import Lens
from memory.storage.search.plan import Parts, parts_of, surface_of
from memory.storage.search.ranking import Sought, rarity, scores
from memory.storage.search.sql import Compiler

WINDOW = 600
"""Newest matching messages that are ranked; all of them if no more match."""
_COUNTED = 5_000


def find(
    conn: Connection, lens: Lens, room: RoomKind, query: Query, *, limit: int, offset: int, order: Order
) -> Page[MessageHit]:
    parts = parts_of(conn, query.where, whole=False)
    gatherer = Gatherer(conn, Compiler(room, whole=False), lens, parts)
    wanted = max(offset, 0) + max(limit, 0)
    found = gatherer.gather(max(WINDOW, min(wanted + 1, _COUNTED)), min(wanted + 1, _COUNTED))
    ranked = rank(conn, lens, parts, found.rows[:WINDOW], order)
    ranked += [(0.0, row) for row in found.rows[WINDOW:]]
    shown = ranked[max(offset, 0) : wanted]
    hits = hits_of(conn, lens, room, query, shown)
    further = len(found.rows) > wanted
    return Page(tuple(hits), len(found.rows), not found.complete, wanted if further else None)


def among(
    conn: Connection, lens: Lens, room: RoomKind, query: Query, message_ids: Sequence[str]
) -> list[MessageHit]:
    parts = parts_of(conn, query.where, whole=False)
    rows = Gatherer(conn, Compiler(room, whole=False), lens, parts).among(message_ids)
    hits = hits_of(conn, lens, room, query, [(0.0, row) for row in rows])
    places = {message_id: at for at, message_id in enumerate(message_ids)}
    return sorted(hits, key=lambda hit: places[hit.message.id])


def rank(
    conn: Connection, lens: Lens, parts: Parts, rows: Sequence[Row], order: Order
) -> list[tuple[float, Row]]:
    """Returns the rows with their scores, best first, or latest first if asked for or without words."""
    scored = list(zip(score(conn, lens, parts, rows), rows, strict=True))
    if order is Order.RECENT or not parts.looks_for_words:
        return sorted(scored, key=lambda one: (one[1].created_at, one[1].seq), reverse=True)
    return sorted(scored, key=lambda one: (one[0], one[1].seq), reverse=True)


def score(conn: Connection, lens: Lens, parts: Parts, rows: Sequence[Row]) -> list[float]:
    looked_for = [one for part in parts.words for one in wanted_words(part)]
    together = " ".join(one.text for one in looked_for) if len(looked_for) > 1 else ""
    rare = rarities(conn, looked_for) if len(looked_for) > 1 and rows else {}
    sought = [Sought(surface_of(one, lens), rare.get(one, 1.0)) for one in looked_for]
    return scores([row.text for row in rows], sought, together)


def rarities(conn: Connection, looked_for: Collection[Words], of: str = "messages") -> Mapping[Words, float]:
    """Returns the rarity of whole words only: counting how often a prefix occurs would take long. `of` is the
    table whose texts are searched."""
    (documents,) = conn.execute(f"SELECT count(*) FROM (SELECT 1 FROM {of} LIMIT ?)", (_COUNTED,)).fetchone()
    found = {}
    for one in looked_for:
        if not one.prefix and not is_unspaced(one.text):
            (holders,) = conn.execute(
                f"SELECT count(*) FROM (SELECT 1 FROM {of}_fts WHERE {of}_fts MATCH ? LIMIT ?)",
                (f'"{one.text}"', documents),
            ).fetchone()
            found[one] = rarity(documents, holders)
    return found


def hits_of(
    conn: Connection, lens: Lens, room: RoomKind, query: Query, scored: Sequence[tuple[float, Row]]
) -> list[MessageHit]:
    """Returns the hits in the order of `scored`."""
    messages = messages_at(conn, [row.seq for _, row in scored])
    of: dict[str, Session] = {}
    for message in messages.values():
        if message.session_id not in of:
            of[message.session_id] = sessions.get(conn, message.session_id, room)
    shown = [(value, messages[row.seq]) for value, row in scored if row.seq in messages]
    snippets = snippets_of(lens, query, [message.content for _, message in shown])
    return [
        MessageHit(message, of[message.session_id], value, piece, (("lexical", value),) if value else ())
        for (value, message), piece in zip(shown, snippets, strict=True)
    ]


def snippets_of(lens: Lens, query: Query, texts: Sequence[str]) -> list[Snippet]:
    marks = lens.marks(texts, list(wanted_words(query.where)))
    return [snippet(text, ranges) for text, ranges in zip(texts, marks, strict=True)]


def messages_at(conn: Connection, seqs: Sequence[int]) -> dict[int, Message]:
    rows = conn.execute(
        f"SELECT {COLUMNS}, m.seq FROM messages AS m WHERE m.seq IN (SELECT value FROM json_each(?))",
        (json.dumps(list(seqs)),),
    )
    return {row[-1]: message_of(row) for row in rows}
