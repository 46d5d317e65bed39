"""A small window that asks for a few lines of text."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.screens.covering import Covering
from atlas_desktop.tui.widgets.inputs import CleanInput
from atlas_desktop.words.catalogue import tr


class FieldsScreen(Covering, ModalScreen[dict[str, str] | None]):
    """Dismissed with what was typed by the names of the fields, or None. Enter goes on to the next field."""

    DEFAULT_CSS = """
    FieldsScreen {
        align: center middle;
        background: $background 70%;
        .box {
            width: 72; max-width: 94%; height: auto; max-height: 90%; padding: 1 2;
            background: $surface; border: round $primary;
            border-title-color: $primary; border-title-style: bold; border-subtitle-color: $quiet;
            scrollbar-size-vertical: 1;
        }
        .name { height: 1; padding-left: 1; color: $foreground; }
        .hint { color: $quiet; height: auto; margin-bottom: 1; padding-left: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", tr("dialogs.cancel"))]

    def __init__(self, title: str, names: Sequence[str], *, hint: str = "") -> None:
        super().__init__()
        self._heading = title
        self._names = list(names)
        self._hint = hint

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="box", can_focus=False) as box:
            box.border_title = clean_line(self._heading)
            box.border_subtitle = tr("dialogs.goes_on")
            if self._hint:
                yield Static(Content(self._hint), classes="hint", markup=False)
            for number, name in enumerate(self._names):
                yield Static(Content(clean_line(name)), classes="name", markup=False)
                yield CleanInput(id=f"field-{number}")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        fields = list(self.query(Input))
        at = fields.index(event.input)
        if at + 1 < len(fields):
            fields[at + 1].focus()
        else:
            self.dismiss({name: field.value for name, field in zip(self._names, fields, strict=True)})

    def action_cancel(self) -> None:
        self.dismiss(None)
