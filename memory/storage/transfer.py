"""What enters and leaves a room: imports, exports, moves between rooms."""

from collections.abc import Sequence

from memory.clock import Clock
from memory.documents.entities import CitedReply
from memory.entities import RoomKind
from memory.errors import MessageNotFound
from memory.kinds import MovedKind
from memory.room_moves import Departure, DocumentDeparture, Move, RoomSealer, Sealer
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.queries import moves, transfer
from memory.transfer import Arrival, Refused, TravellingEvidence, TravellingMemory, TravellingSession


class TransferStore:
    """Imports and exports of one room. Raises the errors of `Store`. A call that has returned is durable."""

    def __init__(self, database: Database, room: RoomKind) -> None:
        self._database = database
        self._room = room

    async def take(self, session: TravellingSession, *, dry_run: bool = False) -> Arrival:
        """Stores a session, or the new messages of a known session, in one transaction.

        A session or message is known by the id that its origin gave it, or, when that is an id of this
        program, by that. Marks, title and project of a known session are unchanged. The branch shown changes
        only if the session was not used here since. With `dry_run` nothing is stored. Raises
        `MessageNotFound` when a parent or the head is none of the messages.
        """
        (taken,) = await self.take_many([session], dry_run=dry_run)
        if isinstance(taken, Refused):
            raise MessageNotFound(taken.missing)
        return taken

    async def take_many(
        self, sessions: Sequence[TravellingSession], *, dry_run: bool = False, learn: bool = True
    ) -> list[Arrival | Refused]:
        """Like `take` for each of them, in order and in one transaction; a refused one does not affect the
        others.

        Without `learn` the content of each session counts as learned from, so nothing will be learned from
        it.
        """
        if dry_run:
            return await self._database.read(lambda conn: transfer.weigh(conn, sessions))
        return await self._database.write(lambda conn: transfer.take(conn, sessions, learn=learn))

    async def give(self, session_id: str) -> TravellingSession:
        """Returns a session with all its branches, without replies that are being written. Raises
        `SessionNotFound`."""
        return await self._database.read(lambda conn: transfer.give(conn, session_id, self._room))

    async def cited(self, session_id: str) -> dict[str, CitedReply]:
        """Returns what the replies of a session cite of documents, by their ids in `give`."""
        return await self._database.read(lambda conn: transfer.cited(conn, session_id))

    async def all_ids(self) -> list[str]:
        """Returns the sessions that are not in the bin, oldest first."""
        return await self._database.read(transfer.all_ids)

    async def take_memories(
        self, memories: Sequence[TravellingMemory], *, dry_run: bool = False
    ) -> list[bool]:
        """Stores memories, in one transaction; returns which of them were new. With `dry_run` none is stored.

        A memory is known by its id, or by its text about the same subject. Evidence whose message is not
        here, or does not contain the quote, is left out.
        """
        if dry_run:
            return await self._database.read(lambda conn: transfer.unknown_memories(conn, memories))
        return await self._database.write(lambda conn: transfer.take_memories(conn, memories))

    async def evidence(self, memory_id: str) -> list[TravellingEvidence]:
        """Returns the user's text behind a memory, by the ids used in transfers."""
        return await self._database.read(lambda conn: transfer.evidence(conn, memory_id))


class MoveStore:
    """Moves: a session or document and all that belongs to it leave a room in one transaction and arrive in
    one.

    In between it is a sealed parcel in the room that it left, absent from that room's other tables. Raises
    the errors of `Store`. A call that has returned is durable.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def sealer(self) -> RoomSealer:
        """Returns the room's own sealer, made on first use. It stays the same for as long as the room
        exists."""
        return RoomSealer(await self._database.write(moves.sealing_key))

    async def depart(self, session_id: str, destination: RoomKind, sealer: Sealer) -> Departure:
        """Packs a session and erases it here, in one transaction; the parcel is kept until `delivered`.

        Prefaces of prompts that contain what was recalled from elsewhere are emptied in the parcel, and
        epochs that contain such content are left out. Raises `SessionNotFound`.
        """
        now = self._clock.now()

        def work(conn: Connection) -> Departure:
            parcel, erased = moves.pack(conn, session_id)
            sealed = sealer.seal(moves.encode(parcel), session_id)
            move = moves.begin(conn, session_id, destination, sealed, now, MovedKind.SESSION)
            return Departure(
                move, erased.messages, len(parcel.rows("memories")), erased.recalled_in, erased.verified
            )

        return await self._database.erase(work)

    async def depart_document(
        self, document_id: str, destination: RoomKind, sealer: Sealer
    ) -> DocumentDeparture:
        """Does the same for a document. Sessions stay, without its passages and citations.

        Raises `DocumentNotFound`.
        """
        now = self._clock.now()

        def work(conn: Connection) -> DocumentDeparture:
            parcel, erased = moves.pack_document(conn, document_id)
            sealed = sealer.seal(moves.encode(parcel), document_id)
            move = moves.begin(conn, document_id, destination, sealed, now, MovedKind.DOCUMENT)
            return DocumentDeparture(
                move, erased.chunks, erased.citations, erased.recalled_in, erased.verified
            )

        return await self._database.erase(work)

    async def waiting(self) -> list[Move]:
        """Returns what has left and is not known to have arrived, in the order in which it left."""
        return await self._database.read(moves.waiting)

    async def parcel(self, item_id: str) -> bytes:
        """Returns the sealed parcel of one of them. Raises `SessionNotFound`."""
        return await self._database.read(lambda conn: moves.parcel(conn, item_id))

    async def arrive(self, parcel: bytes) -> bool:
        """Stores the content of an opened parcel; False when it is here already."""
        opened = moves.decode(parcel)
        return await self._database.write(lambda conn: moves.unpack(conn, opened))

    async def delivered(self, item_id: str) -> None:
        """Deletes the parcel of what has arrived; does nothing if it is deleted already."""
        await self._database.erase(lambda conn: moves.end(conn, item_id))

    async def take_back(self, item_id: str, sealer: Sealer) -> None:
        """Stores the session or document here again and deletes its parcel, in one transaction."""

        def work(conn: Connection) -> None:
            opened = moves.decode(sealer.unseal(moves.parcel(conn, item_id), item_id))
            moves.unpack(conn, opened)
            moves.end(conn, item_id)

        await self._database.erase(work)
