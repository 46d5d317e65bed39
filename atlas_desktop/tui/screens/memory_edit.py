"""The words of a memory, to be corrected."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from atlas_desktop.services.cleaning import clean
from atlas_desktop.tui.screens.covering import Covering
from atlas_desktop.words.catalogue import tr


class MemoryEditScreen(Covering, ModalScreen[str | None]):
    """Dismissed with the new text, or None when it stays as it is."""

    DEFAULT_CSS = """
    MemoryEditScreen {
        align: center middle;
        background: $background 70%;
        .box {
            width: 72; max-width: 94%; height: auto; max-height: 90%; padding: 1 2;
            background: $surface; border: round $primary;
            border-title-color: $primary; border-title-style: bold;
        }
        TextArea {
            height: auto; min-height: 4; max-height: 14; margin-bottom: 1;
            border: round $border-blurred;
        }
        TextArea:focus { border: round $border; }
        .hint { color: $quiet; height: auto; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", tr("memory.cancel")),
        Binding("ctrl+s", "save", tr("memory.save"), priority=True),
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._heading = title
        self._text = clean(text)

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = self._heading
            yield TextArea(self._text, id="memory-text", soft_wrap=True)
            yield Static(tr("memory.edit_hint"), classes="hint", markup=False)

    def action_save(self) -> None:
        text = clean(self.query_one(TextArea).text).strip()
        self.dismiss(text if text and text != self._text.strip() else None)

    def action_cancel(self) -> None:
        self.dismiss(None)
