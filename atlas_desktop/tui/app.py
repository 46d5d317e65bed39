"""The application: which screen comes when, what runs in the background, and how it ends."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.binding import Binding
from textual.worker import Worker, WorkerFailed, WorkerState

from atlas_desktop.explain import Explained, explain
from atlas_desktop.services.cleaning import clean
from atlas_desktop.tui import ahead
from atlas_desktop.tui import theme as themes
from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.arrivals import Arrivals
from atlas_desktop.tui.failures import explain_and_note, noted
from atlas_desktop.tui.ports import ModelShelf, Now
from memory.entities import RoomKind
from models.errors import ModelFileMissing, NoModel

if TYPE_CHECKING:
    from textual.command import Provider
    from textual.screen import Screen

    from atlas_desktop.services.desk import Desk
    from atlas_desktop.services.room import OpenRoom
    from atlas_desktop.tui.screens.chat import ChatScreen
    from atlas_desktop.tui.turns import Turns
    from memory.vault.keys import RoomKey


FORCED_CLOSE_S = 2


def _local_now() -> datetime:
    return datetime.now().astimezone()


def _action_commands() -> "type[Provider]":
    from atlas_desktop.tui.palette import ActionCommands

    return ActionCommands


class AtlasApp(App[None]):
    """Give it a desk and, when the vault is already unlocked, the room's key; `resume` opens a session.

    `off_record` needs no vault: everything said lives in memory and ends with the program.

    `models` are the desk's unless others are given; `now` tells the local time.
    """

    TITLE = "Atlas"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS = {_action_commands}  # noqa: RUF012
    BINDINGS = [*bindings(Where.EVERYWHERE), Binding("ctrl+c", "hint_quit", show=False, system=True)]  # noqa: RUF012

    def __init__(
        self,
        desk: "Desk",
        *,
        resume: str | None = None,
        key: "RoomKey | None" = None,
        off_record: bool = False,
        models: ModelShelf | None = None,
        now: Now = _local_now,
    ) -> None:
        super().__init__()
        self.desk = desk
        self._shelf = models
        self.now = now
        self.leaving = False
        self._forced = False
        self.arrivals = Arrivals(self)
        self._turns: Turns | None = None
        self.background = ""
        self.model_name = ""
        self.model_id = ""
        self.context_length = 0
        self._resume = resume
        self._key = key
        self._off_record = off_record
        self.register_theme(themes.DARK)
        self.register_theme(themes.LIGHT)
        self.theme = themes.NAMES[desk.settings.ui.theme]

    @property
    def room(self) -> "OpenRoom":
        """The room that is open. Screens that use it are shown only while there is one."""
        if self.desk.room is None:
            from memory.errors import RoomClosed

            raise RoomClosed
        return self.desk.room

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

    # --- which screen comes when -----------------------------------------------------------------

    def on_mount(self) -> None:
        self.attempt(self._begin(), group="begin")

    async def _begin(self) -> None:
        if self._off_record:
            await self.enter(None)
        elif self._key is not None:
            key, self._key = self._key, None
            await self.enter(key)
        elif await self.desk.vault.exists():
            from atlas_desktop.tui.screens.unlock import UnlockScreen

            await self.turn_to(UnlockScreen(self))
            self._load_ahead()
        else:
            from atlas_desktop.tui.screens.welcome import WelcomeScreen

            await self.turn_to(WelcomeScreen(self))
            self._load_ahead()

    def _load_ahead(self) -> None:
        """Imports what the conversation needs while the person types the passphrase."""
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
        room.background.listen(self.turns.job_moved)
        room.epochs.on_compaction = self.turns.compacted
        room.background.start(self._background_failed)
        self.attempt(self.arrivals.start(), group="ahead")
        if await self.models.chat_model() is None:
            await self.choose_model()
        else:
            await self.show_chat()

    async def choose_model(self) -> None:
        """Shows the choice of a model: over the conversation, if there is one, which stays as it is."""
        from atlas_desktop.tui.screens.model import ModelScreen

        if self._chat is None:
            await self.turn_to(ModelScreen(self, self.models))
        elif not self.choosing_model:
            await self.push_screen(ModelScreen(self, self.models))

    async def show_chat(self, *, warm: bool = True) -> None:
        """Shows the conversation; `warm` starts the model's process in the background."""
        if self._chat is not None:
            while self.choosing_model:
                await self.pop_screen()
        else:
            await self._first_chat()
        if warm:
            self.attempt(self.warm_up(), group="model", exclusive=True)

    async def _first_chat(self) -> None:
        from atlas_desktop.tui.screens.chat import ChatScreen

        resume, self._resume = self._resume, None
        await self.turn_to(ChatScreen(self, resume=resume))
        ahead.calm_the_collector()
        self.attempt(asyncio.to_thread(ahead.load_highlighter), group="ahead")

    async def warm_up(self) -> None:
        """Starts the model's process, so that the first reply does not wait for it."""
        self.background = "loading the model"
        self._tell_chat()
        try:
            info = await self.desk.model.chat.info()
        finally:
            self.background = ""
            self._tell_chat()
        self.model_id = self.model_name = info.id
        self.context_length = info.context_length
        self._tell_chat()
        # The index of what was said is filled beside the conversation, once the model is there.
        self.room.recall.start(self._background_failed)

    def model_needed(self, error: BaseException) -> None:
        """Leads to the choice of a model when that is what is missing."""
        if isinstance(error, NoModel | ModelFileMissing):
            self.attempt(self.choose_model(), group="model")

    async def model_chosen(self) -> None:
        """A model has been fetched: use it from now on."""
        await self.desk.switch_model()
        await self.show_chat()

    @property
    def choosing_model(self) -> bool:
        """Whether the choice of a model is shown, or lies below a window."""
        from atlas_desktop.tui.screens.model import ModelScreen

        return any(isinstance(screen, ModelScreen) for screen in self.screen_stack)

    @property
    def _chat(self) -> "ChatScreen | None":
        from atlas_desktop.tui.screens.chat import ChatScreen

        return next((s for s in self.screen_stack if isinstance(s, ChatScreen)), None)

    def _tell_chat(self) -> None:
        if (chat := self._chat) is not None and chat.is_mounted:
            chat.tell()

    # --- work in the background and its errors ---------------------------------------------------

    def attempt(self, work: Coroutine[Any, Any, Any], *, group: str, exclusive: bool = False) -> Worker[Any]:
        """Runs `work` beside the interface. Whatever it raises is explained to the person."""
        return self.run_worker(work, group=group, exclusive=exclusive, exit_on_error=False)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR and event.worker.error is not None:
            error = event.worker.error
            if isinstance(error, NoModel):
                self.model_needed(error)
            else:
                self.say_error(explain_and_note(error, self.desk.paths.logs))

    def _background_failed(self, error: BaseException) -> None:
        self.say_error(explain_and_note(error, self.desk.paths.logs))

    def say_error(self, explained: Explained) -> None:
        """Shows an error over whatever is there."""
        from atlas_desktop.tui.screens.dialogs import ErrorScreen

        if not self.leaving:
            self.push_screen(ErrorScreen(explained))

    def say(self, text: str) -> None:
        """A short remark that goes away by itself."""
        self.notify(clean(text), markup=False)

    def _fatal_error(self) -> None:
        """Textual would print the values of local variables here, which may be anybody's words."""
        from rich.segment import Segments
        from rich.text import Text

        failed = self._exception or RuntimeError()
        error = failed.error if isinstance(failed, WorkerFailed) else failed
        words = explain(error)
        text = Text(
            f"{words.title}: {words.message}\n{words.next_step}\n{noted(error, self.desk.paths.logs)}"
        )
        self._exit_renderables.append(Segments(self.console.render(text, self.console.options)))
        self._close_messages_no_wait()

    # --- actions ---------------------------------------------------------------------------------

    def action_toggle_theme(self) -> None:
        light = self.theme == themes.LIGHT.name
        self.theme = themes.DARK.name if light else themes.LIGHT.name
        keep = self.desk.settings_file.set
        self.attempt(asyncio.to_thread(keep, "ui.theme", themes.setting_of(self.theme)), group="settings")

    def action_help(self) -> None:
        from atlas_desktop.tui.screens.dialogs import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen())

    def action_hint_quit(self) -> None:
        self.say("Ctrl+Q quits. Ctrl+C copies what is marked.")

    async def action_quit(self) -> None:
        """Leaves once everything is stored and closed; asked for twice, without waiting for that."""
        if self.leaving:
            self._forced = True
            self.exit()
        else:
            self.leaving = True
            self.attempt(self._leave(), group="leave")

    async def _leave(self) -> None:
        try:
            if self._turns is not None:
                await self._turns.stop_all()
            await self.arrivals.stop()
            await self.desk.close()
        finally:
            self.exit()

    async def run_async(self, **options: Any) -> Any:
        """Runs until the person leaves; whatever happens, the room and the model's process are closed."""
        try:
            return await super().run_async(**options)
        finally:
            # Who asked twice to leave does not wait for what does not end.
            with suppress(TimeoutError):
                async with asyncio.timeout(FORCED_CLOSE_S if self._forced else None):
                    await self.desk.close()
