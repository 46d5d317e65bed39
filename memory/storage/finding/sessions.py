"""A page of sessions."""

from collections.abc import Sequence

from memory.entities import RoomKind
from memory.search.entities import Order, Page, Query, SessionHit, Snippet
from memory.search.language import wanted_words
from memory.search.snippets import merged
from memory.storage.connection import Connection
from memory.storage.finding import messages
from memory.storage.finding.candidates import Candidates, Found
from memory.storage.finding.lens import Lens, occurrences
from memory.storage.queries import sessions

# Counted in indices alone: those that are neither in the bin nor archived, and those in the bin.
_EVERY = """
    SELECT (SELECT count(*) FROM sessions WHERE deleted_at IS NULL)
        - (SELECT count(*) FROM sessions WHERE archived_at IS NOT NULL AND deleted_at IS NULL)
"""
_BINNED = "SELECT count(*) FROM sessions WHERE deleted_at IS NOT NULL"


class SessionSearch:
    """One query in one state of a room."""

    def __init__(
        self, conn: Connection, lens: Lens, room: RoomKind, query: Query, *, binned: bool = False
    ) -> None:
        self._conn = conn
        self._lens = lens
        self._room = room
        self._query = query
        self._binned = binned

    def page(
        self, *, limit: int, offset: int, order: Order, snippets: bool, exhaustive: bool = False
    ) -> Page[SessionHit]:
        begin, end = max(offset, 0), max(offset, 0) + max(limit, 0)
        where = self._query.where
        if where is None:
            return self._listed(begin, end)
        candidates = Candidates(self._conn, self._lens, self._room, where, binned=self._binned)
        found, complete = (candidates.every(), True) if exhaustive else candidates.find(order, end)
        hits = self._hits(candidates, found[begin:end], snippets=snippets and not exhaustive)
        further = end if len(found) > end else None
        if not complete and (counted := candidates.count()) is not None:
            return Page(tuple(hits), counted, next_offset=further)
        return Page(tuple(hits), len(found), not complete, further)

    def _listed(self, begin: int, end: int) -> Page[SessionHit]:
        """All of them, as the list of sessions has them."""
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

    def _title_marks(self, title: str) -> tuple[tuple[int, int], ...]:
        wanted = [word for one in wanted_words(self._query.where) for word in one.text.split()]
        return merged([place for word in wanted for place in occurrences(title, word)])
