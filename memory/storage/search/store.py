"""Search in one room with the query language."""

import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar

from memory.clock import Clock, micros, moment
from memory.documents.entities import DocumentMatch
from memory.entities import RoomKind
from memory.errors import SavedSearchNotFound
from memory.search.entities import (
    ItemKind,
    MessageHit,
    Order,
    Page,
    Query,
    SavedSearch,
    SessionHit,
)
from memory.search.language import conditions, of_kind
from memory.storage.connection import Connection, fold, new_id, storable
from memory.storage.database import Database
from memory.storage.evidence import know_vocabularies
from memory.storage.search import documents, gathering
from memory.storage.search.plan import Lens, is_short
from memory.storage.search.sessions import SessionSearch


def saved_searches(conn: Connection) -> list[SavedSearch]:
    """Returns the saved searches by name, ignoring case."""
    rows = conn.execute("SELECT id, name, query, created_at FROM saved_searches ORDER BY fold(name), name")
    return [_saved(row) for row in rows]


def save_search(conn: Connection, name: str, query: str, now: datetime) -> SavedSearch:
    """Stores a search; replaces one whose name differs at most in case."""
    kept = SavedSearch(new_id(), storable(name), storable(query), moment(micros(now)))
    conn.execute("DELETE FROM saved_searches WHERE fold(name) = ?", (fold(kept.name),))
    conn.execute(
        "INSERT INTO saved_searches (id, name, query, created_at) VALUES (?, ?, ?, ?)",
        (kept.id, kept.name, kept.query, micros(now)),
    )
    return kept


def remove_search(conn: Connection, name: str) -> None:
    """Deletes a saved search. Raises `SavedSearchNotFound`."""
    gone = conn.execute("DELETE FROM saved_searches WHERE fold(name) = ?", (fold(storable(name)),)).rowcount
    if not gone:
        raise SavedSearchNotFound(name)


def _saved(row: Any) -> SavedSearch:
    return SavedSearch(row[0], row[1], row[2], moment(row[3]))


T = TypeVar("T")


class Reads(Protocol):
    """A database, or a second connection to one."""

    async def read(self, work: Callable[[Connection], T]) -> T: ...

    async def prepare(self, work: Callable[[Connection], object]) -> None: ...


class FindStore:
    """Search in one room. Raises the errors of `Store`.

    Ignores the question of a query: recall handles meaning. An awaited search can be cancelled: it ends at
    once, and nothing waits for it.
    """

    def __init__(self, database: Database, reads: Reads, room: RoomKind, clock: Clock) -> None:
        self._database = database
        self._reads = reads
        self._room = room
        self._clock = clock
        self._local = threading.local()
        self._ready = False

    async def sessions(
        self,
        query: Query,
        *,
        limit: int = 50,
        offset: int = 0,
        order: Order = Order.RECENT,
        binned: bool = False,
        snippets: bool = True,
        exhaustive: bool = False,
        scattered: bool = False,
    ) -> Page[SessionHit]:
        """Returns the sessions of which a message or the title matches.

        Excluded words must be in none of their messages. Archived sessions are left out only if the query has
        no condition; pinned ones come first then. Without `snippets` the hits have no messages, which is
        faster. `exhaustive` is for callers that act on all matches: none is left out, the latest used come
        first, and the hits have no messages. `scattered`: those that have each of several words, but in
        different messages, follow at the end.
        """

        said = of_kind(query, ItemKind.MESSAGE)
        if said is None:
            return Page((), 0)

        def work(conn: Connection) -> Page[SessionHit]:
            search = SessionSearch(conn, self._lens(), self._room, said, binned=binned)
            return search.page(
                limit=limit,
                offset=offset,
                order=order,
                snippets=snippets,
                exhaustive=exhaustive,
                scattered=scattered,
            )

        await self._know_letters(said)
        return await self._reads.read(work)

    async def messages(
        self, query: Query, *, limit: int = 20, offset: int = 0, order: Order = Order.BEST
    ) -> Page[MessageHit]:
        """Returns the finished messages that match, of sessions that are not in the bin."""
        said = of_kind(query, ItemKind.MESSAGE)
        if said is None:
            return Page((), 0)
        await self._know_letters(said)
        return await self._reads.read(
            lambda conn: gathering.find(
                conn, self._lens(), self._room, said, limit=limit, offset=offset, order=order
            )
        )

    async def among(self, query: Query, message_ids: Sequence[str]) -> list[MessageHit]:
        """Returns those of these messages that match, in the given order, with the score 0."""
        said = of_kind(query, ItemKind.MESSAGE)
        if said is None:
            return []
        return await self._reads.read(
            lambda conn: gathering.among(conn, self._lens(), self._room, said, message_ids)
        )

    async def documents(
        self,
        query: Query,
        *,
        kind: ItemKind = ItemKind.DOCUMENT,
        limit: int = 50,
        order: Order = Order.RECENT,
    ) -> Page[DocumentMatch]:
        """Returns the documents (or the notes, by `kind`) of which a chunk matches, its title and headings
        included; all that may be found, if the query has no condition. Excluded words must be in none of
        their chunks.
        """
        read = of_kind(query, kind)
        if read is None:
            return Page((), 0)
        return await self._reads.read(
            lambda conn: documents.find(
                conn, self._lens(), self._room, read, kind=kind, limit=limit, order=order
            )
        )

    async def chunks_among(
        self, query: Query, chunk_ids: Sequence[str], *, kind: ItemKind = ItemKind.DOCUMENT
    ) -> frozenset[str]:
        """Returns those of these chunks of documents (or of notes, by `kind`) that match."""
        read = of_kind(query, kind)
        if read is None:
            return frozenset()
        return await self._reads.read(
            lambda conn: documents.among(conn, self._room, read, chunk_ids, kind=kind)
        )

    async def saved(self) -> list[SavedSearch]:
        """Returns the saved searches by name."""
        return await self._database.read(saved_searches)

    async def save(self, name: str, query: str) -> SavedSearch:
        """Saves a query under a name; replaces an older one of that name."""
        now = self._clock.now()
        return await self._database.write(lambda conn: save_search(conn, name, query, now))

    async def remove_saved(self, name: str) -> None:
        """Raises `SavedSearchNotFound`."""
        await self._database.write(lambda conn: remove_search(conn, name))

    async def _know_letters(self, query: Query) -> None:
        if not self._ready and any(is_short(one) for one in conditions(query.where)):
            await self._reads.prepare(know_vocabularies)
            self._ready = True

    def _lens(self) -> Lens:
        """Returns the lens of the calling thread."""
        lens = getattr(self._local, "lens", None)
        if lens is None:
            lens = self._local.lens = Lens()
        return lens
