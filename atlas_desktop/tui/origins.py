"""Where words stand: the conversation, and which of its messages."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from atlas_desktop.services.branches import numbers
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.calendar import short
from atlas_desktop.words.catalogue import tr
from memory.errors import SessionNotFound

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices


@dataclass(frozen=True, slots=True)
class Chosen:
    """The conversation to open, and the message in it."""

    session_id: str
    message_id: str | None


class Origins:
    """Of one room; titles of conversations, and how their messages are numbered, are read once."""

    def __init__(self, room: "RoomServices") -> None:
        self._room = room
        self._titles: dict[str, str] = {}
        self._numbers: dict[str, dict[str, int]] = {}

    async def title(self, session_id: str) -> str:
        """Empty where there is no such conversation any more."""
        if session_id not in self._titles:
            try:
                session = await self._room.store.get_session(session_id)
            except SessionNotFound:
                self._titles[session_id] = ""
            else:
                self._titles[session_id] = session.title
        return self._titles[session_id]

    async def number(self, session_id: str, message_id: str) -> int:
        """Which message of its conversation it is, as the conversation shows them: from 1, 0 when it is
        not there."""
        if session_id not in self._numbers:
            nodes = await self._room.store.outline(session_id)
            self._numbers[session_id] = await asyncio.to_thread(numbers, nodes)
        return self._numbers[session_id].get(message_id, 0)

    async def line(self, session_id: str, message_id: str | None, when: datetime, now: datetime) -> str:
        """When it was said, in which conversation, and as which of its messages."""
        number = await self.number(session_id, message_id) if message_id is not None else 0
        title = clean_line(await self.title(session_id)) or tr("memory.untitled")
        word = "source_at" if number else "source"
        return tr(f"memory.{word}", title=title, when=short(when, now), number=number)
