"""The application: which screen is shown when, and which part of it handles what.

Only this module imports the screens. `base` declares what a screen may ask of the application. Appearance,
models, crash recovery and shutdown are separate objects.
"""

import asyncio
import gc
from importlib import import_module
from typing import TYPE_CHECKING, Any

from textual import events
from textual.binding import Binding
from textual.command import CommandPalette
from textual.screen import ModalScreen
from textual.worker import Worker

from atlas_desktop.settings.file import KEYS
from atlas_desktop.tui.actions import Action, Where, bindings
from atlas_desktop.tui.appearance import Appearance
from atlas_desktop.tui.base import BaseApp, Now, local_now
from atlas_desktop.tui.crash_recovery import CrashRecovery
from atlas_desktop.tui.doors import Commands, DoorKeeper
from atlas_desktop.tui.models.switcher import ModelFolderWatcher, ModelSwitcher
from atlas_desktop.tui.shutdown import Relaunch, Shutdown
from atlas_desktop.tui.sync.keeping import SyncKeeper
from atlas_desktop.tui.terminal import clear_leftovers
from atlas_desktop.tui.widgets import Window
from memory.kinds import RoomKind

if TYPE_CHECKING:
    from textual.command import Provider
    from textual.screen import Screen

    from atlas_desktop.errors import Explained
    from atlas_desktop.services.desk import AppContext
    from atlas_desktop.tui.finder.screen import Row
    from atlas_desktop.tui.images import Inquiry
    from atlas_desktop.tui.models.jobs import ModelJobs
    from atlas_desktop.tui.models.onboarding import ModelOnboarding
    from memory.vault.keys import RoomKey
    from memory.vault.vault import Keys


AHEAD = (
    # The modules for deriving the key come first: the user may type fast.
    "argon2.low_level",
    "cryptography.hazmat.primitives.ciphers.aead",
    "cryptography.hazmat.primitives.kdf.hkdf",
    "memory.storage.room",
    "atlas_desktop.tui.chat.screen",
    "atlas_desktop.services.room",
    "atlas_desktop.services.desk",
    "memory.learning.learner",
    "memory.vault.upkeep",
    "memory.storage.snapshots",
    "memory.storage.backup",
    "memory.storage.files",
    "atlas_desktop.services.backup",
    "atlas_desktop.tui.models.onboarding",
    "atlas_desktop.tui.chat.conversation",
    "atlas_desktop.tui.dialogs.questions",
    "models.host",
    "models.tuning.plan",
    "models.library.installed",
    "models.library.download",
    "atlas_desktop.services.models",
    "watchdog.observers",
    "psutil",
    "numpy",
    # Screens that are one key away from the conversation: no key waits for an import.
    "atlas_desktop.tui.history.screen",
    "atlas_desktop.tui.memories.screen",
    "atlas_desktop.tui.insights.screen",
    "atlas_desktop.tui.documents.screen",
    "atlas_desktop.tui.notes.screen",
    "atlas_desktop.tui.help",
    "atlas_desktop.tui.provenance.screen",
    "textual.command",
)
"""Modules needed between the passphrase and the conversation, in the order in which they are needed, and
those of screens that are one key away from it."""


def load_conversation() -> None:
    """Imports what the conversation needs."""
    for name in AHEAD:
        import_module(name)


def load_highlighter() -> None:
    """Imports the syntax highlighter and warms it up."""
    from atlas_desktop.tui.chat.markdown import load_highlighter

    load_highlighter()


def release_the_collector() -> None:
    """Turns the garbage collector on. Objects of the first screen are exempt: they live as long as the
    program."""
    gc.freeze()
    gc.enable()


def calm_the_collector() -> None:
    """Keeps the cyclic garbage collector out of the way of drawing.

    By default it scans all live objects repeatedly while widgets are created, a tenth of a second each time.
    Objects that exist now are exempt. The others are scanned less often, and completely when the user is not
    typing (`atlas_desktop.tui.textual_workarounds`).
    """
    gc.freeze()
    gc.set_threshold(5_000, 5, 400)
    gc.enable()


_SIGNS_OF_LIFE = (events.Key, events.MouseEvent, events.Paste)
_SIDEWAYS = 20
"""Columns that a key scrolls sideways."""
CLEARED = "\x1b[2J"


