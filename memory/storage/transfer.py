"""`memory.transfer.ports.TransferStore` on a database."""

from collections.abc import Sequence

from memory.entities import RoomKind
from memory.errors import MessageNotFound
from memory.storage.database import Database
from memory.storage.queries import transfer
from memory.transfer.entities import Arrival, Refused, TravellingEvidence, TravellingMemory, TravellingSession


class SqlTransferStore:
    """Each method is one transaction."""

    def __init__(self, database: Database, room: RoomKind) -> None:
        self._database = database
        self._room = room

    async def take(self, session: TravellingSession, *, dry_run: bool = False) -> Arrival:
        (taken,) = await self.take_many([session], dry_run=dry_run)
        if isinstance(taken, Refused):
            raise MessageNotFound(taken.missing)
        return taken

    async def take_many(
        self, sessions: Sequence[TravellingSession], *, dry_run: bool = False, learn: bool = True
    ) -> list[Arrival | Refused]:
        if dry_run:
            return await self._database.read(lambda conn: transfer.weigh(conn, sessions))
        return await self._database.write(lambda conn: transfer.take(conn, sessions, learn=learn))

    async def give(self, session_id: str) -> TravellingSession:
        return await self._database.read(lambda conn: transfer.give(conn, session_id, self._room))

    async def all_ids(self) -> list[str]:
        return await self._database.read(transfer.all_ids)

    async def take_memories(
        self, memories: Sequence[TravellingMemory], *, dry_run: bool = False
    ) -> list[bool]:
        if dry_run:
            return await self._database.read(lambda conn: transfer.unknown_memories(conn, memories))
        return await self._database.write(lambda conn: transfer.take_memories(conn, memories))

    async def evidence(self, memory_id: str) -> list[TravellingEvidence]:
        return await self._database.read(lambda conn: transfer.evidence(conn, memory_id))
