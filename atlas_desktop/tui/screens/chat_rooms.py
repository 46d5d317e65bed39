"""The part of the conversation screen that has to do with rooms and memory modes."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from textual.dom import DOMNode

from atlas_desktop.tui.turns import Conversation, Turns
from atlas_desktop.tui.widgets.change_bar import UndoBar
from atlas_desktop.tui.widgets.message import Remark
from atlas_desktop.tui.widgets.prompt import Prompt
from atlas_desktop.tui.widgets.transcript import Transcript
from atlas_desktop.words import modes
from atlas_desktop.words.catalogue import tr
from memory.entities import MemoryMode, Message, RoomKind
from memory.errors import MemoryFault

if TYPE_CHECKING:
    from atlas_desktop.services.rooms import RoomsService
    from atlas_desktop.tui.app import AtlasApp
    from memory.vault.keys import RoomKey

GROUP = "rooms"
_ROOM_ACTIONS = {
    "make_private": RoomKind.PRIVATE,
    "make_open": RoomKind.OPEN,
}
_MODE_ACTIONS = {
    "go_off_record": MemoryMode.OFF,
    "use_reads": MemoryMode.READS,
    "use_blank": MemoryMode.BLANK,
    "use_normal": MemoryMode.NORMAL,
}


class RoomActions(DOMNode):
    """Mixed into the conversation screen. What a change does is said before it is made."""

    atlas: "AtlasApp"
    turns: Turns
    current: Conversation
    turning: asyncio.Lock
    _warned = False

    if TYPE_CHECKING:

        @property
        def transcript(self) -> Transcript: ...

        @property
        def prompt(self) -> Prompt: ...

        def tell(self) -> None: ...

        def refresh_list(self) -> None: ...

        async def _open(self, ref: str) -> None: ...

        async def show_conversation(
            self, conversation: Conversation, messages: tuple[Message, ...]
        ) -> None: ...

    @property
    def _rooms(self) -> "RoomsService":
        return self.atlas.desk.rooms

    @property
    def _here(self) -> RoomKind:
        return self.atlas.room_of(self.current).store.room

    def _do(self, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.atlas.attempt(act(), group=GROUP, exclusive=True)

    # --- rooms -----------------------------------------------------------------------------------

    def action_make_private(self) -> None:
        self._do(self._make_private)

    async def _make_private(self) -> None:
        change = modes.of_move(self._here, RoomKind.PRIVATE)
        if self._here is RoomKind.PRIVATE:
            self.atlas.say(change.words)
            return
        if self._rooms.private is None and not await self._ask_for_private(change.words):
            return
        await self._say(change)
        await self._move(RoomKind.PRIVATE)

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
        if self._rooms.stuck:
            self.atlas.say(modes.stuck(self._rooms.stuck))

    def begin_private(self, key: "RoomKey | None", resume: str | None) -> None:
        """Opens the private room (asking for the passphrase when there is no key) for what is shown first."""
        self._do(lambda: self._begin_private(key, resume))

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

    async def _ask(self, title: str, words: str, enter: Callable[[str], Awaitable[object]]) -> bool:
        from atlas_desktop.services.attempts import Attempts
        from atlas_desktop.tui.screens.passphrase import PassphraseScreen

        attempts = Attempts(self.atlas.desk.paths.attempts)
        opened: bool = await self.atlas.push_screen_wait(PassphraseScreen(title, words, enter, attempts))
        return opened

    def action_make_open(self) -> None:
        self._do(self._make_open)

    async def _make_open(self) -> None:
        if self._here is RoomKind.OFF_RECORD:
            await self._keep(MemoryMode.NORMAL)
        elif await self._agreed(tr("rooms.move_to_open"), modes.of_move(self._here, RoomKind.OPEN)):
            await self._move(RoomKind.OPEN)

    async def _move(self, destination: RoomKind) -> None:
        conversation = self.current
        async with self.turning:
            await self.atlas.drafts.keep_all()
            if conversation.busy:
                # Something was said between the key and now.
                self.atlas.say(tr("chat.busy"))
                return
            if conversation.id is None:
                conversation.begins_in = destination
                await self._take_up_kept(conversation)
            elif conversation.room is not destination:
                conversation.session = await self._rooms.move(conversation.id, destination)
        self._told()

    async def _take_up_kept(self, conversation: Conversation) -> None:
        """What was typed in that room earlier, and never said, comes before what is typed now."""
        kept = await self.atlas.drafts.of(conversation)
        text = "\n\n".join(filter(str.strip, (kept, self.prompt.text)))
        if kept.strip() and kept != self.prompt.text:
            self.prompt.put(text)

    def action_close_private(self) -> None:
        """Closes the private room; without one it opens it, to look into it."""
        self._do(self._close_or_look)

    async def _close_or_look(self) -> None:
        if self._rooms.private is not None:
            await self._rooms.leave_private()
        elif not await self._ask_for_private(tr("rooms.listed_while_open")):
            return
        self._told()

    async def _private_closes(self) -> None:
        """Nothing of the private room is shown any more when it closes."""
        try:
            await self.atlas.drafts.keep_all()
        except (MemoryFault, OSError) as error:
            # The door closes all the same.
            self.atlas.background_failed(error)
        for conversation in [c for c in self.turns.active if c.room is RoomKind.PRIVATE]:
            self.turns.stop(conversation)
        if self.current.room is RoomKind.PRIVATE:
            async with self.turning:
                await self.show_conversation(Conversation(), ())
        self.turns.forget_room(RoomKind.PRIVATE)
        # What was deleted there a moment ago is named in it.
        self.query_one(UndoBar).take()
        self.atlas.say(tr("rooms.private_closed"))
        self.atlas.call_later(self.refresh_list)

    # --- off the record, and memory modes ---------------------------------------------------------

    def action_keep(self) -> None:
        self._do(self._keep_now)

    async def _keep_now(self) -> None:
        if self._here is not RoomKind.OFF_RECORD:
            self.atlas.say(tr("rooms.saved_already"))
        else:
            await self._keep(MemoryMode.NORMAL)

    async def _keep(self, mode: MemoryMode) -> None:
        conversation = self.current
        if not await self._open_room_there():
            return
        if conversation.id is None:
            conversation.begins_in, conversation.mode = RoomKind.OPEN, mode
        else:
            conversation.session = await self._rooms.keep(conversation.id, mode)
        self._told()

    async def _open_room_there(self) -> bool:
        """A program that was begun off the record has opened no vault."""
        desk = self.atlas.desk
        if any(room.store.room is RoomKind.OPEN for room in desk.open_rooms):
            return True

        async def enter(passphrase: str) -> None:
            self.atlas.look_after(await desk.enter(await desk.vault.unlock(passphrase)))

        return await self._ask(tr("rooms.open"), tr("rooms.open_locked"), enter)

    def action_go_off_record(self) -> None:
        self._do(lambda: self._change_mode(MemoryMode.OFF))

    def action_use_reads(self) -> None:
        self._do(lambda: self._change_mode(MemoryMode.READS))

    def action_use_blank(self) -> None:
        self._do(lambda: self._change_mode(MemoryMode.BLANK))

    def action_use_normal(self) -> None:
        self._do(lambda: self._change_mode(MemoryMode.NORMAL))

    async def _change_mode(self, mode: MemoryMode) -> None:
        shown, here = self.current, self._here
        off = here is RoomKind.OFF_RECORD
        now = MemoryMode.OFF if off else shown.session.memory_mode if shown.session else shown.mode
        change = modes.of_mode(now or MemoryMode.NORMAL, mode, room=here, begun=shown.id is not None)
        if not await self._agreed(tr("rooms.change_mode"), change) or now is mode:
            return
        if off:
            await self._keep(mode)
        elif mode is MemoryMode.OFF:
            await self._off_the_record(shown)
        elif shown.id is not None:
            shown.session = await self._rooms.set_mode(shown.id, mode)
        else:
            shown.mode = mode
        self._told()

    async def _off_the_record(self, shown: Conversation) -> None:
        room = await self._rooms.off_record()
        self.atlas.look_after(room)
        if shown.id is None:
            shown.begins_in = RoomKind.OFF_RECORD
            return
        copy = await self._rooms.off_the_record(shown.id)
        await self._open(copy.id)

    def warn_of_leaving(self, conversation: Conversation) -> None:
        """Says once in a run that what is off the record is not saved, when it is left."""
        left = self.current
        unsaved = left.session is not None and left.session.room is RoomKind.OFF_RECORD
        if unsaved and conversation is not left and not self._warned:
            self._warned = True
            self.atlas.say(modes.LEAVING_OFF_RECORD)

    # --- what they share --------------------------------------------------------------------------

    async def _agreed(self, title: str, change: modes.Consequence) -> bool:
        """Says what will happen, and asks when it cannot be taken back."""
        if not change.asks:
            await self._say(change)
            return True
        from atlas_desktop.tui.screens.confirm import ConfirmScreen

        question = ConfirmScreen(title, change.words, agree=tr("rooms.do_it"), refuse=tr("rooms.leave_it"))
        agreed: bool = await self.atlas.push_screen_wait(question)
        return agreed

    async def _say(self, change: modes.Consequence) -> None:
        if self.current.id is None:
            self.atlas.say(change.words)
        else:
            await self.transcript.note(Remark(change.words))

    def _told(self) -> None:
        # What is being typed is kept where it now belongs, and nowhere else.
        self.atlas.drafts.changed(self.current)
        self.tell()
        self.refresh_list()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in (*_ROOM_ACTIONS, *_MODE_ACTIONS, "keep", "close_private"):
            return self._can(action)
        return super().check_action(action, parameters)

    def _can(self, action: str) -> bool | None:
        desk = self.atlas.desk
        if self.atlas.leaving or desk.room is None or self.current.busy or self.current.waiting:
            return None
        if desk.room.store.room is RoomKind.OFF_RECORD and action != "keep":
            return None
        if action == "make_open":
            return True if self._here is not RoomKind.OPEN else None
        return True
