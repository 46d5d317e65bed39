"""A field for one line of text."""

from textual import events
from textual.widgets import Input

from atlas_desktop.services.cleaning import clean, clean_line


class CleanInput(Input):
    """An input whose pasted text is cleaned of control characters."""

    def _on_paste(self, event: events.Paste) -> None:
        # Textual calls the handler of the base class, which inserts, after this one.
        event.text = clean(event.text) if self.password else clean_line(event.text)
