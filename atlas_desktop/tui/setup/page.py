"""What the screens before the conversation share: a sheet in the middle, and a line for problems."""

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from atlas_desktop.errors import Explained
from atlas_desktop.services.cleaning import clean
from atlas_desktop.tui.widgets.keyline import KeyLine

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp


class Page(Screen[None]):
    """A sheet of text and fields in the middle of the screen."""

    def __init__(self, app: "BaseApp") -> None:
        super().__init__(classes="page")
        self.atlas = app

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="sheet", can_focus=False):
            yield from self.sheet()
        yield KeyLine()

    def sheet(self) -> ComposeResult:
        """The widgets of the sheet."""
        yield from ()

    def problem(self, title: str, *details: str) -> None:
        """Shows what is wrong, in a line of the sheet; an empty title removes the line."""
        line = self.query_one(".problem", Static)
        rest = "".join(f"\n{clean(detail)}" for detail in details if detail)
        line.update(Content.assemble((clean(title), "bold $error"), (rest, "$foreground")))
        line.set_class(bool(title), "-shown")
        if title:
            line.scroll_visible(animate=False)

    def explain(self, explained: Explained) -> None:
        self.problem(explained.title, explained.message, explained.next_step)
