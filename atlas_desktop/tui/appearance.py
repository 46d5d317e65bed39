"""Colours, motion, keys, dates and numbers, and how they follow the settings while the program runs."""

from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Input, TextArea

from atlas_desktop.tui import keymap
from atlas_desktop.tui import theme as themes
from atlas_desktop.tui.actions import key_words
from atlas_desktop.words import formats

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp


class Appearance:
    """Applies settings to the application."""

    def __init__(self, app: "BaseApp") -> None:
        self._app = app

    def apply_all(self) -> None:
        """Applies everything at once, before anything is shown.

        Raises `SettingsError` for a keymap that cannot be used.
        """
        file = self._app.desk.settings_file
        keymap.check(file.settings.keys)
        file.check_keys = keymap.check
        for theme in themes.THEMES.values():
            self._app.register_theme(theme)
        self.apply_theme()
        self._app.stylesheet.set_variables(self._app.get_css_variables())
        self.apply_motion()
        self.apply_keys()
        self.apply_locale()

    def apply_theme(self) -> None:
        self._app.theme = themes.THEMES[self._app.desk.settings.ui.theme].name

    def apply_motion(self) -> None:
        still = self._app.desk.settings.ui.reduced_motion
        self._app.animation_level = "none" if still else "full"
        shown = self._app.screen.focused if self._app.screen_stack else None
        if isinstance(shown, Input | TextArea):
            shown.cursor_blink = not still

    def focused(self, widget: Widget) -> None:
        """A widget got the focus: its cursor does not blink where motion is reduced."""
        if isinstance(widget, Input | TextArea) and self._app.desk.settings.ui.reduced_motion:
            widget.cursor_blink = False

    def apply_keys(self) -> None:
        self._app.set_keymap(keymap.bound(self._app.keys))

    def apply_locale(self) -> None:
        wanted = self._app.desk.settings.ui.locale
        formats.use(wanted or formats.locale_of(self._app.desk.settings_file.environ))

    def words_of(self, binding: Binding) -> str | None:
        """The key of a binding in words; None for the words that Textual has for it."""
        if binding.key.startswith(keymap.UNBOUND):
            return ""
        return key_words(binding.key) if binding.id in self._app.keys else None
