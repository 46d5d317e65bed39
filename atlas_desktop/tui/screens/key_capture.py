"""Takes the next key that is pressed as the key of an action."""

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from atlas_desktop.settings.file import SettingsError
from atlas_desktop.tui.actions import key_words
from atlas_desktop.tui.keymap import KeyTaken
from atlas_desktop.tui.screens.covering import Covering
from atlas_desktop.words.catalogue import tr


class KeyScreen(Covering, ModalScreen[str | None]):
    """Dismissed with the key, an empty text for none, or None when it stays as it is.

    `check` raises `SettingsError` for a key that cannot be had: the reason is shown and another one waited
    for. While this is shown no key does anything else.
    """

    of_rooms = False
    DEFAULT_CSS = """
    KeyScreen {
        align: center middle;
        background: $background 70%;
        .box {
            width: 64; max-width: 94%; height: auto; padding: 1 2;
            background: $surface; border: round $primary;
            border-title-color: $primary; border-title-style: bold;
        }
        .problem { height: auto; color: $error; margin-top: 1; display: none; }
        .problem.-shown { display: block; }
        .hint { color: $quiet; height: auto; margin-top: 1; }
    }
    """
    ALLOW_SELECT: ClassVar[bool] = False

    def __init__(self, name: str, check: Callable[[str], None]) -> None:
        super().__init__()
        self._name = name
        self._check = check

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = tr("settings.key_title", name=self._name)
            yield Static(tr("settings.key_ask"), markup=False)
            yield Static("", classes="problem", markup=False)
            yield Static(tr("settings.key_hint"), classes="hint", markup=False)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if event.key == "escape":
            self.dismiss(None)
            return
        key = "" if event.key == "backspace" else event.key
        try:
            self._check(key)
        except KeyTaken as error:
            self._refuse(tr("settings.key_taken", key=key_words(event.key), name=error.by))
            return
        except SettingsError as error:
            self._refuse(tr("settings.key_refused", key=key_words(event.key), reason=error.reason))
            return
        self.dismiss(key)

    def _refuse(self, text: str) -> None:
        problem = self.query_one(".problem", Static)
        problem.update(text)
        problem.add_class("-shown")
