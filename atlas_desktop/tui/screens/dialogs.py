"""Small windows over the screen: a question, an error, the help."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from atlas_desktop.explain import Explained
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.actions import ACTIONS, Action, Where, key_words
from atlas_desktop.tui.widgets.inputs import CleanInput
from atlas_desktop.tui.widgets.message import words_of

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


class ErrorScreen(ModalScreen[None]):
    """What happened, what it means, what to do next."""

    DEFAULT_CSS = _CSS.format(name="ErrorScreen", border="$error")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter", "dismiss_error", "Close")]

    def __init__(self, explained: Explained) -> None:
        super().__init__()
        self._explained = explained

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = "Something went wrong"
            yield Static(words_of(self._explained), markup=False)
            with Horizontal(classes="buttons"):
                yield Button("Close", id="close", variant="primary", compact=True)

    def on_button_pressed(self) -> None:
        self.dismiss(None)

    def action_dismiss_error(self) -> None:
        self.dismiss(None)


class RenameScreen(ModalScreen[str | None]):
    """Asks for a title; None when it is left as it is."""

    DEFAULT_CSS = _CSS.format(name="RenameScreen", border="$primary")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel")]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title_now = clean_line(title)

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = "Rename the conversation"
            yield CleanInput(self._title_now, id="title", max_length=200)
            yield Static("Enter saves · Esc leaves it as it is", classes="hint", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        title = clean_line(event.value)
        self.dismiss(title if title and title != self._title_now else None)

    def action_cancel(self) -> None:
        self.dismiss(None)


class HelpScreen(ModalScreen[None]):
    """Every action with its key and what it does."""

    DEFAULT_CSS = (
        _CSS.format(name="HelpScreen", border="$primary")
        + """
    HelpScreen .box { width: 92; height: 92%; padding: 1 1 0 2; }
    HelpScreen VerticalScroll { height: 1fr; scrollbar-size-vertical: 1; padding-right: 1; }
    HelpScreen .where { margin-bottom: 1; }
    HelpScreen .row { height: auto; margin-bottom: 1; }
    HelpScreen .key { width: 20; color: $primary; padding-left: 1; }
    HelpScreen .what { width: 1fr; height: auto; }
    """
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,f1,enter", "close", "Close")]

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = "Help"
            box.border_subtitle = "Esc closes"
            with VerticalScroll():
                for where in Where:
                    yield Static(Content.styled(str(where), "bold $accent"), classes="where", markup=False)
                    for action in ACTIONS:
                        if action.where is where:
                            yield from _row(action)
                yield Static(
                    Content("Every action is also in the command palette (Ctrl+P), by its name."),
                    classes="hint",
                    markup=False,
                )

    def action_close(self) -> None:
        self.dismiss(None)


def _row(action: Action) -> ComposeResult:
    keys = key_words(action.key) or action.slash or "by name"
    with Horizontal(classes="row"):
        yield Static(Content(keys), classes="key", markup=False)
        words = Content.assemble((action.name, "bold"), "\n", (action.help, "$quiet"))
        yield Static(words, classes="what", markup=False)
