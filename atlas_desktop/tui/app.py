"""The application: which screen comes when. What goes on beside it: `reporting`; how it ends: `leaving`."""

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING

from textual.binding import Binding

from atlas_desktop.tui import ahead
from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.arrivals import Arrivals
from atlas_desktop.tui.leaving import Relaunch
from atlas_desktop.tui.modelling import Modelling
from atlas_desktop.tui.ports import ModelShelf, Now
from memory.clock import LocalZone
from memory.kinds import RoomKind

if TYPE_CHECKING:
    from textual.command import Provider
    from textual.screen import Screen

    from atlas_desktop.errors import Explained
    from atlas_desktop.services.desk import AppContext
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.drafts import Drafts
    from atlas_desktop.tui.screens.chat import ChatScreen
    from atlas_desktop.tui.turns import Conversation, Turns
    from memory.vault.keys import RoomKey


def _local_now() -> datetime:
    return datetime.now(LocalZone())


def _action_commands() -> "type[Provider]":
    from atlas_desktop.tui.palette import ActionCommands

    return ActionCommands


class AtlasApp(Modelling):
    """Give it a desk and, when the vault is already unlocked, the room's key; `resume` opens a session.

    `off_record` needs no vault: everything said lives in memory and ends with the program. With `private`
    (the private room's key, or True to ask for the passphrase) that room is opened too. A `locked`
    one stands in the place of another program: it opens by a deed of the person only, and shows what was
    shown then. Without `relaunch` it cannot be locked; `demo` locks it too, and shows sample conversations.
    `is_demo` says that these are shown now, in a home that ends with the program.

    `models` are the desk's unless others are given; `now` tells the local time.
    """

    TITLE = "Atlas"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS = {_action_commands}  # noqa: RUF012
    BINDINGS = [*bindings(Where.EVERYWHERE), Binding("ctrl+c", "hint_quit", show=False, system=True)]  # noqa: RUF012

    def __init__(
        self,
        desk: "AppContext",
        *,
        resume: str | None = None,
        key: "RoomKey | None" = None,
        off_record: bool = False,
        private: "RoomKey | bool" = False,
        locked: bool = False,
        relaunch: Relaunch | None = None,
        demo: Relaunch | None = None,
        is_demo: bool = False,
        models: ModelShelf | None = None,
        now: Now = _local_now,
    ) -> None:
        super().__init__()
        self.desk = desk
        desk.on_stale = self.say_stale
        desk.on_held_back = self.say_held_back
        self._shelf = models
        self.now = now
        self.arrivals = Arrivals(self)
        self.background = ""
        self.model_name = ""
        self.model_id = ""
        self.context_length = 0
        self._resume = resume
        self._key = key
        self._off_record = off_record
        self._private = private
        self._locked = locked
        self._relaunch, self._demo = relaunch, demo
        self.is_demo = is_demo
        self._drafts: Drafts | None = None
        self.take_settings()

    @property
    def room(self) -> "RoomServices":
        """The room of the conversation that is shown. Screens that use it are shown only while there is one.

        Raises `RoomClosed`.
        """
        return self.room_of(self.chat.current if self.chat is not None else None)

    def room_of(self, conversation: "Conversation | None") -> "RoomServices":
        """The room that a conversation is in, or is to begin in. Raises `RoomClosed`."""
        if conversation is not None and conversation.room is not None:
            return self.desk.at(conversation.room)
        if self.desk.room is None:
            from memory.errors import RoomClosed

            raise RoomClosed
        return self.desk.room

    def private_seen(self) -> None:
        """Somebody is there: the private room stays open for another while, if it is what they look at."""
        shown = None if self.desk.room is None else self.chat
        if shown is not None and shown.current.room is RoomKind.PRIVATE:
            self.desk.rooms.used()

    def look_after(self, room: "RoomServices") -> None:
        """Has a room that was opened work in the background, and tell of it."""
        room.background.listen(self.turns.job_moved)
        room.background.listen_waiting(lambda: self.call_later(self._tell_chat))
        room.epochs.on_compaction = self.turns.compacted
        room.background.start(self.background_failed)

    @property
    def models(self) -> ModelShelf:
        """The models of the home. Made when first asked for: their catalogue is not needed to unlock."""
        if self._shelf is None:
            from atlas_desktop.tui.shelf import HomeShelf

            self._shelf = HomeShelf(self.desk.models)
        return self._shelf

    @property
    def turns(self) -> "Turns":
        """The turns of this run, which go on whatever screen is shown."""
        if self._turns is None:
            from atlas_desktop.tui.turns import Turns

            self._turns = Turns(self)
        return self._turns

    @property
    def drafts(self) -> "Drafts":
        """What is typed and not sent."""
        if self._drafts is None:
            from atlas_desktop.tui.drafts import Drafts

            self._drafts = Drafts(self)
        return self._drafts

    # --- which screen comes when -----------------------------------------------------------------

    def on_mount(self) -> None:
        if self._relaunch is not None:
            self.keep_watch()
        self.begin()

    def begin(self) -> None:
        """Shows the first screen; what keeps it from being shown is said, and tried again when asked for."""
        self.attempt(self._begin_or_say_why(), group="begin")

    async def _begin_or_say_why(self) -> None:
        from memory.errors import MemoryFault

        try:
            await self._begin()
        except (MemoryFault, OSError) as error:
            await self.try_again_later(error, self.begin)

    async def _begin(self) -> None:
        if self._off_record:
            await self.enter(None)
        elif self._key is not None:
            key, self._key = self._key, None
            await self.enter(key)
        elif await self.desk.vault.exists():
            from atlas_desktop.tui.screens.unlock import UnlockScreen

            await self.turn_to(UnlockScreen(self, by_itself=not self._locked))
            self._load_ahead()
        else:
            from atlas_desktop.tui.screens.welcome import WelcomeScreen

            await self.turn_to(WelcomeScreen(self))
            self._load_ahead()

    def _load_ahead(self) -> None:
        """Imports what the conversation needs while the person types the passphrase."""
        self.call_after_refresh(ahead.release_the_collector)
        self.attempt(asyncio.to_thread(ahead.load_conversation), group="ahead")

    async def turn_to(self, screen: "Screen[None]") -> None:
        """Replaces the screen that is shown. Textual's own empty screen stays below: the stack needs one."""
        while len(self.screen_stack) > 2:
            await self.pop_screen()
        if len(self.screen_stack) > 1:
            await self.switch_screen(screen)
        else:
            await self.push_screen(screen)

    async def enter(self, key: "RoomKey | None", *, confirmed: bool = False) -> None:
        """Opens the room and shows the conversation, or the choice of a model if there is none.

        Without a key it is a room in memory: nothing said there is ever written. A recovery key that nobody
        confirmed comes first: whoever closed the program then has never written it down.
        """
        if key is not None and not confirmed and (await self.desk.vault.status()).recovery_unseen:
            from atlas_desktop.tui.screens.recovery import renewed

            if (screen := await renewed(self, key)) is not None:
                await self.turn_to(screen)
                return
        await self._enter(key)

    async def _enter(self, key: "RoomKey | None") -> None:
        room = await self.desk.enter(key, RoomKind.OPEN if key is not None else RoomKind.OFF_RECORD)
        self.look_after(room)
        self.attempt(self.arrivals.start(), group="ahead")
        if await self.models.chat_model() is None:
            await self.choose_model()
        else:
            await self.show_chat()

    async def choose_model(self, because: "Explained | None" = None) -> None:
        """Shows the choice of a model: over the conversation, if there is one, which stays as it is.

        `because` tells why one is needed.
        """
        from atlas_desktop.tui.screens.model import ModelScreen

        if self.chat is None:
            await self.turn_to(ModelScreen(self, self.models, because=because))
        elif not self.choosing_model:
            await self.push_screen(ModelScreen(self, self.models, because=because))

    async def show_chat(self, *, warm: bool = True) -> None:
        """Shows the conversation; `warm` starts the model's process in the background."""
        if self.chat is not None:
            while self.choosing_model:
                await self.pop_screen()
        else:
            await self._first_chat()
        if warm:
            self.attempt(self.warm_up, group="model", exclusive=True)

    async def _first_chat(self) -> None:
        from atlas_desktop.tui.screens.chat import ChatScreen

        resume, self._resume = self._resume, None
        if self._locked:
            self._locked = False
            resume = await self.room.store.drafts.take_left_open()
        private, self._private = self._private, False
        chat = ChatScreen(self, resume=None if private else resume)
        await self.turn_to(chat)
        if private:
            chat.begin_private(None if private is True else private, resume)
        ahead.calm_the_collector()
        self.attempt(asyncio.to_thread(ahead.load_highlighter), group="ahead")

    async def begin_anew(self) -> None:
        """A fresh screen in the place of one that failed, with the conversation that was shown, if any."""
        if self.desk.room is None:
            await self._begin()
            return
        self._resume, self.left_at = self.left_at, None
        await self._first_chat()

    @property
    def chat(self) -> "ChatScreen | None":
        """The conversation, whatever lies over it."""
        from atlas_desktop.tui.screens.chat import ChatScreen

        return next((s for s in self.screen_stack if isinstance(s, ChatScreen)), None)

    def _tell_chat(self) -> None:
        if (chat := self.chat) is not None and chat.is_mounted:
            chat.tell()

    # --- actions ---------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("lock", "demo"):
            can = self.can_lock if action == "lock" else self.can_demo
            return can and super().check_action(action, parameters) is not False
        return super().check_action(action, parameters)

    def action_command_palette(self) -> None:
        from atlas_desktop.tui.palette import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def action_help(self) -> None:
        from atlas_desktop.tui.screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self.keys, self._here()))

    def _here(self) -> Where:
        """Where the person is: what has the focus knows, or what holds it; over a screen, that screen."""
        above = self.focused.ancestors_with_self if self.focused is not None else ()
        for node in (*above, *reversed(self.screen_stack)):
            if isinstance(where := getattr(node, "where", None), Where):
                return where
        return Where.CHAT
