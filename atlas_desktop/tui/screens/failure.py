"""Stands in the place of a screen that cannot be shown: what happened, what it means, how to go on."""

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Button, Static

from atlas_desktop.errors import Explained
from atlas_desktop.services.cleaning import clean
from atlas_desktop.words.catalogue import tr


class FailureScreen(Screen[None]):
    """Calls `go_on` or `leave`, whichever the person chooses; `again` says that it is tried once more, as
    it has been so many times (`tried`). Esc goes on, or gives up what would be tried."""

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
                    yield Static(tr("failure.tried", count=self._tried), markup=False)
            else:
                yield Static(tr("failure.kept"), markup=False)
                yield Static(tr("failure.next"), classes="quiet", markup=False)
            with Horizontal(classes="buttons"):
                yield Button(tr("failure.quit"), id="quit", compact=True)
                yield Button(
                    tr("failure.again" if self._again else "failure.go_on"),
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
