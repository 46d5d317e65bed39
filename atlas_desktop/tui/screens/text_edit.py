"""Windows in which a text is written, a longer one or a line, with a name if wished."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.screens.covering import Covering
from atlas_desktop.tui.widgets.inputs import CleanInput
from atlas_desktop.words.catalogue import tr

_CSS = """
{name} {{
    align: center middle;
    background: $background 70%;
    .box {{
        width: 84; max-width: 96%; height: 70%; padding: 1 2;
        background: $surface; border: round $primary;
        border-title-color: $primary; border-title-style: bold; border-subtitle-color: $quiet;
    }}
    .hint {{ color: $quiet; height: auto; margin-bottom: 1; }}
    .problem {{ color: $error; height: auto; }}
    TextArea {{ height: 1fr; min-height: 4; border: round $border-blurred; }}
    TextArea:focus {{ border: round $border; }}
}}
"""
_LINE_LONGEST = 2000


class TextEditScreen(Covering, ModalScreen[str | None]):
    """Dismissed with the text, or None when it is left."""

    DEFAULT_CSS = _CSS.format(name="TextEditScreen")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", tr("dialogs.cancel")),
        Binding("ctrl+s", "save", tr("dialogs.save"), priority=True),
    ]

    def __init__(self, title: str, text: str, *, hint: str = "") -> None:
        super().__init__()
        self._heading, self._text, self._hint = title, text, hint

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = clean_line(self._heading)
            box.border_subtitle = tr("dialogs.saves")
            if self._hint:
                yield Static(Content(self._hint), classes="hint", markup=False)
            yield TextArea(clean(self._text), soft_wrap=True, id="text")

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()

    def action_save(self) -> None:
        self.dismiss(self.query_one(TextArea).text.strip())

    def action_cancel(self) -> None:
        self.dismiss(None)


class NamedTextScreen(Covering, ModalScreen[tuple[str, str] | None]):
    """As `TextEditScreen`, with a name: dismissed with both."""

    DEFAULT_CSS = _CSS.format(name="NamedTextScreen")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", tr("dialogs.cancel")),
        Binding("ctrl+s", "save", tr("dialogs.save"), priority=True),
    ]

    def __init__(self, title: str, name: str, text: str, *, hint: str = "") -> None:
        super().__init__()
        self._heading, self._name_now, self._text, self._hint = title, name, text, hint

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = clean_line(self._heading)
            box.border_subtitle = tr("dialogs.saves")
            yield Static(Content(self._hint), classes="hint", markup=False)
            yield CleanInput(
                clean_line(self._name_now), placeholder=tr("dialogs.name"), id="name", max_length=60
            )
            yield TextArea(clean(self._text), soft_wrap=True, id="text")
            yield Static("", classes="problem", markup=False)

    def on_input_submitted(self) -> None:
        self.query_one(TextArea).focus()

    def action_save(self) -> None:
        name = self.query_one(CleanInput).value.strip()
        text = self.query_one(TextArea).text.strip()
        if name and text:
            self.dismiss((name, text))
        else:
            self.query_one(".problem", Static).update(tr("dialogs.name_and_text"))

    def action_cancel(self) -> None:
        self.dismiss(None)


class NamedLineScreen(Covering, ModalScreen[tuple[str, str] | None]):
    """As `NamedTextScreen`, for a text of one line: Enter saves from either field. `label` stands in its
    field while that is empty, `missing` is said while one of them is."""

    DEFAULT_CSS = _CSS.format(name="NamedLineScreen").replace("height: 70%", "height: auto")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", tr("dialogs.cancel")),
        Binding("ctrl+s", "save", tr("dialogs.save"), priority=True),
    ]

    def __init__(self, title: str, name: str, line: str, *, label: str, missing: str) -> None:
        super().__init__()
        self._heading, self._name_now, self._line = title, name, line
        self._label, self._missing = label, missing

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = clean_line(self._heading)
            box.border_subtitle = tr("dialogs.rename_hint")
            yield CleanInput(
                clean_line(self._name_now),
                placeholder=tr("dialogs.name"),
                id="name",
                max_length=60,
                select_on_focus=False,
            )
            yield CleanInput(
                clean_line(self._line),
                placeholder=self._label,
                id="line",
                max_length=_LINE_LONGEST,
                select_on_focus=False,
            )
            yield Static("", classes="problem", markup=False)

    def on_input_submitted(self) -> None:
        self.action_save()

    def action_save(self) -> None:
        """Goes to what is missing, unless nothing is."""
        fields = list(self.query(CleanInput))
        empty = next((field for field in fields if not field.value.strip()), None)
        if empty is None:
            name, line = (field.value.strip() for field in fields)
            self.dismiss((name, line))
        else:
            self.query_one(".problem", Static).update(self._missing)
            empty.focus()

    def action_cancel(self) -> None:
        self.dismiss(None)
