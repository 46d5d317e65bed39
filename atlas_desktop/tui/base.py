"""The application as screens know it: work, notices, errors with next steps, and files that it saves."""

import asyncio
import os
import secrets
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, cast
from weakref import WeakKeyDictionary

from textual.dom import DOMNode
from textual.notifications import Notification, Notify
from textual.screen import Screen
from textual.signal import Signal
from textual.widgets import Input, TextArea
from textual.worker import Worker, WorkerState

from atlas_desktop.error_table import explain
from atlas_desktop.error_texts import ERRORS
from atlas_desktop.errors import Explained
from atlas_desktop.locale import _
from atlas_desktop.paths import PRIVATE_DIR, PRIVATE_FILE
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.images import ImageTerminal, Inquiry
from atlas_desktop.tui.keymap import Keymap, how_to, shown_keys
from atlas_desktop.tui.terminal import forgiving
from atlas_desktop.tui.textual_workarounds import SparingScreen, SturdyApp
from atlas_desktop.tui.widgets import Covering
from memory.clock import LocalZone
from memory.errors import RoomClosed
from models.errors import NoModel

if TYPE_CHECKING:
    from textual.driver import Driver
    from textual.screen import ScreenResultType

    from atlas_desktop.services.desk import AppContext
    from atlas_desktop.services.finder import Found
    from atlas_desktop.services.retention import HeldBack
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.chat.conversation import Conversation, Drafts
    from atlas_desktop.tui.chat.turns import Turns
    from atlas_desktop.tui.models.onboarding import ModelOnboarding
    from atlas_desktop.tui.notes.keeping import NoteKeeping
    from memory.entities import Freshness, RoomKind
    from memory.vault.keys import RoomKey
    from memory.vault.vault import Keys


def with_keys(explained: Explained, keymap: Keymap) -> Explained:
    """Returns the error with the next step of the interface, which names keys instead of commands."""
    text = ERRORS.get(explained.code)
    if text is None or not text.here:
        return explained
    step = _(text.here, key=how_to(text.action, keymap)) if text.action else _(text.here)
    return replace(explained, next_step=step)


_OURS = ("atlas_desktop", "memory", "models")


def frames_of(traceback: TracebackType | None) -> list[str]:
    """`module:line` of our own frames, outermost first. File names and lines only: no source, no values."""
    found = []
    while traceback is not None:
        name = str(traceback.tb_frame.f_globals.get("__name__", ""))
        if name.split(".")[0] in _OURS:
            found.append(f"{name}:{traceback.tb_lineno}")
        traceback = traceback.tb_next
    return found


def report_of(error: BaseException) -> str:
    """Returns an error and its causes as type names and places. Error texts may hold content and are left
    out."""
    lines = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        lines.append(f"{type(current).__module__}.{type(current).__qualname__}")
        lines += [f"  {frame}" for frame in frames_of(current.__traceback__)]
        inner = getattr(current, "error", None)
        chained = current.__cause__ or current.__context__
        current = inner if isinstance(inner, BaseException) else chained
    return "\n".join(lines) + "\n"


