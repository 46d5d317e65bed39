"""Gathers the messages that match a query, as fast as the query allows.

An index finds the latest occurrence of a word at once, but takes long to list many. Rows scattered over the
file cost far more than index entries. So the latest places are taken first, and the conditions on sessions
decide whether the index is followed or the sessions themselves are read.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from memory.entities import Message, RoomKind, Session
from memory.search.entities import All, Condition, MessageHit, Order, Page, Query, Snippet, Words
from memory.search.language import wanted_words
from memory.search.terms import is_unspaced, snippet
from memory.storage.connection import Connection
from memory.storage.queries import sessions
from memory.storage.queries.sessions import COLUMNS, message_of
from memory.storage.search.plan import (
    TRUE,
    Compiler,
    Lens,
    Parts,
    Sought,
    Sql,
    Stream,
    Surface,
    Typed,
    conjunction,
    only_texts,
    parts_of,
    plain,
    plainly,
    rarity,
    scores,
    session_conjunction,
    stream_of,
    surface_of,
    surfaces,
    told_by_surface,
)

# ruff: noqa: S608  # the names put into SQL are all written in this module
# ruff: noqa: S608  # the names put into SQL are all written in this package

LOADED = 4000
"""Leading characters of a message that ranking reads."""
FEW = 1_000
"""Messages in the wanted sessions, up to which these are read instead of the index."""
_WHOLE = 2**31 - 1
_READ_CLOSELY = 400
_MOST_PLACES = 5_000
_MOST_READ = 30_000
_FROM_SESSIONS = "sessions AS s CROSS JOIN messages AS m ON m.session_id = s.id"
_FROM_MESSAGES = "messages AS m CROSS JOIN sessions AS s ON s.id = m.session_id"
_LARGE_SHARE = 0.05
_AT_ONCE = 200
_LOOKED_AT_ONCE = 8
_ENOUGH = 3


@dataclass(frozen=True, slots=True)
class Row:
    """A matching message with the beginning of its text."""

    seq: int
    session_id: str
    created_at: int
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Gathered:
    """The gathered messages: all matches if `complete`, otherwise all matches from place `low` on."""

    rows: list[Row]
    complete: bool
    low: int | None = None


class Gatherer:
    """Gathers messages for one query in one state of a room."""

    def __init__(
        self,
        conn: Connection,
        compiler: Compiler,
        lens: Lens,
        parts: Parts,
        *,
        binned: bool = False,
        each: int | None = None,
    ) -> None:
        """With `each`, sessions are counted instead of messages, and `each` messages of one are enough."""
        self._conn = conn
        self._compiler = compiler
        self._lens = lens
        self.parts = parts
        self._there = "s.deleted_at IS NOT NULL" if binned else "s.deleted_at IS NULL"
        self._surfaces = surfaces(parts, lens)
        self._sessions = session_conjunction(compiler, parts)
        self._exact = any(told_by_surface(one) for one in parts.words)
        self._held: int | None = None
        self._each = each
        # Evaluated per session, the index would collect all occurrences of a word for each session.
        self._texts = () if compiler.whole else tuple(one for one in parts.others if only_texts(one))

    @property
    def has_index(self) -> bool:
        """Whether an index answers any of the words."""
        return bool(self.parts.indexed or self.parts.unspaced)

    def gather(self, want: int, least: int = 0) -> Gathered:
        """Returns the latest `want` matches (or sessions, if these count), or more to reach `least` matches.

        A larger result begins with the smaller one.
        """
        stream, left = stream_of(self._conn, self.parts)
        if stream is None or self._few():
            return self._walked(max(least, min(want, _READ_CLOSELY)))
        close = (*left, *self.parts.close)
        found = self._streamed(stream, close, want)
        while not found.complete and len(found.rows) < least and want < _MOST_PLACES:
            want = min(4 * want, _MOST_PLACES)
            found = self._streamed(stream, close, want)
        return found

    def look_into(self, session_id: str, below: int | None = None) -> list[Row]:
        """Returns a few matching messages of a session; with `below`, only those stored before that place."""
        where = Sql("s.id = ?", (session_id,))
        if below is not None:
            where = where & Sql("m.seq < ?", (below,))
        return list(islice(self._walk(where), _ENOUGH))

    def lacks(self, session_id: str, words: Condition) -> bool:
        """Whether no message of the session contains the words."""
        found = self._conn.execute(
            "SELECT content FROM messages WHERE session_id = ? AND status <> 'streaming'", (session_id,)
        )
        likely, exact = surfaces(Parts(indexed=(words,)), self._lens), told_by_surface(words)
        sure = plainly(words)
        while batch := [text for (text,) in found.fetchmany(_LOOKED_AT_ONCE)]:
            near = [text for text in batch if _may_fit(text, likely, exact=exact)]
            if near and (exact or any(_fits(text, sure) for text in near) or self._lens.fitting(near, words)):
                return False
        return True

    def among(self, message_ids: Collection[str]) -> list[Row]:
        """Returns those of these messages that match."""
        where = Sql("m.id IN (SELECT value FROM json_each(?))", (json.dumps(list(message_ids)),))
        return list(self._walk(where, _FROM_MESSAGES))

    # --- along an index ---------------------------------------------------------------------------

    def _streamed(self, stream: Stream, close: tuple[Condition, ...], want: int) -> Gathered:
        allowed = self._allowed()
        places = stream.read(self._conn, want + 1, allowed)
        complete = len(places) <= want
        rows = self._load(places[:want], _WHOLE if close else LOADED)
        if close:
            rows = self._fitting(rows, close)
        return Gathered(rows, complete, None if complete else places[want - 1])

    def _load(self, places: list[int], letters: int) -> list[Row]:
        where = Sql(self._there) & self._sessions & conjunction(self._compiler, self.parts.others)
        found = self._conn.execute(
            f"""
            SELECT m.seq, m.session_id, m.created_at, substr(m.content, 1, ?)
            FROM json_each(?) AS f CROSS JOIN messages AS m ON m.seq = f.value
            CROSS JOIN sessions AS s ON s.id = m.session_id
            WHERE {where.text}
            """,
            (letters, json.dumps(places), *where.parameters),
        )
        return sorted((Row(*one) for one in found), key=lambda row: -row.seq)

    def _allowed(self) -> Sql | None:
        """Returns SQL for the places that the conditions on sessions allow.

        None unless these are so few that it pays to skip the others within the index.
        """
        if self._sessions == TRUE:
            return None
        (newest,) = self._conn.execute("SELECT coalesce(max(seq), 0) FROM messages").fetchone()
        if self._allowed_messages() > _LARGE_SHARE * newest:
            return None
        return Sql(
            f"""
            SELECT m.seq FROM sessions AS s CROSS JOIN messages AS m ON m.session_id = s.id
            WHERE {self._there} AND {self._sessions.text}
            """,
            self._sessions.parameters,
        )

    def _few(self) -> bool:
        return self._sessions != TRUE and self._allowed_messages() <= FEW

    def _allowed_messages(self) -> int:
        """Returns how many messages the allowed sessions contain."""
        if self._held is not None:
            return self._held
        (self._held,) = self._conn.execute(
            f"""
            SELECT coalesce(sum(s.message_count), 0) FROM sessions AS s
            WHERE {self._there} AND {self._sessions.text}
            """,
            self._sessions.parameters,
        ).fetchone()
        return int(self._held or 0)

    # --- along the sessions -----------------------------------------------------------------------

    def _walked(self, want: int) -> Gathered:
        rows: list[Row] = []
        seen = read = 0
        every = self._conn.execute(
            f"""
            SELECT s.id, s.message_count FROM sessions AS s WHERE {self._there} AND {self._sessions.text}
            ORDER BY s.updated_at DESC, s.id DESC
            """,
            self._sessions.parameters,
        )
        for session_id, messages in every:
            found = list(islice(self._walk(Sql("s.id = ?", (session_id,))), self._each))
            rows += found
            seen += bool(found)
            read += messages
            if (len(rows) if self._each is None else seen) > want or read > _MOST_READ:
                return Gathered(rows, complete=False)
        return Gathered(rows, complete=True)

    def _walk(self, where: Sql, source: str = _FROM_SESSIONS) -> Iterator[Row]:
        """Yields the matching messages among those for which `where` is true; `source` is the join order."""
        where = (
            Sql(f"{self._there} AND m.status <> 'streaming'")
            & where
            & self._sessions
            & conjunction(self._compiler, (one for one in self.parts.others if one not in self._texts))
        )
        found = self._conn.execute(
            f"""
            SELECT m.seq, m.session_id, m.created_at, m.content FROM {source} WHERE {where.text}
            """,
            where.parameters,
        )
        at_once = _LOOKED_AT_ONCE
        while batch := [Row(*one) for one in found.fetchmany(at_once)]:
            yield from self._sure_first(batch, (*self.parts.words, *self._texts))
            at_once = min(4 * at_once, _AT_ONCE)

    def _sure_first(self, rows: list[Row], wanted: tuple[Condition, ...]) -> Iterator[Row]:
        """Yields the rows whose texts satisfy the conditions about words.

        Certain matches come before the lens is asked about the others, which takes longer than all the rest.
        """
        likely = [row for row in rows if not wanted or _may_fit(row.text, self._surfaces, exact=self._exact)]
        asked = tuple(one for one in wanted if not told_by_surface(one))
        if not asked:
            yield from likely
            return
        whole = All(asked) if len(asked) > 1 else asked[0]
        sure = plainly(whole)
        others = []
        for row in likely:
            if _fits(row.text, sure):
                yield row
            else:
                others.append(row)
        if others:
            fit = self._lens.fitting([row.text for row in others], whole)
            yield from (row for at, row in enumerate(others) if at in fit)

    def _fitting(self, rows: list[Row], wanted: tuple[Condition, ...]) -> list[Row]:
        """Returns the rows of `_sure_first`, latest stored first."""
        return sorted(self._sure_first(rows, wanted), key=lambda row: -row.seq)


def _fits(text: str, sure: Sequence[Sequence[Typed]] | None) -> bool:
    """Whether a text matches for certain, as `plainly` defines it."""
    if sure is None or not text.isascii():
        return False
    folded = plain(text)
    return all(any(one.is_in(folded) for one in choice) for choice in sure)


def _may_fit(text: str, wanted: Sequence[Sequence[Surface]], *, exact: bool) -> bool:
    folded = plain(text)
    return all(
        any(one.is_in(folded) if exact else one.may_be_in(folded) for one in choice) for choice in wanted
    )


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