def _action_commands() -> "type[Provider]":
    from atlas_desktop.tui.help import ActionCommands

    return ActionCommands


class AtlasApp(BaseApp):
    """The application on top of a desk.

    `key` is the room's key if the vault is already unlocked; `resume` opens a session. `off_record` needs no
    vault: everything is kept in memory only, until the program ends. `private` (the private room's
    key, or True to ask for the passphrase) opens that room too.

    A `locked` program replaces another one at a lock: it unlocks only when the user acts, and shows the
    conversation that was shown then. `relaunch` starts such a program; without it, the application cannot
    lock. `demo` also locks, and starts a program with sample conversations. In that program,
    `demo_passphrase` is the passphrase of its temporary home.

    `models` defaults to those of the desk; `commands` carries out what other terminals hand over;
    `inquiry` is what the terminal told about pictures; `now` returns the local time.
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
        demo_passphrase: str = "",
        models: "ModelOnboarding | None" = None,
        commands: Commands | None = None,
        inquiry: "Inquiry | None" = None,
        now: Now = local_now,
    ) -> None:
        # Textual's constructor already chooses the driver, which reads what was typed during it.
        self.inquiry = inquiry
        super().__init__()
        self.desk = desk
        desk.on_stale = self.say_stale
        desk.on_held_back = self.say_held_back
        self._models = models
        self._model_jobs: ModelJobs | None = None
        self.now = now
        self.appearance = Appearance(self)
        self.model_folder = ModelFolderWatcher(self)
        self.sync = SyncKeeper(self, self._sync_told)
        self.switcher = ModelSwitcher(self, self.choose_model)
        self.doors = DoorKeeper(self, commands)
        self.shutdown = Shutdown(
            self, self.model_folder, self.sync, relaunch=relaunch, demo=demo, close_doors=self.doors.close
        )
        self.recovery = CrashRecovery(
            self, gather=self.shutdown.gather, begin_anew=self._begin_anew, leave=self.action_quit
        )
        self._resume = resume
        self._key = key
        self._off_record = off_record
        self._private = private
        self._locked = locked
        self.demo_passphrase = demo_passphrase
        self.appearance.apply_all()

    # --- choosing the screen ---------------------------------------------------------------------

    def on_mount(self) -> None:
        if self.shutdown.relaunch is not None:
            self.shutdown.watch()
        self.begin()

    def begin(self) -> None:
        """Shows the first screen. If that fails, it explains the error and offers another try."""
        self.attempt(self._begin_or_say_why(), group="begin")

    async def _begin_or_say_why(self) -> None:
        from memory.errors import MemoryFault

        try:
            await self._begin()
        except (MemoryFault, OSError) as error:
            await self.recovery.try_again_later(error, self.begin)

    async def _begin(self) -> None:
        if self._off_record:
            await self.enter(None)
        elif self._key is not None:
            key, self._key = self._key, None
            await self.enter(key)
        elif await self.desk.vault.exists():
            from atlas_desktop.tui.setup.unlock import UnlockScreen

            await self.turn_to(UnlockScreen(self, by_itself=not self._locked))
            self._load_ahead()
        else:
            from atlas_desktop.tui.setup.welcome import WelcomeScreen

            await self.turn_to(WelcomeScreen(self))
            self._load_ahead()

    def _load_ahead(self) -> None:
        """Imports what the conversation needs while the user types the passphrase."""
        self.call_after_refresh(release_the_collector)
        self.attempt(asyncio.to_thread(load_conversation), group="ahead")

    async def enter(self, key: "RoomKey | None", *, confirmed: bool = False) -> None:
        """Opens the room and shows the conversation, or the choice of a model if there is none.

        Without a key it opens a room in memory, which is never written. If nobody confirmed the recovery key,
        a new one is shown first: the user closed the program before writing the old one down.
        """
        if key is not None and not confirmed and (await self.desk.vault.status()).recovery_unseen:
            from atlas_desktop.tui.setup.welcome import renewed

            if (screen := await renewed(self, key)) is not None:
                await self.turn_to(screen)
                return
        await self._enter(key)

    async def _enter(self, key: "RoomKey | None") -> None:
        # A program that was killed while an external editor was open has left the text there.
        await asyncio.to_thread(clear_leftovers, self.desk.paths.editing)
        room = await self.desk.enter(key, RoomKind.OPEN if key is not None else RoomKind.OFF_RECORD)
        self.look_after(room)
        self.attempt(self.model_folder.start(), group="ahead")
        if key is not None and not self.is_demo:
            self.attempt(self.doors.apply(), group="doors")
            self.attempt(self.sync.start(), group="ahead")
        engine = self.desk.settings.models.chat_engine
        has_model = bool(engine) or await self.models.chat_model() is not None
        if has_model or self.is_demo:
            # The demonstration can be viewed without a model.
            await self.show_chat(warm=has_model)
        else:
            await self.choose_model()

    async def choose_model(self, because: "Explained | None" = None) -> None:
        """Shows the choice of a model, over the conversation if there is one.

        `because` explains why a model is needed.
        """
        from atlas_desktop.tui.setup.first_model import ModelScreen

        if self.chat is None:
            await self.turn_to(ModelScreen(self, self.models, self.model_folder, because=because))
        elif not self.choosing_model:
            await self.push_screen(ModelScreen(self, self.models, self.model_folder, because=because))

    async def show_chat(self, *, warm: bool = True) -> None:
        """Shows the conversation; `warm` starts the model's process in the background."""
        if self.chat is not None:
            while self.choosing_model:
                await self.pop_screen()
        else:
            await self._first_chat()
        if warm:
            self.switcher.start()

    async def _first_chat(self) -> None:
        from atlas_desktop.tui.chat.screen import ChatScreen

        resume, self._resume = self._resume, None
        if self._locked:
            self._locked = False
            resume = await self.room.store.drafts.take_left_open()
        elif resume is None:
            # The program was killed during a reply: what had come of it is shown, with the draft.
            resume = self.room.store.interrupted
        private, self._private = self._private, False
        chat = ChatScreen(self, resume=None if private else resume)
        await self.turn_to(chat)
        if private:
            chat.begin_private(None if private is True else private, resume)
        calm_the_collector()
        self.attempt(asyncio.to_thread(load_highlighter), group="ahead")

    async def _begin_anew(self, resume: str | None) -> None:
        """Shows a fresh screen in place of one that failed; `resume` is the conversation that was shown."""
        if self.desk.room is None:
            await self._begin()
            return
        self._resume = resume
        await self._first_chat()

    # --- models ----------------------------------------------------------------------------------

    @property
    def models(self) -> "ModelOnboarding":
        """The models of the home, created on first use: unlocking does not need their catalogue."""
        if self._models is None:
            from atlas_desktop.tui.models.onboarding import HomeModelOnboarding

            self._models = HomeModelOnboarding(self.desk.models)
        return self._models

    @property
    def model_jobs(self) -> "ModelJobs":
        """The background jobs on models."""
        if self._model_jobs is None:
            from atlas_desktop.tui.models.jobs import ModelJobs

            self._model_jobs = ModelJobs(self, self.model_folder)
        return self._model_jobs

    @property
    def choosing_model(self) -> bool:
        from atlas_desktop.tui.setup.first_model import ModelScreen

        return any(isinstance(screen, ModelScreen) for screen in self.screen_stack)

    async def change_model_soon(self) -> bool:
        return await self.switcher.change_soon()

    async def model_chosen(self) -> None:
        await self.desk.switch_model()
        await self.show_chat()

    def model_needed(self, error: BaseException) -> None:
        self.switcher.needed(error)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        # Textual also calls the handler of the base class.
        if event.worker.is_finished:
            self.switcher.work_ended()

    # --- settings --------------------------------------------------------------------------------

    async def change_setting(self, key: str, value: object) -> None:
        await asyncio.to_thread(self.desk.settings_file.set, key, value)
        self.setting_changed(key)

    def setting_changed(self, key: str) -> None:
        """Applies a changed setting, where that is possible while the program runs."""
        section = key.partition(".")[0]
        if section == KEYS:
            self.appearance.apply_keys()
        elif key == "ui.theme":
            self.appearance.apply_theme()
        elif key == "ui.density":
            self.appearance.apply_density()
        elif key == "ui.reduced_motion":
            self.appearance.apply_motion()
        elif key == "ui.locale":
            self.appearance.apply_locale()
        elif section == "privacy":
            self.shutdown.settings_changed()
        elif section == "doors":
            self.attempt(self.doors.apply(), group="doors")
        elif section == "models":
            self.attempt(self.switcher.settings_changed(), group="settings")
        self.settings_signal.publish(key)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self.appearance.focused(event.widget)

    def get_key_display(self, binding: Binding) -> str:
        words = self.appearance.words_of(binding)
        return super().get_key_display(binding) if words is None else words

    # --- failures of the interface ---------------------------------------------------------------

    def began(self) -> None:
        self.recovery.begun = True

    def message_failed(self, error: Exception) -> bool:
        if self.recovery.begun:
            self.background_failed(error)
        return self.recovery.begun

    def screen_failed(self, error: Exception) -> bool:
        if not self.recovery.can_go_on:
            return False
        self.recovery.failed(error)
        return True

    # --- shutdown --------------------------------------------------------------------------------

    async def run_async(self, **options: Any) -> Any:
        """Runs until the user leaves. In every case it closes the room and the model's process."""
        try:
            with self.shutdown.listening():
                return await super().run_async(**options)
        finally:
            await self.shutdown.close()

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, _SIGNS_OF_LIFE):
            self.shutdown.seen()
            self._private_seen()
        await super().on_event(event)

    def _private_seen(self) -> None:
        """Keeps the private room open for longer if the user is looking at it."""
        shown = None if self.desk.room is None else self.chat
        if shown is not None and shown.current.room is RoomKind.PRIVATE:
            self.desk.rooms.used()

    def key_read(self, key: str) -> None:
        """Called in the thread that reads keys, before the event loop receives the key."""
        self.shutdown.key_read(key)

    def on_exit_app(self) -> None:
        """Clears the screen.

        A terminal that was enlarged meanwhile may otherwise show parts of it afterwards, next to the earlier
        content.
        """
        if self.driver is not None:
            self.driver.write(self.forgetting_pictures() + CLEARED)

    @property
    def can_lock(self) -> bool:
        return self.shutdown.can_lock

    @property
    def can_demo(self) -> bool:
        return self.shutdown.can_demo

    # --- actions ---------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if self.screen_stack and isinstance(self.screen, Window) and self.screen.takes_every_key:
            return False
        match action:
            case "lock":
                return self.can_lock
            case "demo":
                return self.can_demo
            case "find":
                # Over a window it would open what it finds behind it. The palette closes first.
                if isinstance(self.screen, ModalScreen) and not isinstance(self.screen, CommandPalette):
                    return False
                return self.desk.room is not None and self.chat is not None and not self.leaving
            case (
                "show_models"
                | "use_model"
                | "show_settings"
                | "show_clients"
                | "show_sync"
                | "show_vault"
                | "back_up"
            ):
                # Settings and models reveal something about the content, so they need an open room.
                return self.desk.room is not None and not self.leaving
        return super().check_action(action, parameters)

    async def action_quit(self) -> None:
        await self.shutdown.quit()

    def action_lock(self) -> None:
        self.shutdown.lock_if_wanted()

    def action_demo(self) -> None:
        self.shutdown.start_demo()

    def action_show_models(self) -> None:
        from atlas_desktop.tui.models.screen import ModelsScreen

        if not isinstance(self.screen, ModelsScreen):
            self.push_screen(ModelsScreen(self, self.model_jobs, self.switcher))

    def action_use_model(self, name: str) -> None:
        if not name:
            self.action_show_models()
        else:
            self.attempt(self.switcher.use_named(name), group="model-choice")

    def action_show_settings(self) -> None:
        from atlas_desktop.tui.settings.screen import SettingsScreen

        if not isinstance(self.screen, SettingsScreen):
            self.push_screen(SettingsScreen(self))

    def action_show_clients(self) -> None:
        from atlas_desktop.tui.settings.dialogs import ClientsScreen

        for room in self.desk.open_rooms:
            if room.store.room is RoomKind.OPEN and not isinstance(self.screen, ClientsScreen):
                self.push_screen(ClientsScreen(self, room, self.doors.url))

    def action_show_doctor(self) -> None:
        from atlas_desktop.tui.settings.dialogs import DoctorScreen

        if not isinstance(self.screen, DoctorScreen):
            self.push_screen(DoctorScreen(self))

    def action_show_vault(self, marked: str = "passphrase") -> None:
        from atlas_desktop.tui.settings.dialogs import VaultScreen

        if not isinstance(self.screen, VaultScreen):
            self.push_screen(VaultScreen(self, marked))

    def action_back_up(self) -> None:
        self.action_show_vault("backup")

    def change_passphrase(self, keys: "Keys | None" = None) -> None:
        from atlas_desktop.tui.settings.dialogs import NewPassphraseScreen

        if self.desk.room is not None:
            self.push_screen(NewPassphraseScreen(self, keys))

    def action_show_sync(self) -> None:
        from atlas_desktop.tui.sync.screen import SyncScreen

        if not isinstance(self.screen, SyncScreen):
            self.push_screen(SyncScreen(self, self.sync))

    def _sync_told(self) -> None:
        """Shows the state of sync in the status line, and in the window of sync if it is open."""
        from atlas_desktop.tui.sync.screen import SyncScreen

        self.sync_text = self.sync.text
        self.call_later(self.tell_chat)
        if self.screen_stack and isinstance(self.screen, SyncScreen):
            self.screen.progressed()

    def action_choose_theme(self) -> None:
        from atlas_desktop.tui.settings.dialogs import ThemeScreen

        if not isinstance(self.screen, ThemeScreen):
            self.push_screen(ThemeScreen(self))

    def action_save_picture(self) -> None:
        self.attempt(self._save_picture(), group="picture")

    async def _save_picture(self) -> None:
        """Saves the shown screen as a picture."""
        from atlas_desktop.tui.exports import may_save_screen, save_pictures

        if await may_save_screen(self):
            await save_pictures(self, "screen", "Atlas")

    def action_sideways_left(self) -> None:
        self._scroll_sideways(-_SIDEWAYS)

    def action_sideways_right(self) -> None:
        self._scroll_sideways(_SIDEWAYS)

    def _scroll_sideways(self, columns: int) -> None:
        """Scrolls everything that is wider than its container."""
        for widget in self.screen.query("ScrollableContainer, MarkdownTable, MarkdownFence"):
            if widget.max_scroll_x > 0:
                widget.scroll_relative(x=columns, animate=False)

    def action_find(self, words: str = "") -> None:
        """Finds anything, over whatever is shown, and opens what is chosen."""
        from atlas_desktop.tui.finder.screen import FinderScreen
        from atlas_desktop.tui.help import available

        below = self.screen

        def left(row: "Row | None") -> None:
            if row is not None:
                self.attempt(self._go_to(row, below), group="open")

        self.push_screen(FinderScreen(self, list(available(self, below)), words), left)

    async def _go_to(self, row: "Row", below: "Screen[Any]") -> None:
        """Runs a command on the screen below the finder, or opens what was found over the conversation."""
        from atlas_desktop.tui.help import target_of
        from atlas_desktop.tui.settings.screen import Row as Setting
        from atlas_desktop.tui.settings.screen import SettingsScreen

        if isinstance(row.thing, Action):
            given = ("",) if row.thing.words else ()
            await self.run_action(("", row.thing.run, given), target_of(self, below, row.thing))
            return
        chat = self.chat
        while chat is not None and self.screen is not chat:
            await self.screen.dismiss(None)
        if isinstance(row.thing, Setting):
            await self.push_screen(SettingsScreen(self, marked=row.thing.key))
        elif chat is not None:
            chat.open_found(row.thing)

    def action_command_palette(self) -> None:
        from atlas_desktop.tui.help import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette())

    def action_help(self) -> None:
        from atlas_desktop.tui.help import HelpScreen, unavailable

        if not isinstance(self.screen, HelpScreen):
            here = self._here()
            self.push_screen(HelpScreen(self.keys, here, unavailable(self, self.screen, self.keys, here)))

    def _here(self) -> Where:
        """Returns the part of the interface with the focus, or that of the topmost screen that has one."""
        above = self.focused.ancestors_with_self if self.focused is not None else ()
        for node in (*above, *reversed(self.screen_stack)):
            if isinstance(where := getattr(node, "where", None), Where):
                return where
        return Where.CHAT
