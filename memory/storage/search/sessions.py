"""Finds the sessions that match a query, in display order, one page at a time."""
# ruff: noqa: S608  # the names put into SQL are all written in this package

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from memory.entities import RoomKind
from memory.search.entities import (
    All,
    Condition,
    Not,
    Order,
    Page,
    Query,
    SaidBy,
    SessionHit,
    Snippet,
    When,
    Words,
)
from memory.search.language import wanted_words
from memory.search.terms import merged
from memory.storage.connection import Connection
from memory.storage.queries import sessions
from memory.storage.search import gathering
from memory.storage.search.gathering import Gathered, Gatherer, Row
from memory.storage.search.plan import (
    FALSE,
    Compiler,
    Lens,
    Sql,
    conjunction,
    is_frequent,
    occurrences,
    parts_of,
    session_conjunction,
)

WINDOW = 600
"""Newest matching messages from which sessions are derived before sessions are searched one by one."""
COUNTED = 1_000
_MOST_LOOKED_INTO = 150
_MOST_WALKED = 2_000
_MOST_PASSED = 3_000
_EACH = 3
_RANKED = 60
_TITLE = 0.5
"""Score that a matching title adds to that of the session's best message."""


@dataclass(frozen=True, slots=True)
class Found:
    """A matching session and those of its matching messages that are known."""

    id: str
    updated_at: int
    rows: list[Row] = field(default_factory=list)
    titled: bool = False
    apart: bool = False
    """Its words are in different messages."""


