"""Where a conversation is kept (open, private, off the record), and how it uses memory."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from atlas_desktop import phrases as phrases
from atlas_desktop.locale import _, ngettext
from atlas_desktop.tui.actions import BY_ID, Action
from atlas_desktop.tui.chat.composer import Act, ChangeGate
from atlas_desktop.tui.chat.conversation import Conversation
from atlas_desktop.tui.chat.conversation_view import ConversationView, ShowConversation
from atlas_desktop.tui.chat.sessions import SessionsController
from atlas_desktop.tui.chat.status import MEMORY, MODEL, ROOM
from atlas_desktop.tui.keymap import how_to
from atlas_desktop.tui.widgets import Covering, UndoBar
from memory.entities import MemoryMode, RoomKind
from memory.errors import MemoryFault

if TYPE_CHECKING:
    from atlas_desktop.services.desk import RoomsService
    from atlas_desktop.tui.base import BaseApp
    from memory.vault.keys import RoomKey

GROUP = "rooms"
_CHANGES = {
    MEMORY: ("use_normal", "use_reads", "use_blank", "go_off_record", "keep"),
    ROOM: ("make_private", "make_open", "close_private"),
}
"""The actions that a word of the line above the conversation offers."""


class RoomsController:
    """Moves the conversation that is shown between rooms and memory modes, one change at a time."""

    def __init__(
        self,
        app: "BaseApp",
        view: ConversationView,
        gate: ChangeGate,
        undo_bar: UndoBar,
        *,
        sessions: SessionsController,
        show: ShowConversation,
    ) -> None:
        self._app = app
        self._view = view
        self._gate = gate
        self._undo_bar = undo_bar
        self._sessions = sessions
        self._show = show
        self._warned = False

    @property
    def _rooms(self) -> "RoomsService":
        return self._app.desk.rooms

    def _do(self, act: Act, what: str, *, asked_for: bool = True) -> None:
        """Starts a change after all earlier key presses have been handled, so that a message sent in one room
        cannot arrive in the next. A typed command has waited for its turn already."""
        if self._gate.closed:
            self._begin(act, what, asked_for=asked_for)
        else:
            self._view.prompt.call_later(self._begin, act, what, asked_for=asked_for)

    def _begin(self, act: Act, what: str, *, asked_for: bool) -> None:
        """Starts a change unless one is in progress. A repeated request comes from a key that was pressed
        twice."""
        under_way = self._gate.changes
        if not under_way:
            self._gate.change(act, what, group=GROUP, asked_for=asked_for)
        elif what not in under_way:
            self._app.warn(
                _("Another change of room or memory mode is in progress. No other changes were made.")
            )

    async def _at_rest(self, conversation: Conversation, act: Callable[[], Awaitable[None]]) -> None:
        """Changes where a conversation is kept, unless a turn of it is in progress."""
        async with self._view.switching:
            await self._app.drafts.keep_all()
            if conversation.busy:
                # A message was sent after the key was pressed.
                self._app.say_stop_first()
                return
            await act()
        self._refresh()

    async def _ask(self, title: str, words: str, enter: Callable[[str], Awaitable[object]]) -> bool:
        from atlas_desktop.services.vault import Attempts
        from atlas_desktop.tui.setup.unlock import PassphraseScreen

        if self._app.demo_passphrase:
            shown = _("In this demonstration the passphrase is:")
            words = f"{words}\n\n{shown}\n{self._app.demo_passphrase}"
        attempts = Attempts(self._app.desk.paths.attempts)
        opened: bool = await self._app.push_screen_wait(PassphraseScreen(title, words, enter, attempts))
        return opened

    async def _agreed(self, title: str, change: phrases.Consequence) -> bool:
        """Announces what will happen; asks first if it cannot be undone."""
        if not change.asks:
            await self._say(change)
            return True
        from atlas_desktop.tui.dialogs.questions import ConfirmScreen

        question = ConfirmScreen(title, change.words, agree=_("OK"), refuse=_("Cancel"))
        agreed: bool = await self._app.push_screen_wait(question)
        return agreed

    async def _say(self, change: phrases.Consequence) -> None:
        if self._view.current.id is None:
            self._app.say(change.words)
        else:
            await self._view.note(change.words)

    def _refresh(self) -> None:
        # Moves the draft to the room where it belongs now.
        self._app.drafts.changed(self._view.current)
        self._view.refresh()
        self._view.refresh_list()

    # --- rooms ---------------------------------------------------------------------------------------

    def make_private(self) -> None:
        self._do(self._make_private, "make_private")

    async def _make_private(self) -> None:
        change = await self._to(RoomKind.PRIVATE)
        if self._view.room_kind is RoomKind.PRIVATE:
            self._app.say(change.words)
            return
        announced = self._rooms.private is None or change.asks
        if self._rooms.private is None:
            if not await self._ask_for_private(change.words):
                return
        elif change.asks and not await self._agreed(_("Move to the private room"), change):
            return
        await self._move(RoomKind.PRIVATE)
        if not announced:
            await self._say(change)
        if self._view.current.id is not None:
            self._app.say(ngettext("Moved to the private room.", "{count} moved to the private room.", 1))

    async def _to(self, destination: RoomKind) -> phrases.Consequence:
        """Returns what moving the shown conversation will do."""
        here, moving = self._view.room_kind, self._view.current.id
        if moving is None and RoomKind.OFF_RECORD is not here is not destination:
            return phrases.of_beginning(destination)
        losses = phrases.NO_LOSSES if moving is None else await self._rooms.losses([moving], destination)
        return phrases.of_move(here, destination, losses)

    async def _ask_for_private(self, words: str) -> bool:
        if not await self._ask(_("The private room"), words, self._rooms.enter_private):
            return False
        self._private_is_open()
        return True

    def _private_is_open(self) -> None:
        private = self._rooms.private
        assert private is not None
        self._app.look_after(private)
        private.recall.start(self._app.background_failed)
        self._rooms.on_closing = self._private_closes
        self._rooms.watch(self._app.background_failed)
        self._view.refresh()
        if self._rooms.stuck:
            self._app.say(phrases.stuck(self._rooms.stuck))

    def private_unlocked(self, here: RoomKind) -> bool | None:
        """Returns whether the private room is open; None if the header should not mention it."""
        if here is RoomKind.PRIVATE or self._view.begun_off_record:
            return None
        return self._rooms.private is not None or (False if here is RoomKind.OPEN else None)

    def begin_private(self, key: "RoomKey | None", resume: str | None) -> None:
        """Opens the private room at start; without a key it asks for the passphrase."""
        self._do(partial(self._begin_private, key, resume), "make_private")

    async def _begin_private(self, key: "RoomKey | None", resume: str | None) -> None:
        opened = key is not None
        if key is not None:
            await self._rooms.enter_private_with(key)
            self._private_is_open()
        else:
            opened = await self._ask_for_private(_("New conversations start in it."))
        if resume is not None:
            await self._sessions.open(resume)
        elif opened:
            await self._move(RoomKind.PRIVATE)
        self._refresh()

    def make_open(self) -> None:
        self._do(self._make_open, "make_open")

    async def _make_open(self) -> None:
        if not await self._agreed(_("Move to the open room"), await self._to(RoomKind.OPEN)):
            return
        if self._view.room_kind is RoomKind.OFF_RECORD:
            await self._keep(MemoryMode.NORMAL)
        else:
            await self._move(RoomKind.OPEN)

    async def _move(self, destination: RoomKind) -> None:
        conversation = self._view.current

        async def move() -> None:
            if conversation.id is None:
                conversation.begins_in = destination
                await self._take_up_kept(conversation)
            elif conversation.room is not destination:
                conversation.session = await self._rooms.move(conversation.id, destination)

        before = conversation.room
        await self._at_rest(conversation, move)
        moved = before is not conversation.room is destination
        if moved and conversation.id is not None and self._view.current is conversation:
            # Its documents have stayed behind: what is shown of them goes.
            await self._sessions.open(conversation.id, again=True)

    async def _take_up_kept(self, conversation: Conversation) -> None:
        """Puts the unsent text that is stored in that room before the text in the prompt."""
        kept = await self._app.drafts.of(conversation)
        text = "\n\n".join(filter(str.strip, (kept, self._view.prompt.text)))
        if kept.strip() and kept != self._view.prompt.text:
            self._view.prompt.put(text)

    def close_private(self) -> None:
        """Closes the private room if it is open; otherwise opens it."""
        self.close_or_open_private()

    def close_or_open_private(self, opened: Callable[[], object] = lambda: None) -> None:
        """Closes the private room, or asks for its passphrase; calls `opened` once it is open."""
        self._do(partial(self._close_or_open, opened), "close_private", asked_for=False)

    async def _close_or_open(self, opened: Callable[[], object]) -> None:
        if self._rooms.private is not None:
            await self._rooms.leave_private()
        elif await self._ask_for_private(_("While it is open, the list shows its conversations.")):
            opened()
            self._app.say(self._private_opened())
        self._refresh()

    def _private_opened(self) -> str:
        if self._view.room_kind is not RoomKind.OPEN:
            return _("The private room is open.")
        key = how_to("room.make_private", self._app.keys)
        return (
            _(
                "The private room is open. New conversations still begin in the open room; {key} changes it.",
                key=key,
            )
            if self._view.current.id is None
            else _(
                "The private room is open. This conversation is still in the open room; {key} moves it.",
                key=key,
            )
        )

    async def open_private(self, words: str) -> bool:
        """Returns whether the private room is open; asks for the passphrase if it is not."""
        return self._rooms.private is not None or await self._ask_for_private(words)

    async def _private_closes(self) -> None:
        try:
            await self._leave_private()
        finally:
            # Last, with no await before the room closes: lists that are read again no longer contain it.
            self._forget_over_it()

    async def _leave_private(self) -> None:
        """Stops the turns of the private room, keeps its drafts and leaves its conversation."""
        self._app.room_closes()
        await self._app.turns.end_in(RoomKind.PRIVATE)
        self._app.notes.gather()
        try:
            await self._app.notes.keep_all()
            await self._app.drafts.keep_all()
        except (MemoryFault, OSError) as error:
            # The room closes even after an error.
            self._app.background_failed(error)
        if self._view.current.room is RoomKind.PRIVATE:
            async with self._view.switching:
                await self._show(Conversation(), (), None)
        self._app.turns.forget_room(RoomKind.PRIVATE)
        # The bar may name a conversation that was deleted in that room.
        self._undo_bar.take()
        self._sessions.clear_filter()
        self._app.say(_("The private room is closed."), anywhere=True)
        self._app.call_later(self._view.refresh)
        self._app.call_later(self._view.refresh_list)

    def _forget_over_it(self) -> None:
        """Removes everything of the private room from the screens above the chat screen."""
        stack = self._app.screen_stack
        over = [
            one for one in stack[stack.index(self._view.prompt.screen) + 1 :] if isinstance(one, Covering)
        ]
        goes = [one for one in over if not one.forget_private()]
        while goes:
            top = self._app.screen
            if top in goes:
                goes.remove(top)
            top.dismiss()

    def offer_changes(
        self,
        part: str,
        can_run: Callable[[Action, tuple[str, ...]], bool],
        run: Callable[[Action, tuple[str, ...]], Coroutine[Any, Any, None]],
    ) -> None:
        """Offers what can be changed about a word of the line above the conversation, and does what is
        chosen."""
        self._app.attempt(partial(self._offer_changes, part, can_run, run), group="header", exclusive=True)

    async def _offer_changes(
        self,
        part: str,
        can_run: Callable[[Action, tuple[str, ...]], bool],
        run: Callable[[Action, tuple[str, ...]], Coroutine[Any, Any, None]],
    ) -> None:
        from atlas_desktop.tui.dialogs.questions import Choice, PickScreen

        if part == MODEL:
            await run(BY_ID["models.show"], ())
            return
        offered = [BY_ID[f"room.{name}"] for name in _CHANGES[part]]
        choices = [Choice(one.id, one.name, one.help) for one in offered if can_run(one, ())]
        if not choices:
            self._app.say_stop_first()
            return
        title = _("Memory mode") if part == MEMORY else _("Room")
        chosen = await self._app.push_screen_wait(PickScreen(title, choices))
        if chosen is not None:
            await run(BY_ID[chosen], ())

    # --- memory modes --------------------------------------------------------------------------------

    def keep(self) -> None:
        self._do(self._keep_now, "keep")

    async def _keep_now(self) -> None:
        if self._view.room_kind is not RoomKind.OFF_RECORD:
            self._app.say(_("This conversation is already saved."))
        elif await self._keep(MemoryMode.NORMAL):
            begun = self._view.current.id is not None
            self._app.say(
                _("Saved in the open room, encrypted.")
                if begun
                else _("This conversation will be saved in the open room, encrypted.")
            )

    async def _keep(self, mode: MemoryMode) -> bool:
        """Saves the conversation from now on; False if the vault was not opened, or it was not at rest."""
        conversation = self._view.current
        if not await self._open_room_there():
            return False
        kept = False

        async def keep() -> None:
            nonlocal kept
            if conversation.id is None:
                conversation.begins_in, conversation.mode = RoomKind.OPEN, mode
            else:
                conversation.session = await self._rooms.keep(conversation.id, mode)
            kept = True

        await self._at_rest(conversation, keep)
        return kept

    async def _open_room_there(self) -> bool:
        """Opens the vault if the program was started off the record."""
        desk = self._app.desk
        if any(room.store.room is RoomKind.OPEN for room in desk.open_rooms):
            return True

        async def enter(passphrase: str) -> None:
            self._app.look_after(await desk.enter(await desk.vault.unlock(passphrase)))

        return await self._ask(_("The open room"), _("It is locked. Enter your passphrase."), enter)

    def go_off_record(self) -> None:
        self._do(partial(self._change_mode, MemoryMode.OFF), "go_off_record")

    def use_reads(self) -> None:
        self._do(partial(self._change_mode, MemoryMode.READS), "use_reads")

    def use_blank(self) -> None:
        self._do(partial(self._change_mode, MemoryMode.BLANK), "use_blank")

    def use_normal(self) -> None:
        self._do(partial(self._change_mode, MemoryMode.NORMAL), "use_normal")

    async def _change_mode(self, mode: MemoryMode) -> None:
        shown, here = self._view.current, self._view.room_kind
        off = here is RoomKind.OFF_RECORD
        now = MemoryMode.OFF if off else shown.session.memory_mode if shown.session else shown.mode
        change = phrases.of_mode(now or MemoryMode.NORMAL, mode, room=here, begun=shown.id is not None)
        if not await self._agreed(_("Change the memory mode"), change) or now is mode:
            return
        if off:
            await self._keep(mode)
        elif mode is MemoryMode.OFF:
            await self._off_the_record(shown)
        elif shown.id is not None:
            shown.session = await self._rooms.set_mode(shown.id, mode)
        else:
            shown.mode = mode
        self._refresh()
        now_at, now_mode = self._view.destination
        if (mode is MemoryMode.OFF) is not (now_at is RoomKind.OFF_RECORD) or (
            mode is not MemoryMode.OFF and (now_mode or MemoryMode.NORMAL) is not mode
        ):
            # The room of the conversation was closed meanwhile, so another one is shown.
            self._app.warn(
                _(
                    "The memory mode was not changed because another conversation is shown now. The line "
                    "above it shows its mode."
                )
            )

    async def _off_the_record(self, shown: Conversation) -> None:
        room = await self._rooms.off_record()
        self._app.look_after(room)
        if shown.id is None:
            left, shown.documents = shown.documents, []
            shown.begins_in = RoomKind.OFF_RECORD
            if left:
                self._app.say(_("Documents cannot be used off the record. They were removed from here."))
                if (chat := self._app.chat) is not None:
                    chat.tell_attachments()
            return
        if await self._app.room_of(shown).store.documents.bound(shown.id):
            self._app.say(
                _("Documents cannot be used off the record. They stay with the saved conversation.")
            )
        copy = await self._rooms.off_the_record(shown.id)
        await self._sessions.open(copy.id)

    def warn_of_leaving(self, conversation: Conversation) -> None:
        """Warns, once per run, when the user leaves a conversation that is off the record."""
        left = self._view.current
        unsaved = left.session is not None and left.session.room is RoomKind.OFF_RECORD
        if unsaved and conversation is not left and not self._warned:
            self._warned = True
            self._app.say(phrases.leaving_off_record())
