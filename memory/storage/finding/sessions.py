"""A page of sessions."""
# ruff: noqa: S608  # the names put into SQL are all written in this package

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from memory.entities import RoomKind
from memory.search.entities import All, Condition, Order, Page, Query, SessionHit, Snippet
from memory.search.language import wanted_words
from memory.search.snippets import merged
from memory.storage.connection import Connection
from memory.storage.finding import messages
from memory.storage.finding.gathering import Gathered, Gatherer, Row
from memory.storage.finding.lens import Lens, occurrences
from memory.storage.finding.plan import Parts, conjunction, parts_of, session_conjunction
from memory.storage.finding.sql import FALSE, TRUE, Compiler, Sql
from memory.storage.queries import sessions

WINDOW = 1_000
"""Messages that fit, the latest stored first, from which the sessions are found at once."""
_COUNTED = 1_000
_MOST_CHECKED = 300
_TITLE = 0.5
"""What a title that fits is worth beside the best message."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A session that fits, with those of its messages that are known to."""

    id: str
    updated_at: int
    rows: list[Row] = field(default_factory=list)
    titled: bool = False


class SessionSearch:
    """One query in one state of a room."""

    def __init__(
        self, conn: Connection, lens: Lens, room: RoomKind, query: Query, *, binned: bool = False
    ) -> None:
        self._conn = conn
        self._lens = lens
        self._room = room
        self._query = query
        self._compiler = Compiler(room, whole=True)
        self._parts: Parts = parts_of(conn, query.where, whole=True)
        self._gatherer = Gatherer(conn, self._compiler, lens, self._parts, binned=binned)
        self._there = "s.deleted_at IS NOT NULL" if binned else "s.deleted_at IS NULL"
        self._binned = binned
        self._scores: dict[int, float] = {}

    def page(self, *, limit: int, offset: int, order: Order, snippets: bool) -> Page[SessionHit]:
        begin, end = max(offset, 0), max(offset, 0) + max(limit, 0)
        if self._query.where is None:
            return self._listed(begin, end)
        if not self._parts.looks_for_words:
            found, complete = self._filtered(max(end + 1, _COUNTED + 1))
        elif order is Order.BEST:
            found, complete = self._best(end + 1)
        else:
            found, complete = self._recent(end + 1)
        hits = self._hits(found[begin:end], snippets=snippets)
        return Page(tuple(hits), len(found), not complete, end if len(found) > end else None)

    # --- without words ----------------------------------------------------------------------------

    def _listed(self, begin: int, end: int) -> Page[SessionHit]:
        """All of them, as the list of sessions has them."""
        listed = sessions.select(
            self._conn, self._room, limit=end - begin, offset=begin, binned=self._binned, containing=""
        )
        unfiled = "" if self._binned else "AND s.archived_at IS NULL"
        (total,) = self._conn.execute(
            f"SELECT count(*) FROM (SELECT 1 FROM sessions AS s WHERE {self._there} {unfiled} LIMIT ?)",
            (max(end, _COUNTED) + 1,),
        ).fetchone()
        counted = min(total, max(end, _COUNTED))
        return Page(
            tuple(SessionHit(one, Snippet(one.title)) for one in listed),
            counted,
            total > counted,
            end if total > end else None,
        )

    def _filtered(self, want: int) -> tuple[list[_Found], bool]:
        """What is asked of sessions and of messages other than by words, the latest used first."""
        where = Sql(self._there) & session_conjunction(self._compiler, self._parts)
        titled = TRUE
        if others := self._parts.others:
            titled = self._titled()
            said = conjunction(self._compiler, others)
            where = where & Sql(
                f"""
                ({titled.text} OR EXISTS (
                    SELECT 1 FROM messages AS m
                    WHERE m.session_id = s.id AND m.status <> 'streaming' AND {said.text}
                ))
                """,
                (*titled.parameters, *said.parameters),
            )
        rows = self._conn.execute(
            f"""
            SELECT s.id, s.updated_at FROM sessions AS s WHERE {where.text}
            ORDER BY s.updated_at DESC, s.id DESC LIMIT ?
            """,
            (*where.parameters, want),
        ).fetchall()
        return [_Found(session_id, updated_at, titled=True) for session_id, updated_at in rows], len(
            rows
        ) < want

    # --- with words -------------------------------------------------------------------------------

    def _recent(self, want: int) -> tuple[list[_Found], bool]:
        """The latest used first."""
        gathered = self._gatherer.gather(WINDOW, min(want, WINDOW))
        if gathered.complete:
            return sorted(self._known(gathered), key=lambda one: (one.updated_at, one.id), reverse=True), True
        found = []
        for one in self._in_order(gathered):
            found.append(one)
            if len(found) >= want:
                return found, False
        return found, False

    def _in_order(self, gathered: Gathered) -> Iterator[_Found]:
        """Goes through all sessions, the latest used first, and looks into those that the latest messages do
        not tell about."""
        of = _by_session(gathered.rows)
        titled = self._titled()
        allowed = session_conjunction(self._compiler, self._parts)
        every = self._conn.execute(
            f"""
            SELECT s.id, s.updated_at, {titled.text} FROM sessions AS s
            WHERE {self._there} AND {allowed.text} ORDER BY s.updated_at DESC, s.id DESC
            """,
            (*titled.parameters, *allowed.parameters),
        )
        left = _MOST_CHECKED
        for session_id, updated_at, has_title in every:
            rows = of.get(session_id, [])
            if not rows and not has_title and left and self._begins_before(session_id, gathered.low):
                left -= 1
                rows = self._gatherer.check([session_id], gathered.low)
            if rows or has_title:
                yield _Found(session_id, updated_at, rows, bool(has_title))

    def _begins_before(self, session_id: str, low: int | None) -> bool:
        """Whether it holds messages that the latest that were gathered do not tell about."""
        if low is None:
            return True
        (first,) = self._conn.execute(
            "SELECT min(seq) FROM messages WHERE session_id = ?", (session_id,)
        ).fetchone()
        return first is not None and first < low

    def _best(self, want: int) -> tuple[list[_Found], bool]:
        gathered = self._gatherer.gather(WINDOW, want)
        found = self._known(gathered)
        self._score(found)
        value = {one.id: self._value(one) for one in found}
        return sorted(
            found, key=lambda one: (value[one.id], one.updated_at, one.id), reverse=True
        ), gathered.complete

    def _value(self, found: _Found) -> float:
        said = max((self._scores[row.seq] for row in found.rows), default=0.0)
        return said + (_TITLE if found.titled else 0.0)

    def _score(self, found: Sequence[_Found]) -> None:
        """Scores their messages, all against each other."""
        rows = [row for one in found for row in one.rows if row.seq not in self._scores]
        values = messages.score(self._conn, self._lens, self._parts, rows)
        self._scores.update(zip((row.seq for row in rows), values, strict=True))

    def _known(self, gathered: Gathered) -> list[_Found]:
        """The sessions of what was gathered, and those of which the title fits."""
        of = _by_session(gathered.rows)
        titled = self._titled()
        allowed = session_conjunction(self._compiler, self._parts)
        rows = self._conn.execute(
            f"""
            SELECT s.id, s.updated_at, 1 FROM sessions AS s
            WHERE {self._there} AND {allowed.text} AND {titled.text}
            UNION
            SELECT s.id, s.updated_at, 0 FROM sessions AS s WHERE s.id IN (SELECT value FROM json_each(?))
            """,
            (*allowed.parameters, *titled.parameters, json.dumps(list(of))),
        ).fetchall()
        found: dict[str, _Found] = {}
        for session_id, updated_at, has_title in rows:
            before = found.get(session_id)
            named = bool(has_title) or (before is not None and before.titled)
            found[session_id] = _Found(session_id, updated_at, of.get(session_id, []), named)
        return list(found.values())

    def _titled(self) -> Sql:
        """True of the sessions of which the title fits what is asked of messages."""
        given: Sequence[Condition] = self._parts.of_messages
        if not given:
            return FALSE
        return self._compiler.on_title(All(tuple(given)) if len(given) > 1 else given[0])

    # --- hits -------------------------------------------------------------------------------------

    def _hits(self, found: Sequence[_Found], *, snippets: bool) -> list[SessionHit]:
        if snippets:
            self._score(found)
        best = [self._best_row(one) if snippets else None for one in found]
        said = messages.messages_at(self._conn, [row.seq for _, row in filter(None, best)])
        texts = [said[row.seq].content for _, row in filter(None, best)]
        pieces = iter(messages.snippets_of(self._lens, self._query, texts))
        hits = []
        for one, chosen in zip(found, best, strict=True):
            session = sessions.get(self._conn, one.id, self._room)
            title = Snippet(session.title, self._title_marks(session.title))
            if chosen is None:
                hits.append(SessionHit(session, title, matches=len(one.rows)))
                continue
            value, row = chosen
            hits.append(SessionHit(session, title, value, said[row.seq], next(pieces), len(one.rows)))
        return hits

    def _best_row(self, found: _Found) -> tuple[float, Row] | None:
        return max(((self._scores[row.seq], row) for row in found.rows), key=_value_and_place, default=None)

    def _title_marks(self, title: str) -> tuple[tuple[int, int], ...]:
        wanted = [word for one in wanted_words(self._query.where) for word in one.text.split()]
        return merged([place for word in wanted for place in occurrences(title, word)])


def _value_and_place(scored: tuple[float, Row]) -> tuple[float, int]:
    return scored[0], scored[1].seq


def _by_session(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.session_id, []).append(row)
    return found
