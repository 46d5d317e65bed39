"""Drafts in a dictionary."""

from collections.abc import Mapping

from memory.drafts import UNBEGUN
from memory.entities import Message
from memory.storage.values import storable
from memory.testing.rows import Rows


class InMemoryDraftStore:
    """`memory.drafts.DraftStore` beside the sessions of `rows`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._texts: dict[str, str] = {}
        self._left_open: str | None = None
        rows.followers.append(self)

    async def save_draft(self, place: str, text: str) -> None:
        self._rows.require_open()
        if place != UNBEGUN:
            self._rows.session(place)
        self._texts.pop(place, None)
        if text:
            self._texts[place] = storable(text)

    async def draft(self, place: str) -> str:
        self._rows.require_open()
        return self._texts.get(place, "")

    async def leave_open(self, session_id: str | None) -> None:
        self._rows.require_open()
        if session_id is not None:
            self._rows.session(session_id)
        self._left_open = session_id

    async def take_left_open(self) -> str | None:
        self._rows.require_open()
        left, self._left_open = self._left_open, None
        return left

    def erased(self, session_id: str) -> Mapping[str, int]:
        self._texts.pop(session_id, None)
        if self._left_open == session_id:
            self._left_open = None
        return {}

    def forgotten(self, message: Message) -> None:
        """A draft is made from no message."""