class Candidates:
    """The sessions that match one non-empty query in one state of a room."""

    def __init__(
        self, conn: Connection, lens: Lens, room: RoomKind, where: Condition, *, binned: bool
    ) -> None:
        self._conn = conn
        self._lens = lens
        self._compiler = Compiler(room, whole=True)
        self._parts = parts_of(conn, where, whole=True)
        self._gatherer = Gatherer(conn, self._compiler, lens, self._parts, binned=binned, each=_EACH)
        self._scores: dict[int, float] = {}
        there = "s.deleted_at IS NOT NULL" if binned else "s.deleted_at IS NULL"
        self._allowed = Sql(there) & session_conjunction(self._compiler, self._parts)

    def find(self, order: Order, end: int) -> tuple[list[Found], bool]:
        """Returns at least `end` + 1 matching sessions, if there are that many, and whether these are all."""
        source: Iterable[Found]
        most: int | None = None
        complete = True
        if not self._parts.looks_for_words:
            source, most = self._filtered(), max(end, COUNTED) + 1
        else:
            gathered = self._gathered(order)
            complete = gathered.complete
            if order is Order.BEST:
                source = self._best(gathered)
            elif complete:
                source = sorted(self._known(gathered), key=lambda one: (one.updated_at, one.id), reverse=True)
            else:
                source = self._in_order(gathered)
            if not complete:
                most = end + 1
        if self._parts.absent:
            # Sessions are searched one by one, so no more of them than are shown.
            looked_into = list(islice(source, _MOST_LOOKED_INTO + 1))
            complete = complete and len(looked_into) <= _MOST_LOOKED_INTO
            source, most = filter(self._lacks, looked_into[:_MOST_LOOKED_INTO]), end + 1
        found = list(islice(source, most))
        return found, complete and (most is None or len(found) < most)

    def every(self) -> list[Found]:
        """Returns all matching sessions, latest used first, however long it takes, without their messages."""
        where = self._allowed
        for words in self._parts.absent:
            where = where & self._compiler.on_session(Not(words))
        if given := self._parts.of_messages:
            where = where & self._compiler.on_session(All(given) if len(given) > 1 else given[0])
        rows = self._conn.execute(
            f"""
            SELECT s.id, s.updated_at FROM sessions AS s WHERE {where.text}
            ORDER BY s.updated_at DESC, s.id DESC
            """,
            where.parameters,
        )
        return [Found(session_id, updated_at) for session_id, updated_at in rows]

    def best_row(self, found: Found) -> tuple[float, Row] | None:
        """Returns the best of a session's known messages with its score; None if none is known."""
        self.score([found])
        scored = [(self._scores[row.seq], row) for row in found.rows]
        return max(scored, key=lambda one: (one[0], one[1].seq), default=None)

    # --- sources ----------------------------------------------------------------------------------

    def _gathered(self, order: Order) -> Gathered:
        if order is Order.RECENT and not self._gatherer.has_index:
            # One message per session is enough, so sessions are searched one by one.
            return Gathered([], complete=False)
        return self._gatherer.gather(WINDOW if self._gatherer.has_index else _RANKED)

    def count(self) -> int | None:
        """Returns the number of matching sessions; None if text would have to be read for that."""
        parts = self._parts
        told = all(isinstance(one, SaidBy | When) for one in parts.others)
        if parts.looks_for_words or parts.absent or not told:
            return None
        where = self._filter()
        (found,) = self._conn.execute(
            f"SELECT count(*) FROM sessions AS s WHERE {where.text}", where.parameters
        ).fetchone()
        return int(found)

    def _filter(self) -> Sql:
        """Returns the condition for all requirements on sessions and messages except words."""
        where = self._allowed
        if others := self._parts.others:
            titled, said = self._titled(), conjunction(self._compiler, others)
            where = where & Sql(
                f"""
                ({titled.text} OR EXISTS (
                    SELECT 1 FROM messages AS m
                    WHERE m.session_id = s.id AND m.status <> 'streaming' AND {said.text}
                ))
                """,
                (*titled.parameters, *said.parameters),
            )
        return where

    def _filtered(self) -> Iterator[Found]:
        """Yields all sessions that satisfy the conditions other than words, latest used first."""
        where = self._filter()
        rows = self._conn.execute(
            f"""
            SELECT s.id, s.updated_at FROM sessions AS s WHERE {where.text}
            ORDER BY s.updated_at DESC, s.id DESC
            """,
            where.parameters,
        )
        for session_id, updated_at in rows:
            yield Found(session_id, updated_at, titled=True)

    def _in_order(self, gathered: Gathered) -> Iterator[Found]:
        """Yields the matching sessions, latest used first.

        Searches single sessions only where the gathered (newest) messages do not cover them.
        """
        of = _by_session(gathered.rows)
        titled = self._titled()
        every = self._conn.execute(
            f"""
            SELECT s.id, s.updated_at, {titled.text} FROM sessions AS s
            WHERE {self._allowed.text} ORDER BY s.updated_at DESC, s.id DESC
            """,
            (*titled.parameters, *self._allowed.parameters),
        )
        left = _MOST_LOOKED_INTO if self._gatherer.has_index else _MOST_WALKED
        passed = _MOST_PASSED
        for session_id, updated_at, has_title in every:
            rows = of.get(session_id, [])
            if not rows and not has_title and left and passed:
                passed -= 1
                if self._begins_before(session_id, gathered.low):
                    left -= 1
                    rows = self._gatherer.look_into(session_id, gathered.low)
            if rows or has_title:
                yield Found(session_id, updated_at, rows, bool(has_title))

    def _begins_before(self, session_id: str, low: int | None) -> bool:
        """Whether the session has messages stored before `low` (not gathered); True if `low` is None."""
        if low is None:
            return True
        (first,) = self._conn.execute(
            "SELECT min(seq) FROM messages WHERE session_id = ?", (session_id,)
        ).fetchone()
        return first is not None and first < low

    def _best(self, gathered: Gathered) -> Iterator[Found]:
        """Yields the sessions that the gathered messages cover, best first, then the others."""
        found = self._known(gathered)
        self.score(found)
        value = {
            one.id: max((self._scores[row.seq] for row in one.rows), default=0.0) + _TITLE * one.titled
            for one in found
        }
        yield from sorted(found, key=lambda one: (value[one.id], one.updated_at, one.id), reverse=True)
        if not gathered.complete:
            yield from (one for one in self._in_order(gathered) if one.id not in value)

    def _known(self, gathered: Gathered) -> list[Found]:
        """Returns the sessions of the gathered messages and those whose title matches."""
        of = _by_session(gathered.rows)
        titled = self._titled()
        named = self._conn.execute(
            f"SELECT s.id, s.updated_at FROM sessions AS s WHERE {self._allowed.text} AND {titled.text}",
            (*self._allowed.parameters, *titled.parameters),
        ).fetchall()
        spoken = self._conn.execute(
            "SELECT s.id, s.updated_at FROM json_each(?) AS f CROSS JOIN sessions AS s ON s.id = f.value",
            (json.dumps(list(of)),),
        ).fetchall()
        names = {session_id for session_id, _ in named}
        return [
            Found(session_id, updated_at, of.get(session_id, []), session_id in names)
            for session_id, updated_at in {**dict(named), **dict(spoken)}.items()
        ]

    # --- words in different messages --------------------------------------------------------------

    def scattered(self, known: Collection[str], most: int) -> tuple[list[Found], bool]:
        """Returns at most `most` sessions that have each of the words, but in different messages or a title.

        The `known` ones are left out; the latest used comes first. Also returns whether these are all. Only a
        query of several words has such sessions; frequent words are searched for in only a few sessions.
        """
        parts = self._parts
        words = [one for one in (*parts.indexed, *parts.close, *parts.unspaced) if isinstance(one, Words)]
        if len(words) < 2 or len(words) != len(parts.of_messages) or parts.absent:
            return [], True
        frequent = [one for one in words if is_frequent(self._conn, one)]
        rare = [one for one in words if one not in frequent]
        if not rare:
            # Words this common occur together in some messages, and these are enough.
            return [], True
        where = self._allowed
        for one in rare:
            where = where & self._compiler.on_session(one)
        rows = self._conn.execute(
            f"""
            SELECT s.id, s.updated_at FROM sessions AS s WHERE {where.text}
            ORDER BY s.updated_at DESC, s.id DESC
            """,
            where.parameters,
        )
        lead = Gatherer(
            self._conn,
            self._compiler,
            self._lens,
            parts_of(self._conn, rare[0], whole=True),
            each=_EACH,
        )
        found: list[Found] = []
        left = _MOST_LOOKED_INTO
        for session_id, updated_at in rows:
            if session_id in known:
                continue
            if len(found) >= most or not left:
                return found, False
            left -= 1
            if not any(self._misses(session_id, one) for one in frequent):
                found.append(Found(session_id, updated_at, lead.look_into(session_id), apart=True))
        return found, True

    def _misses(self, session_id: str, words: Condition) -> bool:
        """Whether neither the title nor a message of the session contains the words."""
        titled = self._compiler.on_title(words)
        named = self._conn.execute(
            f"SELECT 1 FROM sessions AS s WHERE s.id = ? AND {titled.text}", (session_id, *titled.parameters)
        ).fetchone()
        return named is None and self._gatherer.lacks(session_id, words)

    # --- parts ------------------------------------------------------------------------------------

    def _titled(self) -> Sql:
        """Returns a condition that is true if a session's title meets the requirements on messages."""
        given = self._parts.of_messages
        if not given:
            return FALSE
        return self._compiler.on_title(All(given) if len(given) > 1 else given[0])

    def _lacks(self, found: Found) -> bool:
        """Whether neither the title nor a message of the session contains words that must be absent."""
        return all(self._misses(found.id, words) for words in self._parts.absent)

    def score(self, found: Sequence[Found]) -> None:
        """Scores the known messages of all these sessions against each other."""
        rows = [row for one in found for row in one.rows if row.seq not in self._scores]
        if rows:
            values = gathering.score(self._conn, self._lens, self._parts, rows)
            self._scores.update(zip((row.seq for row in rows), values, strict=True))


