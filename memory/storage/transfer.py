"""`memory.transfer.ports.TransferStore` on a database."""

from memory.entities import RoomKind
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.queries import transfer
from memory.transfer.entities import Arrival, TravellingSession


class _DryRun(Exception):
    """Ends a transaction that was only tried."""


class SqlTransferStore:
    """Each method is one transaction."""

    def __init__(self, database: Database, room: RoomKind) -> None:
        self._database = database
        self._room = room

    async def take(self, session: TravellingSession, *, dry_run: bool = False) -> Arrival:
        if not dry_run:
            return await self._database.write(lambda conn: transfer.take(conn, session))
        tried: list[Arrival] = []

        def attempt(conn: Connection) -> None:
            tried.append(transfer.take(conn, session))
            raise _DryRun

        try:
            await self._database.write(attempt)
        except _DryRun:
            return tried[0]
        raise AssertionError("a trial is always undone")

    async def give(self, session_id: str) -> TravellingSession:
        return await self._database.read(lambda conn: transfer.give(conn, session_id, self._room))

    async def all_ids(self) -> list[str]:
        return await self._database.read(transfer.all_ids)
