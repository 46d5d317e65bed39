"""Fields of forms: a line of text, a box to tick, a label beside a field."""

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Checkbox, Input, Label, Select

from atlas_desktop.locale import N_, _
from atlas_desktop.services.cleaning import clean, clean_line

_EXPORTING_TEXTS = {
    "format": N_("Format"),
    "where": N_("Save to"),
    "words": N_("Words"),
    "seal": N_("Passphrase"),
    "seal.again": N_("Repeat"),
}


class CleanInput(Input):
    """An input that removes control characters from pastes.

    Tab leaves it at once, so that further keys go to the next field.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.focus_next", show=False, priority=True, system=True),
        Binding("shift+tab", "app.focus_previous", show=False, priority=True, system=True),
    ]

    def on_paste(self, event: events.Paste) -> None:
        # Textual calls the handler of the base class, which inserts, after this one.
        event.text = clean(event.text) if self.password else clean_line(event.text)


class Tick(Checkbox):
    """A checkbox that is empty when off: Textual's shows the same sign in another colour."""

    BUTTON_INNER = property(lambda self: "X" if self.value else " ")


def field_line(name: str, field: Input | Select[str], *, margin: bool = False) -> Horizontal:
    """Returns a field with its name before it; with a `margin` there is an empty line above."""
    line = Horizontal(Label(_(_EXPORTING_TEXTS[name])), field, classes="line")
    if margin:
        line.styles.margin = (1, 0, 1, 0)
    return line
