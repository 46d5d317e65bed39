"""`memory.search.ports.FindStore` on a database."""

import threading
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from memory.entities import RoomKind
from memory.ports import Clock
from memory.search.entities import MessageHit, Order, Page, Query, SavedSearch, SessionHit
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.finding import messages, saved
from memory.storage.finding.lens import Lens
from memory.storage.finding.sessions import SessionSearch

T = TypeVar("T")


class Reads(Protocol):
    """A database, or a second connection to one."""

    async def read(self, work: Callable[[Connection], T]) -> T: ...


class SqlFindStore:
    """Searches by `reads`, each in one state of the room; saves by `database`."""

    def __init__(self, database: Database, reads: Reads, room: RoomKind, clock: Clock) -> None:
        self._database = database
        self._reads = reads
        self._room = room
        self._clock = clock
        self._local = threading.local()

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
    ) -> Page[SessionHit]:
        def work(conn: Connection) -> Page[SessionHit]:
            search = SessionSearch(conn, self._lens(), self._room, query, binned=binned)
            return search.page(
                limit=limit, offset=offset, order=order, snippets=snippets, exhaustive=exhaustive
            )

        return await self._reads.read(work)

    async def messages(
        self, query: Query, *, limit: int = 20, offset: int = 0, order: Order = Order.BEST
    ) -> Page[MessageHit]:
        return await self._reads.read(
            lambda conn: messages.find(
                conn, self._lens(), self._room, query, limit=limit, offset=offset, order=order
            )
        )

    async def among(self, query: Query, message_ids: Sequence[str]) -> list[MessageHit]:
        return await self._reads.read(
            lambda conn: messages.among(conn, self._lens(), self._room, query, message_ids)
        )

    async def saved(self) -> list[SavedSearch]:
        return await self._database.read(saved.every)

    async def save(self, name: str, query: str) -> SavedSearch:
        now = self._clock.now()
        return await self._database.write(lambda conn: saved.put(conn, name, query, now))

    async def remove_saved(self, name: str) -> None:
        await self._database.write(lambda conn: saved.remove(conn, name))

    def _lens(self) -> Lens:
        """That of the thread that reads."""
        lens = getattr(self._local, "lens", None)
        if lens is None:
            lens = self._local.lens = Lens()
        return lens
