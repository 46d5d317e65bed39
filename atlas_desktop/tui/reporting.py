"""Work beside the interface, and what the person is told of it."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from textual.notifications import Notification, Notify
from textual.widgets import Input, TextArea
from textual.worker import Worker, WorkerFailed, WorkerState

from atlas_desktop.error_table import explain
from atlas_desktop.errors import Explained
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.actions import BY_ID, key_words
from atlas_desktop.tui.failures import explain_and_note, noted
from atlas_desktop.tui.keymap import keys_of
from atlas_desktop.tui.letting_go import LettingGo
from atlas_desktop.tui.reading_keys import forgiving
from atlas_desktop.words.catalogue import tr
from memory.errors import RoomClosed
from models.errors import NoModel

if TYPE_CHECKING:
    from textual.driver import Driver
    from textual.screen import Screen, ScreenResultType

    from atlas_desktop.services.desk import AppContext
    from atlas_desktop.services.retention import HeldBack
    from atlas_desktop.tui.screens.chat import ChatScreen
    from memory.entities import Freshness, RoomKind

STALE_S = 60.0
SHORTEST_S, LONGEST_S = 2.5, 9.0
LONGER = 1.5
_NOTICED_S = 1.5
_CHARACTERS_A_S = 20


def reading_s(text: str) -> float:
    """Seconds that it takes to notice a remark and to read it."""
    return min(max(_NOTICED_S + len(text) / _CHARACTERS_A_S, SHORTEST_S), LONGEST_S)


class Reporting(LettingGo):
    """An application whose errors are explained and never shown raw."""

    desk: "AppContext"
    leaving = False

    def __init__(self) -> None:
        super().__init__()
        self._said_on: dict[str, Screen[Any]] = {}
        self._closings = 0
        self._begun_at: WeakKeyDictionary[Worker[Any], int] = WeakKeyDictionary()

    if TYPE_CHECKING:

        @property
        def chat(self) -> "ChatScreen | None": ...

        @property
        def keys(self) -> Mapping[str, str]: ...

        def model_needed(self, error: BaseException) -> None: ...

    def attempt(
        self,
        work: Coroutine[Any, Any, Any] | Callable[[], Coroutine[Any, Any, Any]],
        *,
        group: str,
        exclusive: bool = False,
    ) -> Worker[Any]:
        """Runs `work` beside the interface. Whatever it raises is explained to the person.

        What may be given up before it begins, as `exclusive` work may, is best a function.
        """
        worker = self.run_worker(work, group=group, exclusive=exclusive, exit_on_error=False)
        self._begun_at[worker] = self._closings
        return worker

    def room_closes(self) -> None:
        """What is under way in a room that closes ends with it: that is no news."""
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
        """Tells of it, unless the conversation that is shown does: what a turn ended with is on its way there
        before anything else can fail for the same reason."""
        if isinstance(error, RoomClosed) and self._closings:
            return
        explained = explain_and_note(error, self.desk.paths.logs)
        chat = self.chat
        if chat is None or chat is not self.screen or not chat.is_running:
            self.say_error(explained)
        else:
            chat.call_later(self.say_error, explained)

    def say_error(self, explained: Explained) -> None:
        """Shows an error, unless it is being shown: at the end of the conversation, or over another screen.
        A window never comes over a text that is being typed: the next keys were meant for that."""
        from atlas_desktop.tui.screens.dialogs import ErrorScreen

        if self.leaving:
            return
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
        """Textual's own, which leaves the window there when nobody waits for its answer any more: what is
        answered then is lost."""
        try:
            return await super().push_screen_wait(screen, mode=mode)
        except asyncio.CancelledError:
            if not isinstance(screen, str) and screen in self.screen_stack:
                screen.dismiss(None)
            raise

    def say(self, text: str, *, anywhere: bool = False) -> None:
        """A short remark that goes away by itself, and when another screen is gone to, unless it is of use
        `anywhere`. What a window says before it closes is said over what it lay on."""
        said = Notification(clean(text), timeout=reading_s(text))
        if not anywhere and self.screen_stack:
            self._said_on[said.identity] = self.screen
        self.post_message(Notify(said))

    def action_hint_quit(self) -> None:
        """Ctrl+C ends programs elsewhere: says what does here, and first what ends a reply that comes."""
        chat, stop = self.chat, ""
        if chat is not None and chat is self.screen and chat.current.busy and chat.check_action("stop", ()):
            stop = key_words(keys_of(BY_ID["chat.stop"], self.keys))
        leave = key_words(keys_of(BY_ID["app.quit"], self.keys))
        hint = "program.stop_hint" if stop else "program.quit_hint"
        self.say(tr(hint, stop=stop, quit=leave))

    def warn(self, text: str) -> None:
        """A remark on what cannot be done: there for somewhat longer."""
        self.notify(clean(text), severity="warning", timeout=LONGER * reading_s(text), markup=False)

    def _refresh_notifications(self) -> None:
        """Textual's own, called when something is said and whenever another screen is shown: what was said on
        a screen that is covered now, or has been left, goes, and so does what is said again."""
        stack = self.screen_stack
        newest = {one.message: one for one in self._notifications}
        for one in [*self._notifications]:
            on = self._said_on.get(one.identity)
            left = on is not None and (on in stack[:-1] or (on not in stack and not on.is_modal))
            if left or self.leaving or newest[one.message] is not one:
                self._unnotify(one, refresh=False)
        there = {one.identity for one in self._notifications}
        self._said_on = {identity: on for identity, on in self._said_on.items() if identity in there}
        super()._refresh_notifications()

    def say_stale(self, room: "RoomKind", freshness: "Freshness") -> None:
        """Tells of a room that is not as new as it was; long enough to be read."""
        from atlas_desktop.words.freshness import freshness_text

        self.notify(freshness_text(room, freshness), severity="warning", timeout=STALE_S, markup=False)

    def say_held_back(self, _room: "RoomKind", held: "HeldBack") -> None:
        """Tells that nothing is erased for its age while the clock may be wrong."""
        from atlas_desktop.words.freshness import held_back_text

        self.notify(held_back_text(held), severity="warning", timeout=STALE_S, markup=False)

    def get_driver_class(self) -> "type[Driver]":
        return forgiving(super().get_driver_class())

    def panic(self, *_: object) -> None:
        """The thread that reads keys calls this with a traceback when it fails: the program cannot go on."""
        self._fatal_error()

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
