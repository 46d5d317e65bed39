"""Says what was done and takes it back, for ten seconds."""

from collections.abc import Awaitable, Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.words.catalogue import tr

UNDO_S = 10

Undo = Callable[[], Awaitable[object]]


class ChangeBar(Horizontal):
    """`take` gives what undoes the change, once; after ten seconds there is nothing to take."""

    DEFAULT_CSS = """
    ChangeBar {
        height: 1;
        padding: 0 2;
        background: $panel;
        display: none;
        &.-shown { display: block; }
        #changed { width: 1fr; height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
        #take-back { width: auto; color: $primary; text-style: bold; padding: 0 1; }
        #take-back:hover { text-style: bold reverse; }
        #seconds { width: 6; text-align: right; color: $quiet; }
    }
    """

    class Undone(Message):
        """The person clicked on undo."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._undo: Undo | None = None
        self._left = 0
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static("", id="changed", markup=False)
        yield Static(tr("history.undo"), id="take-back", markup=False)
        yield Static("", id="seconds", markup=False)

    @property
    def can_undo(self) -> bool:
        return self._undo is not None

    def offer(self, text: str, undo: Undo | None) -> None:
        """Shows the bar anew; without `undo` it only says what was done."""
        self._undo = undo
        self._left = UNDO_S
        self.query_one("#changed", Static).update(Content(clean_line(text)))
        self.query_one("#take-back").display = undo is not None
        self.add_class("-shown")
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_interval(1, self._tick)
        self._draw()

    def take(self) -> Undo | None:
        """What takes the change back."""
        taken, self._undo = self._undo, None
        self.remove_class("-shown")
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self.screen.refresh_bindings()
        return taken

    def _tick(self) -> None:
        self._left -= 1
        if self._left <= 0:
            self.take()
        else:
            self._draw()

    def _draw(self) -> None:
        self.query_one("#seconds", Static).update(Content(f"{self._left} s" if self._undo else ""))

    def on_click(self, event: events.Click) -> None:
        if event.widget is not None and event.widget.id == "take-back":
            self.post_message(self.Undone())
