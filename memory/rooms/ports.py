"""How a parcel is sealed for one room."""

from typing import Protocol


class Sealer(Protocol):
    """Makes a parcel unreadable to all but the room whose sealer it is."""

    def seal(self, data: bytes, session_id: str) -> bytes: ...

    def unseal(self, data: bytes, session_id: str) -> bytes:
        """Raises `ParcelUnreadable` for what was sealed otherwise, or for another session."""
        ...
