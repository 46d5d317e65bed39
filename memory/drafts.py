"""What was typed and not yet sent, and which session was shown when the program was locked."""

from typing import Protocol

UNBEGUN = ""
"""The place of what is typed into a session that has not begun."""


class DraftStore(Protocol):
    """One text a place: a session's id, or `UNBEGUN`. They go with their session.

    Raises what `memory.ports.SessionStore` raises.
    """

    async def save_draft(self, place: str, text: str) -> None:
        """Keeps a text in place of the one before; an empty one is kept by keeping none. Raises
        `SessionNotFound`."""
        ...

    async def draft(self, place: str) -> str:
        """The text of a place, empty where there is none."""
        ...

    async def leave_open(self, session_id: str | None) -> None:
        """Notes which session is shown as the program locks; None notes that none is. Raises
        `SessionNotFound`."""
        ...

    async def take_left_open(self) -> str | None:
        """The session that was noted, which is thereby forgotten."""
        ...
