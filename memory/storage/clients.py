"""The clients of one room: their tokens as digests, what they began, and what they asked for."""

from collections.abc import Sequence
from datetime import datetime

from memory.clients import Access, AccessEntry, Client, NewClient
from memory.clock import Clock
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.queries import clients


class ClientStore:
    """The clients of one room. A `ref` is a name (in any case), an id, or a unique prefix of either.

    Raises `ClientNotFound`, `AmbiguousId`, and the errors of `Store`.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def list(self, *, revoked: bool = False) -> Sequence[Client]:
        return await self._database.read(lambda conn: clients.all_clients(conn, revoked=revoked))

    async def get(self, ref: str) -> Client:
        return await self._database.read(lambda conn: clients.client(conn, ref))

    async def by_token(self, token_hash: bytes) -> Client | None:
        """Returns the client whose token has this SHA-256; None if there is none, or it was revoked."""
        return await self._database.read(lambda conn: clients.by_token(conn, token_hash))

    async def add(self, new: NewClient, token_hash: bytes) -> Client:
        """Raises `NameTaken`."""
        now = self._clock.now()
        return await self._database.write(lambda conn: clients.insert(conn, new, token_hash, now))

    async def revoke(self, ref: str) -> Client:
        """Its token is refused from now on; its log stays."""
        now = self._clock.now()

        def work(conn: Connection) -> Client:
            gone = clients.client(conn, ref)
            clients.revoke(conn, gone.id, now)
            return gone

        return await self._database.write(work)

    async def record(self, accesses: Sequence[Access]) -> None:
        now = self._clock.now()
        await self._database.write(lambda conn: clients.record(conn, accesses, now))

    async def accesses(self, ref: str | None = None, *, limit: int = 100) -> Sequence[AccessEntry]:
        """Returns the log, newest first. A revoked client is found by its full name too."""

        def work(conn: Connection) -> Sequence[AccessEntry]:
            if ref is None:
                return clients.accesses(conn, None, limit)
            gone = [one for one in clients.all_clients(conn, revoked=True) if ref in (one.name, one.id)]
            found = gone[-1].id if len(gone) == 1 else clients.client(conn, ref).id
            return clients.accesses(conn, found, limit)

        return await self._database.read(work)

    async def drop_accesses(self, before: datetime) -> int:
        """Removes older entries of the log; returns how many."""
        return await self._database.erase(lambda conn: clients.drop_accesses(conn, before))

    async def began(self, client_id: str, session_id: str) -> bool:
        """Whether the client began the session."""
        return await self._database.read(lambda conn: clients.own_session(conn, client_id, session_id))

    async def begins(self, client_id: str, session_id: str) -> None:
        """Notes that the client began the session."""
        await self._database.write(lambda conn: clients.put_session(conn, client_id, session_id))
