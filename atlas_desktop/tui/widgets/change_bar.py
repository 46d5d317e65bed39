"""A bar that says what was done and offers to undo it, for ten seconds."""

from collections.abc import Awaitable, Callable
from typing import ClassVar, Generic, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.actions import BY_ID, key_words
from atlas_desktop.tui.keymap import keys_of

UNDO_S = 10

T = TypeVar("T")
Undo = Callable[[], Awaitable[object]]


class TakeBack(Horizontal, Generic[T]):
    """`take` returns what was offered, once; after ten seconds it returns None."""

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
    action: ClassVar[str]
    """The id of the action that undoes the change."""

    class Undone(Message):
        """The user clicked undo."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.offered: T | None = None
        self._left = 0
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static("", id="done", markup=False)
        yield Static("", id="undo", markup=False)
        yield Static("", id="seconds", markup=False)

    def offer(self, text: str, thing: T | None) -> None:
        """Shows the bar in place of an earlier offer; without a `thing` it shows only the text."""
        self.offered = thing
        self._left = UNDO_S
        self.query_one("#done", Static).update(Content(clean_line(text)))
        undo = self.query_one("#undo", Static)
        undo.display = thing is not None
        keys = keys_of(BY_ID[self.action], getattr(self.app, "keys", {}))
        undo.update(f"{_('Undo')} {key_words(keys.partition(',')[0])}")
        self.add_class("-shown")
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_interval(1, self._tick)
        self._draw()

    def take(self) -> T | None:
        """Hides the bar and returns what undoes the change; None if there is nothing."""
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
    """Offers to undo changes of conversations in the history."""

    action = "history.undo"

    class Undone(TakeBack.Undone):
        """The user clicked undo."""


class UndoBar(TakeBack[str]):
    """Offers to restore a deleted conversation, by its id; one deleted earlier stays in the bin."""

    action = "session.undo"

    class Undone(TakeBack.Undone):
        """The user clicked undo."""
