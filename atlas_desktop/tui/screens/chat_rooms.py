"""The part of the conversation screen that moves conversations between rooms."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from atlas_desktop.tui.screens.chat_changes import RoomChanges
from atlas_desktop.tui.turns import Conversation
from atlas_desktop.tui.widgets.change_bar import UndoBar
from atlas_desktop.words import modes
from atlas_desktop.words.catalogue import tr
from memory.entities import MemoryMode, RoomKind
from memory.errors import MemoryFault

if TYPE_CHECKING:
    from memory.vault.keys import RoomKey

_ACTIONS = ("make_private", "make_open", "close_private")


class RoomActions(RoomChanges):
    """Mixed into the conversation screen."""

    if TYPE_CHECKING:

        async def _keep(self, mode: MemoryMode) -> None: ...

    def action_make_private(self) -> None:
        self._do(self._make_private, "make_private")

    async def _make_private(self) -> None:
        change = self._to(RoomKind.PRIVATE)
        if self._here is RoomKind.PRIVATE:
            self.atlas.say(change.words)
            return
        if self._rooms.private is not None:
            await self._say(change)
        elif not await self._ask_for_private(change.words):
            return
        await self._move(RoomKind.PRIVATE)
        if self.current.id is not None:
            self.atlas.say(tr("history.done.private", count=1))

    def _to(self, destination: RoomKind) -> modes.Consequence:
        """What a change of the room will do to what is shown."""
        if self.current.id is None and RoomKind.OFF_RECORD is not self._here is not destination:
            return modes.of_beginning(destination)
        return modes.of_move(self._here, destination)

    async def _ask_for_private(self, words: str) -> bool:
        if not await self._ask(tr("rooms.private"), words, self._rooms.enter_private):
            return False
        self._private_is_open()
        return True

    def _private_is_open(self) -> None:
        private = self._rooms.private
        assert private is not None
        self.atlas.look_after(private)
        private.recall.start(self.atlas.background_failed)
        self._rooms.on_closing = self._private_closes
        self._rooms.watch(self.atlas.background_failed)
        self.tell()
        if self._rooms.stuck:
            self.atlas.say(modes.stuck(self._rooms.stuck))

    def private_unlocked(self, here: RoomKind) -> bool | None:
        """Whether the private room is open, to be told beside the room that is shown; None where there is
        nothing to tell."""
        if here is RoomKind.PRIVATE or self._begun_off_record or self.atlas.is_demo:
            return None
        return self._rooms.private is not None or (False if here is RoomKind.OPEN else None)

    def begin_private(self, key: "RoomKey | None", resume: str | None) -> None:
        """Opens the private room (asking for the passphrase when there is no key) for what is shown first."""
        self._do(partial(self._begin_private, key, resume), "make_private")

    async def _begin_private(self, key: "RoomKey | None", resume: str | None) -> None:
        opened = key is not None
        if key is not None:
            await self._rooms.enter_private_with(key)
            self._private_is_open()
        else:
            opened = await self._ask_for_private(tr("rooms.begins_in_it"))
        if resume is not None:
            await self._open(resume)
        elif opened:
            await self._move(RoomKind.PRIVATE)
        self._told()

    def action_make_open(self) -> None:
        self._do(self._make_open, "make_open")

    async def _make_open(self) -> None:
        if not await self._agreed(tr("rooms.move_to_open"), self._to(RoomKind.OPEN)):
            return
        if self._here is RoomKind.OFF_RECORD:
            await self._keep(MemoryMode.NORMAL)
        else:
            await self._move(RoomKind.OPEN)

    async def _move(self, destination: RoomKind) -> None:
        conversation = self.current

        async def move() -> None:
            if conversation.id is None:
                conversation.begins_in = destination
                await self._take_up_kept(conversation)
            elif conversation.room is not destination:
                conversation.session = await self._rooms.move(conversation.id, destination)

        await self._at_rest(conversation, move)

    async def _take_up_kept(self, conversation: Conversation) -> None:
        """What was typed in that room earlier, and never said, comes before what is typed now."""
        kept = await self.atlas.drafts.of(conversation)
        text = "\n\n".join(filter(str.strip, (kept, self.prompt.text)))
        if kept.strip() and kept != self.prompt.text:
            self.prompt.put(text)

    def action_close_private(self) -> None:
        """Closes the private room; without one it opens it, to look into it."""
        self.close_or_open_private()

    def close_or_open_private(self, opened: Callable[[], object] = lambda: None) -> None:
        """Closes the private room, or asks for its passphrase; calls `opened` when that has opened it."""
        self._do(partial(self._close_or_open, opened), "close_private", asked_for=False)

    async def _close_or_open(self, opened: Callable[[], object]) -> None:
        if self._rooms.private is not None:
            await self._rooms.leave_private()
        elif await self._ask_for_private(tr("rooms.listed_while_open")):
            opened()
        self._told()

    async def _private_closes(self) -> None:
        """Nothing of the private room is shown any more when it closes; what was sent in it is stored."""
        self.atlas.room_closes()
        await self.turns.end_in(RoomKind.PRIVATE)
        try:
            await self.atlas.drafts.keep_all()
        except (MemoryFault, OSError) as error:
            # The door closes all the same.
            self.atlas.background_failed(error)
        if self.current.room is RoomKind.PRIVATE:
            async with self.turning:
                await self.show_conversation(Conversation(), ())
        self.turns.forget_room(RoomKind.PRIVATE)
        # What was deleted there a moment ago is named in it.
        self.query_one(UndoBar).take()
        self.atlas.say(tr("rooms.private_closed"), anywhere=True)
        self.atlas.call_later(self.tell)
        self.atlas.call_later(self.refresh_list)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action not in _ACTIONS:
            return super().check_action(action, parameters)
        if self._cannot_change or self._begun_off_record:
            return None
        return None if action == "make_open" and self._here is RoomKind.OPEN else True
