"""A question that is answered with yes or no, and a screen that shows nothing."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen, Screen
from textual.widgets import Button, Static

from atlas_desktop.services.cleaning import clean
from atlas_desktop.tui.screens.covering import Covering
from atlas_desktop.words.catalogue import tr


class ConfirmScreen(Covering, ModalScreen[bool]):
    """Asks; everything but the button that agrees is a no."""

    DEFAULT_CSS = """
    ConfirmScreen {
        align: center middle;
        background: $background 70%;
        .box {
            width: 64; max-width: 90%; height: auto; max-height: 90%; padding: 1 2;
            background: $surface; border: round $warning;
            border-title-color: $warning; border-title-style: bold;
        }
        .buttons { height: auto; margin-top: 1; align-horizontal: right; }
        Button { margin-left: 2; min-width: 10; }
    }
    """
    AUTO_FOCUS = "#no"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "refuse", tr("confirm.no"))]

    def __init__(self, title: str, text: str, *, agree: str, refuse: str) -> None:
        super().__init__()
        self._title_text = clean(title)
        self._text = clean(text)
        self._agree = agree
        self._refuse = refuse

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = self._title_text
            yield Static(self._text, markup=False)
            with Horizontal(classes="buttons"):
                yield Button(self._refuse, id="no", compact=True)
                yield Button(self._agree, id="yes", variant="warning", compact=True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self._answer(agreed=event.button.id == "yes")

    def action_refuse(self) -> None:
        self._answer(agreed=False)

    def agree(self) -> None:
        self._answer(agreed=True)

    def _answer(self, *, agreed: bool) -> None:
        self.dismiss(agreed)


class Curtain(Screen[None]):
    """Empty: what was shown is covered while the program locks."""