def write_report(logs: Path, error: BaseException) -> str:
    """Writes `logs/crash-ID.log` and returns the id. Raises OSError."""
    crash = secrets.token_hex(4)
    logs.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
    handle = os.open(logs / f"crash-{crash}.log", os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(report_of(error))
    return crash


def noted(error: BaseException, logs: Path) -> str:
    """Writes a report and returns a line that names its id."""
    try:
        return _("Error id: {id}", id=write_report(logs, error))
    except OSError:
        return _("The report was not saved")


def explain_and_note(error: BaseException, logs: Path) -> Explained:
    """Returns the explanation of an error; an error without one is also reported, by types and places
    only."""
    explained = explain(error)
    if explained.code != "unexpected":
        return explained
    message = f"{explained.message} {noted(error, logs)}."
    return Explained(explained.code, explained.title, message, explained.next_step)


STALE_S = 60.0
SHORTEST_S, LONGEST_S = 2.5, 9.0
LONGER = 1.5
_NOTICED_S = 1.5
_CHARACTERS_A_S = 20


def reading_s(text: str) -> float:
    """Returns the seconds needed to notice and read a notice."""
    return min(max(_NOTICED_S + len(text) / _CHARACTERS_A_S, SHORTEST_S), LONGEST_S)


Now = Callable[[], datetime]
"""Returns the current time in the user's time zone (aware)."""


def local_now() -> datetime:
    return datetime.now(LocalZone())


class ConversationScreen(SparingScreen[None]):
    """What the application and other screens may ask of the chat screen."""

    @property
    @abstractmethod
    def current(self) -> "Conversation":
        """The conversation that is shown."""

    @abstractmethod
    def tell(self) -> None:
        """Updates the lines around the conversation."""

    @abstractmethod
    async def tell_error(self, explained: Explained) -> None:
        """Shows an error at the end of the conversation."""

    @abstractmethod
    def tell_attachments(self) -> None:
        """Shows the attachments of the conversation."""

    @abstractmethod
    def refresh_list(self) -> None:
        """Reads the list of conversations again."""

    @abstractmethod
    async def sessions_changed(self, ids: "Sequence[str]", *, content: bool = False) -> None:
        """Reloads after conversations were marked, deleted or moved; with `content` their messages
        changed."""

    @abstractmethod
    async def synced(self) -> None:
        """Shows what other devices have written in the conversation, unless a reply is streaming."""

    @abstractmethod
    def keep_typed(self, *, edited: bool = False) -> None:
        """Keeps the typed text as a draft."""

    @abstractmethod
    def open_found(self, found: "Found") -> None:
        """Opens what the finder found: a conversation, a memory, a note, a document or a skill."""

    @abstractmethod
    def show_note(self, room: "RoomKind", note_id: str) -> None:
        """Opens the Notes view at a note."""

    @abstractmethod
    async def open_private(self, words: str) -> bool:
        """Returns whether the private room is open; asks for the passphrase if it is not."""

    @abstractmethod
    def close_or_open_private(self, opened: Callable[[], object] = lambda: None) -> None:
        """Closes the private room, or asks for its passphrase; calls `opened` once it is open."""


class BaseApp(SturdyApp):
    """Runs work in the background and explains errors instead of showing them raw.

    It declares what a screen may ask of the application. `AtlasApp` implements what needs other screens.
    """

    desk: "AppContext"
    now: Now
    demo_passphrase = ""
    """The passphrase of the demonstration's home, which the demonstration shows; otherwise empty."""
    inquiry: Inquiry | None = None
    """What the terminal told about pictures; None without a terminal."""
    leaving = False
    background = ""
    """Background activity, for the status line."""
    door_url: str | None = None
    """The address for requests of other programs; None while the door is closed."""
    sync_text = ""
    """The state of sync in a few words, for the status line; empty if nothing is synced."""
    model_name = ""
    model_missing = False
    """Whether no chat model is installed or chosen."""
    model_id = ""
    context_length = 0
    tokens_estimated = False
    _turns: "Turns | None" = None
    _drafts: "Drafts | None" = None
    _notes: "NoteKeeping | None" = None

    def __init__(self) -> None:
        super().__init__()
        self._said_on: dict[str, Screen[Any]] = {}
        self._closings = 0
        self._begun_at: WeakKeyDictionary[Worker[Any], int] = WeakKeyDictionary()
        self.settings_signal: Signal[str] = Signal(self, "settings")
        """Published with the name of each setting that the user has changed."""

    # --- rooms and their activity ----------------------------------------------------------------

    @property
    def room(self) -> "RoomServices":
        """The room of the conversation that is shown. Raises `RoomClosed`."""
        return self.room_of(self.chat.current if self.chat is not None else None)

    def room_of(self, conversation: "Conversation | None") -> "RoomServices":
        """The room that a conversation is in, or will begin in. Raises `RoomClosed`."""
        if conversation is not None and conversation.room is not None:
            return self.desk.at(conversation.room)
        if self.desk.room is None:
            raise RoomClosed
        return self.desk.room

    def look_after(self, room: "RoomServices") -> None:
        """Starts the background work of a newly opened room and listens to it."""
        room.background.listen(self.turns.job_moved)
        room.background.listen_waiting(lambda: self.call_later(self.tell_chat))
        room.epochs.on_compaction = self.turns.compacted
        room.background.start(self.background_failed)
        self.attempt(room.tasks.catch_up, group="tasks-catch-up")
        room.documents.follow(self.background_failed)
        room.note_mirror.follow(self.background_failed)

    @property
    def turns(self) -> "Turns":
        """The turns of this run; they continue whatever screen is shown."""
        if self._turns is None:
            from atlas_desktop.tui.chat.turns import Turns

            self._turns = Turns(self.desk, self.attempt, self.room_of)
        return self._turns

    @property
    def replying(self) -> bool:
        """Whether a reply is in progress in any conversation."""
        return bool(self.active_conversations)

    @property
    def active_conversations(self) -> "list[Conversation]":
        """The conversations with a reply in progress."""
        return [] if self._turns is None else [*self._turns.active]

    async def stop_turns(self) -> None:
        """Stops every reply; returns once the text so far is stored."""
        if self._turns is not None:
            await self._turns.stop_all()

    @property
    def drafts(self) -> "Drafts":
        """Typed text that has not been sent."""
        if self._drafts is None:
            from atlas_desktop.tui.chat.conversation import Drafts

            def is_open() -> bool:
                return not self.leaving and self.desk.room is not None

            self._drafts = Drafts(self.desk, self.attempt, self.room_of, self.background_failed, is_open)
        return self._drafts

    @property
    def notes(self) -> "NoteKeeping":
        """Text typed in notes that is not stored yet."""
        if self._notes is None:
            from atlas_desktop.tui.notes.keeping import NoteKeeping

            def is_open() -> bool:
                return not self.leaving and self.desk.room is not None

            self._notes = NoteKeeping(self.attempt, self.background_failed, is_open)
        return self._notes

    @property
    def chat(self) -> ConversationScreen | None:
        """The chat screen, even below other screens; None if there is none."""
        return next((s for s in self.screen_stack if isinstance(s, ConversationScreen)), None)

    def tell_chat(self) -> None:
        """Updates the lines around the conversation, if the chat screen is shown."""
        if (chat := self.chat) is not None and chat.is_mounted:
            chat.tell()

    # --- navigation ------------------------------------------------------------------------------

    async def turn_to(self, screen: Screen[Any]) -> None:
        """Replaces the screen that is shown. Textual's own empty screen stays below: the stack needs one."""
        while len(self.screen_stack) > 2:
            await self.pop_screen()
        if len(self.screen_stack) > 1:
            await self.switch_screen(screen)
        else:
            await self.push_screen(screen)

    @abstractmethod
    async def enter(self, key: "RoomKey | None", *, confirmed: bool = False) -> None:
        """Opens the room and shows the conversation, or the choice of a model if there is none."""

    @abstractmethod
    def change_passphrase(self, keys: "Keys | None" = None) -> None:
        """Asks for a new passphrase; also for the present one, unless the `keys` it opens are given."""

    @abstractmethod
    async def show_chat(self, *, warm: bool = True) -> None:
        """Shows the conversation; `warm` starts the model's process in the background."""

    @property
    def is_demo(self) -> bool:
        """Whether sample conversations are shown, in a home that ends with the program."""
        return bool(self.demo_passphrase)

    @property
    @abstractmethod
    def can_lock(self) -> bool:
        """Whether there is something to lock, and a way to lock it."""

    @property
    @abstractmethod
    def can_demo(self) -> bool:
        """Whether sample conversations can be shown instead, while the home is locked or does not exist."""

    @abstractmethod
    def action_demo(self) -> None:
        """Locks the home and shows sample conversations."""

    # --- models ----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def models(self) -> "ModelOnboarding":
        """The models of the home."""

    @property
    @abstractmethod
    def choosing_model(self) -> bool:
        """Whether the choice of a model is shown, even below a window."""

    @abstractmethod
    async def change_model_soon(self) -> bool:
        """Starts the chosen model now (True), or when the current reply has ended (False)."""

    @abstractmethod
    async def model_chosen(self) -> None:
        """Uses a model that has just been downloaded."""

    @abstractmethod
    def model_needed(self, error: BaseException) -> None:
        """Opens the choice of a model if `error` says that one is missing."""

    # --- settings --------------------------------------------------------------------------------

    @property
    def keys(self) -> Mapping[str, str]:
        """The user's own keys, by action."""
        return self.desk.settings.keys

    @abstractmethod
    async def change_setting(self, key: str, value: object) -> None:
        """Writes a setting and applies it; None restores its default. Raises `SettingsError`."""

    # --- background work and notices -------------------------------------------------------------

    def attempt(
        self,
        work: Coroutine[Any, Any, Any] | Callable[[], Coroutine[Any, Any, Any]],
        *,
        group: str,
        exclusive: bool = False,
    ) -> Worker[Any]:
        """Runs `work` in the background; explains any error to the user.

        Pass a function if the work may be cancelled before it starts, as `exclusive` work may be.
        """
        worker = self.run_worker(work, group=group, exclusive=exclusive, exit_on_error=False)
        self._begun_at[worker] = self._closings
        return worker

    def room_closes(self) -> None:
        """Notes that a room is closing: errors of work that ends because of it are not reported."""
        self._closings += 1

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR and event.worker.error is not None:
            error = event.worker.error
            if isinstance(error, RoomClosed) and self._begun_at.get(event.worker, 0) < self._closings:
                return
            if isinstance(error, NoModel):
                self.model_needed(error)
            else:
                self.say_error(explain_and_note(error, self.desk.paths.logs))

    def background_failed(self, error: BaseException) -> None:
        """Reports an error, unless the shown conversation already reports it.

        The report is queued at the chat screen: the end of a turn is reported there before anything else can
        fail for the same reason.
        """
        if isinstance(error, RoomClosed) and self._closings:
            return
        explained = explain_and_note(error, self.desk.paths.logs)
        chat = self.chat
        if chat is None or chat is not self.screen or not chat.is_running:
            self.say_error(explained)
        else:
            chat.call_later(self.say_error, explained)

    def explain(self, error: BaseException) -> Explained:
        """Returns the text of an error; its next step names keys."""
        return with_keys(explain(error), self.keys)

    def say_error(self, explained: Explained) -> None:
        """Shows an error once: at the end of the conversation, or over another screen.

        It never opens a window over a text field, because the next keys are meant for that field.
        """
        from atlas_desktop.tui.dialogs.questions import ErrorScreen

        if self.leaving:
            return
        explained = with_keys(explained, self.keys)
        chat = self.chat
        if chat is not None and chat is self.screen and chat.is_running:
            chat.call_later(chat.tell_error, explained)
        elif isinstance(self.focused, Input | TextArea):
            text = f"{explained.message}\n{explained.next_step}"
            self.notify(
                clean(text),
                title=clean_line(explained.title),
                severity="error",
                timeout=LONGER * reading_s(text),
                markup=False,
            )
        elif not any(
            isinstance(one, ErrorScreen) and one.explained == explained for one in self.screen_stack
        ):
            self.push_screen(ErrorScreen(explained))

    async def push_screen_wait(
        self, screen: "Screen[ScreenResultType] | str", *, mode: str | None = None
    ) -> "ScreenResultType | Any":
        """As Textual's method, but closes the window when its caller is cancelled.

        Textual would leave the window open and lose the answer.
        """
        try:
            return await super().push_screen_wait(screen, mode=mode)
        except asyncio.CancelledError:
            if not isinstance(screen, str) and screen in self.screen_stack:
                screen.dismiss(None)
            raise

    def say(self, text: str, *, anywhere: bool = False) -> None:
        """Shows a notice that disappears after a while.

        It also disappears when another screen opens, unless it is useful `anywhere`. A notice from a closing
        window appears over the screen below.
        """
        said = Notification(clean(text), timeout=reading_s(text))
        if not anywhere and self.screen_stack:
            self._said_on[said.identity] = self.screen
        self.post_message(Notify(said))

    def say_stop_first(self) -> None:
        """Says that the current reply has to be stopped before the requested change."""
        self.say(_("Stop the current reply first ({key}).", key=how_to("chat.stop", self.keys)))

    def action_hint_quit(self) -> None:
        """Explains that Ctrl+C copies, and which keys quit and stop a reply."""
        chat, stop = self.chat, ""
        if chat is not None and chat is self.screen and chat.current.busy and chat.check_action("stop", ()):
            stop = shown_keys("chat.stop", self.keys)
        leave = shown_keys("app.quit", self.keys)
        self.say(
            _("{stop} stops the reply, {quit} quits. Ctrl+C copies the selection.", stop=stop, quit=leave)
            if stop
            else _("{quit} quits. Ctrl+C copies the selection.", stop=stop, quit=leave)
        )

    def warn(self, text: str) -> None:
        """Shows a warning, for somewhat longer than a notice."""
        self.notify(clean(text), severity="warning", timeout=LONGER * reading_s(text), markup=False)

    def outdated(self, notice: Notification) -> bool:
        """Whether a notice belongs to a screen that is covered or closed, or the program is ending."""
        on, stack = self._said_on.get(notice.identity), self.screen_stack
        return self.leaving or (
            on is not None and (on in stack[:-1] or (on not in stack and not on.is_modal))
        )

    def say_stale(self, room: "RoomKind", freshness: "Freshness") -> None:
        """Warns that a room is older than it was before, for long enough to be read."""
        from atlas_desktop.phrases import freshness_text

        self.notify(freshness_text(room, freshness), severity="warning", timeout=STALE_S, markup=False)

    def say_held_back(self, _room: "RoomKind", held: "HeldBack") -> None:
        """Reports that retention is paused while the clock may be wrong."""
        from atlas_desktop.phrases import held_back_text

        self.notify(held_back_text(held), severity="warning", timeout=STALE_S, markup=False)

    # --- the terminal ----------------------------------------------------------------------------

    @property
    def images(self) -> ImageTerminal | None:
        """The terminal, if it shows pictures."""
        return None if self.inquiry is None else self.inquiry.terminal

    def forgetting_pictures(self) -> str:
        """Returns what makes the terminal forget all pictures that it keeps."""
        return "" if self.images is None else self.images.forgetting()

    def get_driver_class(self) -> "type[Driver]":
        return forgiving(super().get_driver_class(), self.inquiry)

    def last_words(self, error: BaseException) -> str:
        words = explain(error)
        return f"{words.title}: {words.message}\n{words.next_step}\n{noted(error, self.desk.paths.logs)}"


_SHOWING = ("show_history", "show_memories", "show_insights", "show_documents", "show_notes")


class View(Covering, DOMNode):
    """A mixin; list it before Textual's own class. `shown_by` is the action that shows the view."""

    atlas: "BaseApp"
    shown_by: ClassVar[str]

    def back(self) -> None:
        """Undoes the last step in the view, or closes it."""
        self.dismiss(None)

    def action_show_history(self) -> None:
        self._turn_to("show_history")

    def action_show_memories(self) -> None:
        self._turn_to("show_memories")

    def action_show_insights(self) -> None:
        self._turn_to("show_insights")

    def action_show_documents(self) -> None:
        self._turn_to("show_documents")

    def action_show_notes(self) -> None:
        self._turn_to("show_notes")

    def _turn_to(self, action: str) -> None:
        if action == self.shown_by:
            self.back()
        elif (chat := self.atlas.chat) is not None:
            self.dismiss(None)
            getattr(chat, f"action_{action}")()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in _SHOWING and action != self.shown_by:
            chat, stack = self.atlas.chat, self.atlas.screen_stack
            me = cast("Screen[object]", self)
            # The palette may be open over this view and asks for the actions of the screen below.
            if chat is None or me not in stack or stack[stack.index(me) - 1] is not chat:
                return False
            return chat.check_action(action, parameters)
        return super().check_action(action, parameters)
