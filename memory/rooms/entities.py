"""The values of moves between rooms."""

from dataclasses import dataclass
from datetime import datetime

from memory.entities import RoomKind


@dataclass(frozen=True, slots=True)
class Move:
    """A session that has left its room for another one, where it may not have arrived yet."""

    session_id: str
    destination: RoomKind
    begun_at: datetime


@dataclass(frozen=True, slots=True)
class Departure:
    """A session that has left, and what is to be looked after in the room that it left.

    `recalled_in` are the sessions that stay and whose prompts had held words of it; `verified` says that
    nothing of it was found in the room afterwards, but for the sealed parcel.
    """

    move: Move
    messages: int
    memories: int
    recalled_in: tuple[str, ...]
    verified: bool
