"""An entry that leads somewhere: Enter or a click opens it."""

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from atlas_desktop.tui.origins import Chosen
from atlas_desktop.tui.reasons import Known
from atlas_desktop.words.catalogue import tr


class LeadLine(Static, can_focus=True):
    """Its words, and what Enter opens; without that it is words alone, and Tab passes it by."""

    DEFAULT_CSS = """
    LeadLine {
        height: auto; margin-bottom: 1; padding-left: 1; border-left: outer $border-blurred;
        &:hover { background: $boost; }
        &:focus { border-left: thick $primary; background: $boost; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "open", tr("why.open"))]

    class Opened(Message):
        """The person wants to see what it leads to."""

        def __init__(self, to: Chosen | Known) -> None:
            super().__init__()
            self.to = to

    def __init__(self, words: Content, to: Chosen | Known | None) -> None:
        super().__init__(words, markup=False)
        self.can_focus = to is not None
        self._to = to

    def action_open(self) -> None:
        if self._to is not None:
            self.post_message(self.Opened(self._to))

    def on_click(self, _event: events.Click) -> None:
        self.action_open()
