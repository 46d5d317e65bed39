"""How the interface looks and what it listens to, and how both follow the settings while it runs."""

import asyncio
from typing import TYPE_CHECKING, Any

from textual import events
from textual.binding import Binding
from textual.widgets import Input, TextArea

from atlas_desktop.settings.file import KEYS
from atlas_desktop.tui import keymap
from atlas_desktop.tui import theme as themes
from atlas_desktop.tui.actions import key_words
from atlas_desktop.tui.rescue import Rescue
from atlas_desktop.words import formats

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.screen import Screen


class Looks(Rescue):
    """Colours, motion, the person's keys, dates and numbers."""

    def take_settings(self) -> None:
        """Everything at once, before anything is shown. Raises `SettingsError` for a keymap that cannot be
        used."""
        file = self.desk.settings_file
        keymap.check(file.settings.keys)
        file.check_keys = keymap.check
        for theme in themes.THEMES.values():
            self.register_theme(theme)
        self._paint()
        self.stylesheet.set_variables(self.get_css_variables())
        self._move()
        self._listen()
        self._write()

    def refresh_css(self, animate: bool = True) -> None:  # noqa: FBT001, FBT002 - as Textual declares it
        # When it starts Textual has every style read once more, for the colours that they were read with.
        if self._dom_ready:
            super().refresh_css(animate)

    def _load_screen_css(self, screen: "Screen[Any]") -> None:
        """Reads the styles of a screen that is shown for the first time, and these alone.

        Textual has all styles there are read anew and every widget styled by them, while nobody can type. The
        rules of a screen's file are about what is on that screen, which is styled when it is made.
        """
        if screen.CSS:
            super()._load_screen_css(screen)
            return
        for path in screen.css_path:
            if not self.stylesheet.has_source(str(path)):
                self.stylesheet.read(path)

    def setting_changed(self, key: str) -> None:
        """Follows a change as far as that can be done while the program runs."""
        section = key.partition(".")[0]
        if section == KEYS:
            self._listen()
        elif key == "ui.theme":
            self._paint()
        elif key == "ui.reduced_motion":
            self._move()
        elif key == "ui.locale":
            self._write()
        elif section == "privacy":
            self.watch_anew()
        elif section == "models":
            self.attempt(self._model_anew(), group="settings")

    async def change_setting(self, key: str, value: object) -> None:
        """Writes one setting and follows it; None takes it back to its default. Raises `SettingsError`."""
        await asyncio.to_thread(self.desk.settings_file.set, key, value)
        self.setting_changed(key)

    # --- one by one ------------------------------------------------------------------------------

    def _paint(self) -> None:
        self.theme = themes.THEMES[self.desk.settings.ui.theme].name

    def _move(self) -> None:
        still = self.desk.settings.ui.reduced_motion
        self.animation_level = "none" if still else "full"
        shown = self.screen.focused if self.screen_stack else None
        if isinstance(shown, Input | TextArea):
            shown.cursor_blink = not still

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if isinstance(event.widget, Input | TextArea) and self.desk.settings.ui.reduced_motion:
            event.widget.cursor_blink = False

    def _write(self) -> None:
        wanted = self.desk.settings.ui.locale
        formats.use(wanted or formats.locale_of(self.desk.settings_file.environ))

    def action_show_settings(self) -> None:
        from atlas_desktop.tui.screens.settings import SettingsScreen

        if not isinstance(self.screen, SettingsScreen):
            self.push_screen(SettingsScreen(self))

    def action_choose_theme(self) -> None:
        from atlas_desktop.tui.screens.themes import ThemeScreen

        if not isinstance(self.screen, ThemeScreen):
            self.push_screen(ThemeScreen(self))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        from atlas_desktop.tui.screens.key_capture import KeyScreen

        if self.screen_stack and isinstance(self.screen, KeyScreen):
            return False
        if action == "show_settings":
            # What is set tells something of what is inside.
            return self.desk.room is not None and not self.leaving
        return super().check_action(action, parameters)

    # --- keys ------------------------------------------------------------------------------------

    @property
    def keys(self) -> "Mapping[str, str]":
        """The person's own keys, by action."""
        return self.desk.settings.keys

    def _listen(self) -> None:
        self.set_keymap(keymap.bound(self.keys))

    def get_key_display(self, binding: Binding) -> str:
        if binding.key.startswith(keymap.UNBOUND):
            return ""
        if binding.id in self.keys:
            return key_words(binding.key)
        return super().get_key_display(binding)

    # --- the model -------------------------------------------------------------------------------

    async def _model_anew(self) -> None:
        """The next reply starts the model with what was changed; a reply under way is not cut short."""
        if self._turns is None or not any(self._turns.active):
            await self.desk.switch_model()
