"""Small windows: a question, an error, a new title."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import Button, Input, Static

from atlas_desktop.errors import Explained
from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.chat.message import words_of
from atlas_desktop.tui.overlays import Covering
from atlas_desktop.tui.widgets.inputs import CleanInput

_CSS = """
{name} {{
    align: center middle;
    background: $background 70%;
    .box {{
        width: 64;
        max-width: 90%;
        height: auto;
        max-height: 90%;
        padding: 1 2;
        background: $surface;
        border: round {border};
        border-title-color: {border};
        border-title-style: bold;
    }}
    .buttons {{ height: auto; margin-top: 1; align-horizontal: right; }}
    Button {{ margin-left: 2; min-width: 10; }}
    .hint {{ color: $quiet; height: auto; }}
}}
"""


class ErrorScreen(Covering, ModalScreen[None]):
    """Shows an error: what happened, what it means, what to do next."""

    of_rooms = False
    DEFAULT_CSS = _CSS.format(name="ErrorScreen", border="$error")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter", "dismiss_error", _("Close"))]

    def __init__(self, explained: Explained) -> None:
        super().__init__()
        self.explained = explained

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Something went wrong")
            yield Static(words_of(self.explained), markup=False)
            with Horizontal(classes="buttons"):
                yield Button(_("Close"), id="close", variant="primary", compact=True)

    def on_button_pressed(self) -> None:
        self.dismiss(None)

    def action_dismiss_error(self) -> None:
        self.dismiss(None)


class RenameScreen(Covering, ModalScreen[str | None]):
    """Asks for a title. Dismissed with None if it is unchanged."""

    DEFAULT_CSS = _CSS.format(name="RenameScreen", border="$primary")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", _("Cancel"))]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title_now = clean_line(title)

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Rename the conversation")
            yield CleanInput(self._title_now, id="title", max_length=200)
            yield Static(_("Enter saves · Esc cancels"), classes="hint", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        title = clean_line(event.value)
        self.dismiss(title if title and title != self._title_now else None)

    def action_cancel(self) -> None:
        self.dismiss(None)


class ConfirmScreen(Covering, ModalScreen[bool]):
    """Asks a question; anything but the confirm button means no."""

    DEFAULT_CSS = """
    ConfirmScreen {
        align: center middle;
        background: $background 70%;
        .box {
            width: 64; max-width: 90%; height: auto; max-height: 90%; padding: 1 2;
            background: $surface; border: round $warning;
            border-title-color: $warning; border-title-style: bold;
        }
        .text { height: auto; max-height: 62vh; scrollbar-size-vertical: 1; }
        .text Static { height: auto; }
        .buttons { height: auto; margin-top: 1; align-horizontal: right; }
        Button { margin-left: 2; min-width: 10; }
    }
    """
    AUTO_FOCUS = "#no"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "refuse", _("No")),
        Binding("up,pageup", "scroll_text(-1)", show=False),
        Binding("down,pagedown", "scroll_text(1)", show=False),
    ]

    def __init__(self, title: str, text: str, *, agree: str, refuse: str) -> None:
        super().__init__()
        self._title_text = clean(title)
        self._text = clean(text)
        self._agree = agree
        self._refuse = refuse

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = self._title_text
            # A long text scrolls, so that the buttons stay in view.
            with VerticalScroll(classes="text", can_focus=False):
                yield Static(self._text, markup=False)
            with Horizontal(classes="buttons"):
                yield Button(self._refuse, id="no", compact=True)
                yield Button(self._agree, id="yes", variant="warning", compact=True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self._answer(agreed=event.button.id == "yes")

    def action_scroll_text(self, step: int) -> None:
        """Scrolls a text that does not fit."""
        self.query_one(".text", VerticalScroll).scroll_relative(y=5 * step, animate=False)

    def action_refuse(self) -> None:
        self._answer(agreed=False)

    def agree(self) -> None:
        self._answer(agreed=True)

    def _answer(self, *, agreed: bool) -> None:
        self.dismiss(agreed)


class Curtain(Screen[None]):
    """An empty screen that covers everything while the program locks."""
