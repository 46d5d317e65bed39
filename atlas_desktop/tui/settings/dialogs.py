"""Windows of the settings: the key of an action, and the theme."""

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import OptionList, Static

from atlas_desktop.locale import N_, _
from atlas_desktop.settings.file import SettingsError
from atlas_desktop.tui.actions import key_words
from atlas_desktop.tui.appearance import THEMES
from atlas_desktop.tui.dialogs.questions import ChoiceScreen
from atlas_desktop.tui.keymap import KeyTaken
from atlas_desktop.tui.widgets import Window

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp


_THEMES_TEXTS = {
    "dark": N_("Dark"),
    "light": N_("Light"),
    "sepia": N_("Old paper"),
    "contrast-dark": N_("Dark, high contrast"),
    "contrast-light": N_("Light, high contrast"),
    "terminal": N_("The terminal's own colours"),
}


class KeyScreen(Window[str | None]):
    """Dismissed with the key, an empty text for none, or None if it is unchanged.

    `check` raises `SettingsError` for a key that cannot be used: the window shows the reason and waits for
    another key. No key does anything else meanwhile.
    """

    of_rooms = False
    DEFAULT_CSS = """
    KeyScreen {
        .box { width: 64; max-width: 94%; }
        .problem { height: auto; color: $error; margin-top: 1; display: none; }
        .problem.-shown { display: block; }
        .hint { color: $quiet; height: auto; margin-top: 1; }
    }
    """
    ALLOW_SELECT: ClassVar[bool] = False

    def __init__(self, name: str, check: Callable[[str], None]) -> None:
        super().__init__()
        self._action_name = name
        self._check = check

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Key for: {name}", name=self._action_name)
            yield Static(_("Press the new key."), markup=False)
            yield Static("", classes="problem", markup=False)
            yield Static(_("Esc cancels · Backspace removes the key"), classes="hint", markup=False)

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
            self._refuse(_("{key} is already used for “{name}”.", key=key_words(event.key), name=error.by))
            return
        except SettingsError as error:
            self._refuse(_("{key} cannot be used: {reason}.", key=key_words(event.key), reason=error.reason))
            return
        self.dismiss(key)

    def _refuse(self, text: str) -> None:
        problem = self.query_one(".problem", Static)
        problem.update(text)
        problem.add_class("-shown")


class ThemeScreen(ChoiceScreen):
    """Saves the choice unless the caller does; closing it restores the earlier theme."""

    def __init__(self, app: "BaseApp", *, keep: bool = True) -> None:
        file = app.desk.settings_file
        super().__init__(
            _("Theme"),
            {name: _(_THEMES_TEXTS[name]) for name in THEMES},
            next(name for name, theme in THEMES.items() if theme.name == app.theme),
            hint=_("Enter saves · Esc cancels"),
            about=_("ATLAS_UI_THEME sets the theme. Your choice here lasts only for this run.")
            if "ui.theme" in file.given_by_environment
            else "",
            in_use=_("in use"),
        )
        self.atlas = app
        self._keeps = keep
        self._before = app.theme

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_id is not None:
            self.atlas.theme = THEMES[event.option_id].name

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)
        if self._keeps:
            self.atlas.attempt(self._keep(str(event.option_id)), group="settings")

    async def _keep(self, chosen: str) -> None:
        if "ui.theme" in self.atlas.desk.settings_file.given_by_environment:
            return
        await self.atlas.change_setting("ui.theme", chosen)

    def action_cancel(self) -> None:
        self.atlas.theme = self._before
        self.dismiss(None)
