"""The state of one conversation while the program runs, whatever screen is shown, and its stored draft."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakSet

from atlas_desktop.locale import _
from atlas_desktop.services.turns import Turn
from memory.entities import UNBEGUN, MemoryMode, Message, RoomKind, Session
from memory.errors import MemoryFault, RoomClosed, SessionNotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.worker import Worker

    from atlas_desktop.services.desk import AppContext
    from atlas_desktop.services.projects import ProjectDefaults
    from atlas_desktop.services.room import RoomServices
    from memory.attachments import NewAttachment
    from memory.documents.entities import Document
    from memory.storage.store import Store


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """What a turn does: send a text, in place of the message `edits` if any; or continue the reply
    `continues`; or, with none of these, answer the newest message again.

    `part` is the number of a part of a longer text, counted from 1, and the number of parts.
    """

    text: str | None = None
    edits: str | None = None
    continues: str | None = None
    part: tuple[int, int] = (1, 1)


SLOW_S = 5
"""Seconds of reading after which they are shown."""


@dataclass(eq=False)
class Conversation:
    """A conversation of this run of the program. `session` is None until its first message is stored.

    Before that, `begins_in`, `mode`, `project` and `system` are how it will begin, and `defaults` are those
    of them that come from the project. `attached` and `documents` become part of it with the next message.
    `draft` is what is typed, `waiting` holds messages to send after the current turn, `parts` those parts of
    a long text that come before them. `partial_text` is the text so far of the current reply. `used` counts
    the tokens of the prompt and of the newest reply, `speed` its tokens a second (0: unknown); `measured`
    keeps both for every reply. `began` is the monotonic time at which the turn began.
    """

    session: Session | None = None
    begins_in: RoomKind | None = None
    mode: MemoryMode | None = None
    project: str | None = None
    defaults: "ProjectDefaults | None" = None
    system: str | None = None
    attached: "list[NewAttachment]" = field(default_factory=list)
    documents: "list[Document]" = field(default_factory=list)
    draft: str = ""
    waiting: list[str] = field(default_factory=list)
    parts: list[TurnRequest] = field(default_factory=list)
    turn: Turn | None = None
    reply: Message | None = None
    partial_text: str = ""
    stopping: bool = False
    used: int = 0
    speed: float = 0.0
    measured: dict[str, tuple[int, float]] = field(default_factory=dict)
    worker: "Worker[None] | None" = None
    began: float = 0.0

    def measure(self, reply_id: str, used: int, speed: float) -> None:
        """Stores the tokens and the speed of the reply that is shown now."""
        self.measured[reply_id] = self.used, self.speed = used, speed

    def shows(self, reply_id: str) -> None:
        """Restores the measurements of the reply that is now the newest; those from an earlier run are
        unknown."""
        self.used, self.speed = self.measured.get(reply_id, (0, 0.0))

    @property
    def id(self) -> str | None:
        return self.session.id if self.session else None

    @property
    def room(self) -> RoomKind | None:
        """The room it is in, or will begin in; None for the room that was opened first."""
        return self.session.room if self.session else self.begins_in

    @property
    def unsent(self) -> list[str]:
        """The queued messages and the draft, in their order."""
        return [*self.waiting, self.draft]

    @property
    def busy(self) -> bool:
        return self.worker is not None

    @property
    def activity(self) -> str:
        """The current activity of the turn, in a word; empty without a turn."""
        if not self.busy:
            return ""
        if self.stopping:
            return _("stopping")
        if self.partial_text:
            return _("writing")
        seconds = int(time.monotonic() - self.began)
        return _("reading · {seconds} s", seconds=seconds) if seconds >= SLOW_S else _("reading")


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
        # Those whose text another one has taken over before they began.
        self._left = WeakSet[Conversation]()
        self._soon: asyncio.TimerHandle | None = None
        self._changed: dict[int, Conversation] = {}
        self._writing = asyncio.Lock()

    def changed(self, conversation: Conversation) -> None:
        """Schedules storing the draft of `conversation`."""
        self._changed[id(conversation)] = conversation
        if self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(KEEP_AFTER_S, self._due)

    def sent(self, conversation: Conversation) -> None:
        """Stores the draft of `conversation` at once, so that a message that was sent is not in the prompt as
        well after a crash."""
        self._changed[id(conversation)] = conversation
        if self._soon is not None:
            self._soon.cancel()
        self._due()

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

        After trying all drafts, it raises what `memory.storage.store.DraftStore` raises. Drafts that could
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
            before = self._unbegun.get(store.room, conversation)
            if before is not conversation:
                self._left.add(before)
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
        if place == UNBEGUN and conversation in self._left:
            return
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