def _by_session(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.session_id, []).append(row)
    return found


# Counted from indexes alone: sessions neither in the bin nor archived, and those in the bin.
_EVERY = """
    SELECT (SELECT count(*) FROM sessions WHERE deleted_at IS NULL)
        - (SELECT count(*) FROM sessions WHERE archived_at IS NOT NULL AND deleted_at IS NULL)
"""
_BINNED = "SELECT count(*) FROM sessions WHERE deleted_at IS NOT NULL"


class SessionSearch:
    """A search for sessions: one query in one state of a room."""

    def __init__(
        self, conn: Connection, lens: Lens, room: RoomKind, query: Query, *, binned: bool = False
    ) -> None:
        self._conn = conn
        self._lens = lens
        self._room = room
        self._query = query
        self._binned = binned

    def page(
        self,
        *,
        limit: int,
        offset: int,
        order: Order,
        snippets: bool,
        exhaustive: bool = False,
        scattered: bool = False,
    ) -> Page[SessionHit]:
        begin, end = max(offset, 0), max(offset, 0) + max(limit, 0)
        where = self._query.where
        if where is None:
            return self._listed(begin, end)
        candidates = Candidates(self._conn, self._lens, self._room, where, binned=self._binned)
        found, complete = (candidates.every(), True) if exhaustive else candidates.find(order, end)
        if scattered and complete:
            # Below those that have the words together, so they are needed only at the end of these.
            more, complete = candidates.scattered(
                {one.id for one in found}, max(end - len(found), 0) + COUNTED
            )
            found = [*found, *more]
        hits = self._hits(candidates, found[begin:end], snippets=snippets and not exhaustive)
        further = end if len(found) > end else None
        if not complete and (counted := candidates.count()) is not None:
            return Page(tuple(hits), counted, next_offset=further)
        return Page(tuple(hits), len(found), not complete, further)

    def _listed(self, begin: int, end: int) -> Page[SessionHit]:
        """Returns a page of all sessions, in the order of the session list."""
        listed = sessions.select(
            self._conn, self._room, limit=end - begin, offset=begin, binned=self._binned, containing=""
        )
        (total,) = self._conn.execute(_BINNED if self._binned else _EVERY).fetchone()
        hits = tuple(SessionHit(one, Snippet(one.title)) for one in listed)
        return Page(hits, total, next_offset=end if total > end else None)

    def _hits(self, candidates: Candidates, found: Sequence[Found], *, snippets: bool) -> list[SessionHit]:
        if snippets:
            candidates.score(found)
        best = [candidates.best_row(one) if snippets else None for one in found]
        said = gathering.messages_at(self._conn, [row.seq for _, row in filter(None, best)])
        texts = [said[row.seq].content for _, row in filter(None, best)]
        pieces = iter(gathering.snippets_of(self._lens, self._query, texts))
        hits = []
        for one, chosen in zip(found, best, strict=True):
            session = sessions.get(self._conn, one.id, self._room)
            title = Snippet(session.title, self._title_marks(session.title))
            if chosen is None:
                hits.append(SessionHit(session, title, matches=len(one.rows)))
                continue
            value, row = chosen
            # Next to those of another room, it also ranks below all that have the words together.
            value = 0.0 if one.apart else value
            hits.append(SessionHit(session, title, value, said[row.seq], next(pieces), len(one.rows)))
        return hits

    def _title_marks(self, title: str) -> tuple[tuple[int, int], ...]:
        wanted = [word for one in wanted_words(self._query.where) for word in one.text.split()]
        return merged([place for word in wanted for place in occurrences(title, word)])
