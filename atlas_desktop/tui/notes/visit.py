"""A note that was looked at, or that the Notes view is to show."""

from dataclasses import dataclass

from memory.entities import RoomKind


@dataclass(frozen=True, slots=True)
class Visit:
    """A note, by the kind of its room and its id; `at` is the position of the cursor."""

    room: RoomKind
    note: str
    at: int = 0
