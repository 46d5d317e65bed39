"""Says what was done and takes it back, for ten seconds."""

from collections.abc import Awaitable, Callable
from typing import ClassVar, Generic, TypeVar

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

T = TypeVar("T")
Undo = Callable[[], Awaitable[object]]


class TakeBack(Horizontal, Generic[T]):
    """`take` gives what was offered, once; after ten seconds there is nothing to take."""

    DEFAULT_CSS = """
    TakeBack {
        height: 1;
        padding: 0 2;
        background: $panel;
        display: none;
        &.-shown { display: block; }
        #done { width: 1fr; height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
        #undo { width: auto; color: $primary; text-style: bold; padding: 0 1; }
        #undo:hover { text-style: bold reverse; }
        #seconds { width: 6; text-align: right; color: $quiet; }
    }
    """
    label: ClassVar[str]

    class Undone(Message):
        """The person clicked on undo."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.offered: T | None = None
        self._left = 0
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static("", id="done", markup=False)
        yield Static(self.label, id="undo", markup=False)
        yield Static("", id="seconds", markup=False)

    def offer(self, text: str, thing: T | None) -> None:
        """Shows the bar anew, in place of what was offered before; with no thing it only says so."""
        self.offered = thing
        self._left = UNDO_S
        self.query_one("#done", Static).update(Content(clean_line(text)))
        self.query_one("#undo").display = thing is not None
        self.add_class("-shown")
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_interval(1, self._tick)
        self._draw()

    def take(self) -> T | None:
        """What takes the change back."""
        taken, self.offered = self.offered, None
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
        self.query_one("#seconds", Static).update(Content(f"{self._left} s" if self.offered else ""))

    def on_click(self, event: events.Click) -> None:
        if event.widget is not None and event.widget.id == "undo":
            self.post_message(self.Undone())


class ChangeBar(TakeBack[Undo]):
    """What was done to conversations in the history."""

    label = tr("history.undo")

    class Undone(TakeBack.Undone):
        """The person clicked on undo."""


class UndoBar(TakeBack[str]):
    """The conversation that was deleted, by its id; an earlier one stays in the bin."""

    label = tr("history.undo.deletion")

    class Undone(TakeBack.Undone):
        """The person clicked on undo."""
