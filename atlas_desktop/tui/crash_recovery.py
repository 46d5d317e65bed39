"""What is shown in place of the interface: after it has failed, and while another program holds the home."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.driver import Driver
from textual.screen import Screen
from textual.widgets import Button, Static

from atlas_desktop.error_table import explain
from atlas_desktop.errors import AlreadyRunning, Explained
from atlas_desktop.locale import _, ngettext
from atlas_desktop.services.cleaning import clean
from atlas_desktop.tui.appearance import THEMES
from atlas_desktop.tui.base import explain_and_note, noted
from atlas_desktop.tui.terminal import forgiving

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp

MOST = 3
"""Failures of the interface in one run that are answered with a fresh screen; one more ends the program."""
CLEAR_S = 3.0


class FailureScreen(Screen[None]):
    """Calls `go_on` or `leave`, whichever the user chooses.

    `again` offers another try; `tried` counts the tries so far. Esc continues, or gives up if `again` is set.
    """

    DEFAULT_CSS = """
    FailureScreen {
        align: center middle;
        background: $background;
        .box {
            width: 72; max-width: 94%; height: auto; padding: 1 2;
            border: round $error; border-title-color: $error; border-title-style: bold;
        }
        .box > Static { height: auto; margin-bottom: 1; }
        .quiet { color: $quiet; }
        .buttons { height: auto; align-horizontal: right; }
        Button { margin-left: 2; min-width: 10; }
    }
    """
    AUTO_FOCUS = "#on"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "back", show=False)]

    def __init__(
        self,
        words: Explained,
        go_on: Callable[[], None],
        leave: Callable[[], Awaitable[None]],
        *,
        again: bool = False,
        tried: int = 0,
    ) -> None:
        super().__init__()
        self._tried = tried
        self._words = words
        self._again = again
        self._go_on = go_on
        self._leave = leave

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = clean(self._words.title)
            yield Static(clean(self._words.message), markup=False)
            if self._again:
                yield Static(clean(self._words.next_step), classes="quiet", markup=False)
                if self._tried:
                    yield Static(
                        ngettext(
                            "Tried again: still open elsewhere.",
                            "Tried again {count} times: still open elsewhere.",
                            self._tried,
                        ),
                        markup=False,
                    )
            else:
                yield Static(
                    _("Your conversations and your draft are saved. A reply in progress continues."),
                    markup=False,
                )
                yield Static(
                    _(
                        "Continue with a fresh screen. If it happens again, run `atlas doctor` to "
                        "check everything."
                    ),
                    classes="quiet",
                    markup=False,
                )
            with Horizontal(classes="buttons"):
                yield Button(_("Quit"), id="quit", compact=True)
                yield Button(
                    (_("Try again") if self._again else _("Continue")),
                    id="on",
                    variant="primary",
                    compact=True,
                )

    async def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "on":
            self.action_on()
        else:
            await self._leave()

    async def action_back(self) -> None:
        if self._again:
            await self._leave()
        else:
            self.action_on()

    def action_on(self) -> None:
        self.query_one("#on", Button).disabled = True
        self._go_on()


class CrashRecovery:
    """Replaces a screen that failed. Textual would end the program at the first uncaught error.

    An error in the application's own work opens a window, and everything continues. A screen or widget that
    failed receives no more messages: an explanation replaces it, followed by a fresh screen.

    `gather` keeps what was typed on the failed screen; `begin_anew` shows a fresh one with the conversation
    of that id.
    """

    def __init__(
        self,
        app: "BaseApp",
        *,
        gather: Callable[[], None],
        begin_anew: Callable[[str | None], Coroutine[Any, Any, None]],
        leave: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        self._app = app
        self._gather, self._begin_anew, self._leave = gather, begin_anew, leave
        self._shown: str | None = None
        self.failures = 0
        self.begun = False
        """Whether the first screen has been shown; a failure before that ends the program."""

    @property
    def can_go_on(self) -> bool:
        return self.begun and not self._app.leaving and self.failures < MOST

    def failed(self, error: Exception) -> None:
        """Shows an explanation in place of the screen that failed."""
        self.failures += 1
        words = explain_and_note(error, self._app.desk.paths.logs)
        self._app.attempt(self._stand_in(words), group="rescue", exclusive=True)

    async def _stand_in(self, words: Explained) -> None:
        """Keeps what was typed, then shows an explanation in place of the screen that failed."""
        shown = self._app.chat
        self._shown = None if shown is None else shown.current.id
        try:
            self._gather()
        except Exception as error:  # noqa: BLE001 - the failed screen may not be able to give anything
            noted(error, self._app.desk.paths.logs)
        if self._app.desk.room is not None:
            await self._app.drafts.keep_all()
        async with asyncio.timeout(CLEAR_S):
            await self._app.turn_to(FailureScreen(words, self._go_on, self._leave))

    async def try_again_later(self, error: Exception, again: Callable[[], None]) -> None:
        """Explains why no screen can be shown, and offers another try."""
        words = explain_and_note(error, self._app.desk.paths.logs)
        await self._app.turn_to(FailureScreen(words, again, self._leave, again=True))

    def _go_on(self) -> None:
        shown, self._shown = self._shown, None
        self._app.attempt(partial(self._begin_anew, shown), group="rescue", exclusive=True)


class AlreadyRunningApp(App[bool]):
    """Returns True once `take` has locked the home, or None if the user gave up."""

    TITLE = "Atlas"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, theme: str, refusal: AlreadyRunning, take: Callable[[], object]) -> None:
        super().__init__()
        self._refusal = refusal
        self._take = take
        self._tried = 0
        for one in THEMES.values():
            self.register_theme(one)
        self.theme = THEMES[theme].name

    def get_driver_class(self) -> type[Driver]:
        return forgiving(super().get_driver_class())

    async def on_mount(self) -> None:
        await self.push_screen(self._told())

    def _told(self) -> FailureScreen:
        return FailureScreen(
            explain(self._refusal), self._again, self.action_quit, again=True, tried=self._tried
        )

    def _again(self) -> None:
        try:
            self._take()
        except AlreadyRunning as refusal:
            self._refusal = refusal
            self._tried += 1
            self.switch_screen(self._told())
        else:
            self.exit(result=True)
