"""A window with the code for another device, as text and as a picture for its camera."""

from typing import ClassVar

import segno
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from atlas_desktop.locale import _
from atlas_desktop.tui.overlays import Covering

_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}


def picture(code: str) -> str:
    """Returns the code as a QR code, two rows of it in each line, light on dark as scanners expect."""
    rows = [
        [not dark for dark in row] for row in segno.make(code, error="l", micro=False).matrix_iter(border=2)
    ]
    if len(rows) % 2:
        rows.append([False] * len(rows[0]))
    return "\n".join(
        "".join(_HALVES[pair] for pair in zip(upper, lower, strict=True))
        for upper, lower in zip(rows[::2], rows[1::2], strict=True)
    )


class CodeScreen(Covering, ModalScreen[None]):
    """Shows a code until it is closed."""

    of_rooms = False
    DEFAULT_CSS = """
    CodeScreen {
        align: center middle;
        background: $background 70%;
        .box {
            width: 64; max-width: 94%; height: auto; max-height: 96%; padding: 0 2;
            background: $surface; border: round $primary;
            border-title-color: $primary; border-title-style: bold; border-subtitle-color: $quiet;
        }
        .text { height: auto; text-style: bold; text-align: center; }
        .picture { height: auto; width: auto; color: white; background: black; }
        .middle { height: auto; align-horizontal: center; }
        .hint { height: auto; color: $quiet; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter", "close", _("Close"))]

    def __init__(self, code: str) -> None:
        super().__init__()
        self._code = code

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="box") as box:
            box.border_title = _("Code for other devices")
            box.border_subtitle = _("Valid for an hour · Esc closes")
            yield Static(Content(self._code), classes="text", markup=False)
            with VerticalScroll(classes="middle", can_focus=False):
                yield Static(Content(picture(self._code)), classes="picture", markup=False)
            yield Static(
                Content(
                    _("On the other device: Sync, then j. Whoever has the code and the folder can join.")
                ),
                classes="hint",
                markup=False,
            )

    def action_close(self) -> None:
        self.dismiss(None)
