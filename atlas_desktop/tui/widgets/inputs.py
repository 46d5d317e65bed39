"""A field for one line of text."""

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.widgets import Input

from atlas_desktop.services.cleaning import clean, clean_line


class CleanInput(Input):
    """An input whose pasted text is cleaned of control characters. Tab leaves it at once: what is typed
    right after it goes to the next field."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.focus_next", show=False, priority=True, system=True),
        Binding("shift+tab", "app.focus_previous", show=False, priority=True, system=True),
    ]

    def _on_paste(self, event: events.Paste) -> None:
        # Textual calls the handler of the base class, which inserts, after this one.
        event.text = clean(event.text) if self.password else clean_line(event.text)
