"""What a room offers to sessions that move in and out."""

from collections.abc import Sequence
from typing import Protocol

from memory.entities import RoomKind
from memory.rooms.entities import Departure, Move


class Sealer(Protocol):
    """Makes a parcel unreadable to all but the room whose sealer it is."""

    def seal(self, data: bytes, session_id: str) -> bytes: ...

    def unseal(self, data: bytes, session_id: str) -> bytes:
        """Raises `ParcelUnreadable` for what was sealed otherwise, or for another session."""
        ...


class MoveStore(Protocol):
    """A session and all that belongs to it leave a room in one transaction and arrive in one.

    In between it is a sealed parcel in the room that it left: of that room's tables none knows it any more.
    Raises as `memory.ports.SessionStore`. A call that has returned is durable.
    """

    async def sealer(self) -> Sealer:
        """The room's own, made when first asked for. It stays the same for as long as the room exists."""
        ...

    async def depart(self, session_id: str, destination: RoomKind, sealer: Sealer) -> Departure:
        """Packs a session and erases it here, in one transaction; the parcel is kept until `delivered`.

        Prompts' prefaces that hold what was recalled from elsewhere are emptied in the parcel, and epochs
        that hold such things are left out. Raises `SessionNotFound`.
        """
        ...

    async def waiting(self) -> Sequence[Move]:
        """The sessions that have left and are not known to have arrived, in the order in which they left."""
        ...

    async def parcel(self, session_id: str) -> bytes:
        """The sealed parcel of one of them. Raises `SessionNotFound`."""
        ...

    async def arrive(self, parcel: bytes) -> bool:
        """Stores what an opened parcel holds; False when the session is here already."""
        ...

    async def delivered(self, session_id: str) -> None:
        """Gives up the parcel of a session that has arrived. One that is given up already is fine."""
        ...

    async def take_back(self, session_id: str, sealer: Sealer) -> None:
        """Stores the session here again and gives up its parcel, in one transaction."""
        ...
