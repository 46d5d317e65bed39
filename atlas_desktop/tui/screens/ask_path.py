"""Asks for the path of a file."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from atlas_desktop.tui.screens.covering import Covering
from atlas_desktop.tui.widgets.inputs import CleanInput


class PathScreen(Covering, ModalScreen[str | None]):
    """Dismissed with what was typed, without the quotes that terminals put around a path, or None."""

    of_rooms = False
    DEFAULT_CSS = """
    PathScreen {
        align: center middle;
        background: $background 70%;
        .box {
            width: 72; max-width: 94%; height: auto; padding: 1 2;
            background: $surface; border: round $primary;
            border-title-color: $primary; border-title-style: bold;
        }
        .hint { color: $quiet; height: auto; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", show=False)]

    def __init__(self, title: str, *, placeholder: str, hint: str) -> None:
        super().__init__()
        self._heading = title
        self._placeholder = placeholder
        self._hint = hint

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = self._heading
            yield CleanInput(placeholder=self._placeholder)
            yield Static(self._hint, classes="hint", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip().strip("'\"") or None)

    def action_cancel(self) -> None:
        self.dismiss(None)
