"""Sessions that come in and go out: imports, exports, moves between rooms."""

from collections.abc import Sequence

from memory.clock import Clock
from memory.entities import RoomKind
from memory.errors import MessageNotFound
from memory.room_moves import Departure, Move, RoomSealer, Sealer
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.queries import moves, transfer
from memory.transfer import Arrival, Refused, TravellingEvidence, TravellingMemory, TravellingSession


class TransferStore:
    """Raises as `Store`. A call that has returned is durable."""

    def __init__(self, database: Database, room: RoomKind) -> None:
        self._database = database
        self._room = room

    async def take(self, session: TravellingSession, *, dry_run: bool = False) -> Arrival:
        """Stores a session, or of a session that is known the messages that are not, in one transaction.

        A session or message is known by the id that its origin gave it, or, when that is an id of this
        program, by that. Marks, title and project of a known session stay as they are; the branch that is
        shown changes only where the session was not used here since. With `dry_run` nothing is stored.
        Raises `MessageNotFound` when a parent or the head is none of the messages.
        """
        (taken,) = await self.take_many([session], dry_run=dry_run)
        if isinstance(taken, Refused):
            raise MessageNotFound(taken.missing)
        return taken

    async def take_many(
        self, sessions: Sequence[TravellingSession], *, dry_run: bool = False, learn: bool = True
    ) -> list[Arrival | Refused]:
        """As `take` for each of them, in their order and in one transaction; one that is refused leaves the
        others alone.

        Without `learn` what a session holds afterwards counts as learned from: nothing will be.
        """
        if dry_run:
            return await self._database.read(lambda conn: transfer.weigh(conn, sessions))
        return await self._database.write(lambda conn: transfer.take(conn, sessions, learn=learn))

    async def give(self, session_id: str) -> TravellingSession:
        """A session with all its branches. Replies that are being written are left out. Raises
        `SessionNotFound`."""
        return await self._database.read(lambda conn: transfer.give(conn, session_id, self._room))

    async def all_ids(self) -> list[str]:
        """The sessions that are not in the bin, the oldest first."""
        return await self._database.read(transfer.all_ids)

    async def take_memories(
        self, memories: Sequence[TravellingMemory], *, dry_run: bool = False
    ) -> list[bool]:
        """Stores memories, in one transaction; returns which of them were new. With `dry_run` none is stored.

        One is known by its id, or by its words about the same subject. Evidence whose message is not here, or
        does not hold the quote, is left out.
        """
        if dry_run:
            return await self._database.read(lambda conn: transfer.unknown_memories(conn, memories))
        return await self._database.write(lambda conn: transfer.take_memories(conn, memories))

    async def evidence(self, memory_id: str) -> list[TravellingEvidence]:
        """The person's words behind a memory, by the ids under which they travel."""
        return await self._database.read(lambda conn: transfer.evidence(conn, memory_id))


class MoveStore:
    """A session and all that belongs to it leave a room in one transaction and arrive in one.

    In between it is a sealed parcel in the room that it left: of that room's tables none knows it any more.
    Raises as `Store`. A call that has returned is durable.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def sealer(self) -> RoomSealer:
        """The room's own, made when first asked for. It stays the same for as long as the room exists."""
        return RoomSealer(await self._database.write(moves.sealing_key))

    async def depart(self, session_id: str, destination: RoomKind, sealer: Sealer) -> Departure:
        """Packs a session and erases it here, in one transaction; the parcel is kept until `delivered`.

        Prompts' prefaces that hold what was recalled from elsewhere are emptied in the parcel, and epochs
        that hold such things are left out. Raises `SessionNotFound`.
        """
        now = self._clock.now()

        def work(conn: Connection) -> Departure:
            parcel, erased = moves.pack(conn, session_id)
            sealed = sealer.seal(moves.encode(parcel), session_id)
            move = moves.begin(conn, session_id, destination, sealed, now)
            return Departure(
                move, erased.messages, len(parcel.rows("memories")), erased.recalled_in, erased.verified
            )

        return await self._database.erase(work)

    async def waiting(self) -> list[Move]:
        """The sessions that have left and are not known to have arrived, in the order in which they left."""
        return await self._database.read(moves.waiting)

    async def parcel(self, session_id: str) -> bytes:
        """The sealed parcel of one of them. Raises `SessionNotFound`."""
        return await self._database.read(lambda conn: moves.parcel(conn, session_id))

    async def arrive(self, parcel: bytes) -> bool:
        """Stores what an opened parcel holds; False when the session is here already."""
        opened = moves.decode(parcel)
        return await self._database.write(lambda conn: moves.unpack(conn, opened))

    async def delivered(self, session_id: str) -> None:
        """Gives up the parcel of a session that has arrived. One that is given up already is fine."""
        await self._database.erase(lambda conn: moves.end(conn, session_id))

    async def take_back(self, session_id: str, sealer: Sealer) -> None:
        """Stores the session here again and gives up its parcel, in one transaction."""

        def work(conn: Connection) -> None:
            opened = moves.decode(sealer.unseal(moves.parcel(conn, session_id), session_id))
            moves.unpack(conn, opened)
            moves.end(conn, session_id)

        await self._database.erase(work)
