"""`memory.rooms.ports.MoveStore` on a database."""

from memory.entities import RoomKind
from memory.ports import Clock
from memory.rooms.entities import Departure, Move
from memory.rooms.ports import Sealer
from memory.rooms.sealing import RoomSealer
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.queries import moves, packing, unpacking


class SqlMoveStore:
    """Each method is one transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def sealer(self) -> RoomSealer:
        return RoomSealer(await self._database.write(moves.sealing_key))

    async def depart(self, session_id: str, destination: RoomKind, sealer: Sealer) -> Departure:
        now = self._clock.now()

        def work(conn: Connection) -> Departure:
            parcel, erased = packing.pack(conn, session_id)
            sealed = sealer.seal(packing.encode(parcel), session_id)
            move = moves.begin(conn, session_id, destination, sealed, now)
            return Departure(
                move, erased.messages, len(parcel.rows("memories")), erased.recalled_in, erased.verified
            )

        return await self._database.erase(work)

    async def waiting(self) -> list[Move]:
        return await self._database.read(moves.waiting)

    async def parcel(self, session_id: str) -> bytes:
        return await self._database.read(lambda conn: moves.parcel(conn, session_id))

    async def arrive(self, parcel: bytes) -> bool:
        opened = packing.decode(parcel)
        return await self._database.write(lambda conn: unpacking.unpack(conn, opened))

    async def delivered(self, session_id: str) -> None:
        await self._database.erase(lambda conn: moves.end(conn, session_id))

    async def take_back(self, session_id: str, sealer: Sealer) -> None:
        def work(conn: Connection) -> None:
            opened = packing.decode(sealer.unseal(moves.parcel(conn, session_id), session_id))
            unpacking.unpack(conn, opened)
            moves.end(conn, session_id)

        await self._database.erase(work)
