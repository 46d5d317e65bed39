"""Stores text while it is typed, so that a lock, a crash or a quit loses at most one second of it."""

import asyncio
from typing import TYPE_CHECKING

from atlas_desktop.tui.chat.conversation import Conversation
from memory.entities import UNBEGUN, MemoryMode, RoomKind
from memory.errors import MemoryFault, RoomClosed, SessionNotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from atlas_desktop.services.desk import AppContext
    from atlas_desktop.services.room import RoomServices
    from memory.storage.store import Store

# One write a second is a negligible load for a disk, and at most one second of typing is lost.
KEEP_AFTER_S = 1.0


class Drafts:
    """Stores `Conversation.draft` and the queued messages of each conversation.

    Drafts of a session off the record are never stored.
    """

    def __init__(
        self,
        desk: "AppContext",
        attempt: "Callable[..., object]",
        room_of: "Callable[[Conversation], RoomServices]",
        failed: "Callable[[Exception], None]",
        is_open: "Callable[[], bool]",
    ) -> None:
        """`failed` is called with errors; `is_open` returns whether a room is open and not about to close."""
        self._desk, self._attempt, self._room_of = desk, attempt, room_of
        self._failed, self._is_open = failed, is_open
        self._kept: dict[tuple[RoomKind, str], str] = {}
        self._unbegun: dict[RoomKind, Conversation] = {}
        self._soon: asyncio.TimerHandle | None = None
        self._changed: dict[int, Conversation] = {}
        self._writing = asyncio.Lock()

    def changed(self, conversation: Conversation) -> None:
        """Schedules storing the draft of `conversation`."""
        self._changed[id(conversation)] = conversation
        if self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(KEEP_AFTER_S, self._due)

    def _due(self) -> None:
        self._soon = None
        if self._is_open():
            self._attempt(self._keep_in_time(), group="drafts")

    async def _keep_in_time(self) -> None:
        """Stores the drafts. A failure during a reply is retried and not reported: the turn reports it."""
        try:
            await self.keep_all()
        except (MemoryFault, OSError) as error:
            if not any(conversation.busy for conversation in self._changed.values()):
                self._failed(error)
            elif self._soon is None:
                self._soon = asyncio.get_running_loop().call_later(KEEP_AFTER_S, self._due)

    async def keep_all(self) -> None:
        """Stores everything that has changed.

        After trying all drafts, it raises what `memory.storage.drafts.DraftStore` raises. Drafts that could
        not be stored are tried again next time.
        """
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        failed: dict[int, Conversation] = {}
        errors: list[MemoryFault | OSError] = []
        async with self._writing:
            while self._changed:
                place, conversation = self._changed.popitem()
                try:
                    await self._keep(conversation)
                except (MemoryFault, OSError) as error:
                    failed[place] = conversation
                    errors.append(error)
            self._changed.update(failed)
        if errors:
            raise errors[0]

    async def of(self, conversation: Conversation) -> str:
        """Returns the stored draft of a conversation; empty off the record.

        A draft with changes that are not stored yet is returned as it is.
        """
        if id(conversation) in self._changed:
            return conversation.draft
        store = self._store(conversation)
        if store is None:
            return ""
        place = conversation.id or UNBEGUN
        text = self._kept[store.room, place] = await store.drafts.draft(place)
        if place == UNBEGUN:
            self._unbegun[store.room] = conversation
        return text

    async def leave_open(self, conversation: Conversation) -> None:
        """Records in the conversation's room, and in no other, that it was shown last."""
        shown = self._store(conversation)
        for room in self._desk.open_rooms:
            if room.store.room is not RoomKind.OFF_RECORD:
                await room.store.drafts.leave_open(conversation.id if room.store is shown else None)

    async def _keep(self, conversation: Conversation) -> None:
        place, store = conversation.id or UNBEGUN, None
        try:
            store = self._store(conversation)
            if store is not None:
                await self._put(store, place, "\n\n".join(filter(str.strip, conversation.unsent)))
            await self._take_back(conversation, but=store if place == UNBEGUN else None)
        except (SessionNotFound, RoomClosed):
            # The conversation was erased or its room closed meanwhile, together with the draft.
            if store is not None:
                self._kept.pop((store.room, place), None)
        if place == UNBEGUN and store is not None:
            self._unbegun[store.room] = conversation

    async def _take_back(self, conversation: Conversation, *, but: "Store | None") -> None:
        """Removes the draft from other rooms in which the conversation was to begin earlier."""
        for room in self._desk.open_rooms:
            kind = room.store.room
            if room.store is not but and self._unbegun.get(kind) is conversation:
                del self._unbegun[kind]
                await self._put(room.store, UNBEGUN, "")

    async def _put(self, store: "Store", place: str, text: str) -> None:
        if self._kept.get((store.room, place), "") != text:
            await store.drafts.save_draft(place, text)
            self._kept[store.room, place] = text

    def _store(self, conversation: Conversation) -> "Store | None":
        """Returns the store for the conversation's drafts: that of the room it is in, or will begin in.

        None off the record. Raises `RoomClosed`.
        """
        session = conversation.session
        off = session is not None and session.memory_mode is MemoryMode.OFF
        if off or conversation.room is RoomKind.OFF_RECORD:
            return None
        store = self._room_of(conversation).store
        return None if store.room is RoomKind.OFF_RECORD else store
