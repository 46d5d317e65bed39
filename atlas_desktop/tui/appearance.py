"""Colours, motion, keys, dates and numbers, and how they follow the settings."""

from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.theme import Theme
from textual.widget import Widget
from textual.widgets import Input, TextArea

from atlas_desktop import locale
from atlas_desktop.tui import keymap
from atlas_desktop.tui.actions import key_words

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp


DARK = Theme(
    name="atlas-dark",
    dark=True,
    primary="#7fb4ca",
    secondary="#9aa7c7",
    accent="#e6b673",
    foreground="#d9dce3",
    background="#14171c",
    surface="#1a1e25",
    panel="#222732",
    success="#8fc99a",
    warning="#e6b673",
    error="#eb8c88",
    variables={
        "border": "#7fb4ca",
        "border-blurred": "#39414f",
        "block-cursor-background": "#2b3a47",
        "block-cursor-foreground": "#ffffff",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": "#232a34",
        "block-cursor-blurred-foreground": "#d9dce3",
        "block-cursor-blurred-text-style": "none",
        "input-cursor-background": "#d9dce3",
        "input-cursor-foreground": "#14171c",
        "input-selection-background": "#7fb4ca 30%",
        "footer-background": "#14171c",
        "footer-foreground": "#9aa2b2",
        "footer-description-foreground": "#9aa2b2",
        "footer-key-foreground": "#7fb4ca",
        "footer-key-background": "#14171c",
        "footer-item-background": "#14171c",
        "scrollbar": "#343c49",
        "scrollbar-hover": "#465162",
        "scrollbar-active": "#7fb4ca",
        "scrollbar-background": "#14171c",
        "scrollbar-background-hover": "#14171c",
        "scrollbar-background-active": "#14171c",
        "scrollbar-corner-color": "#14171c",
        "markdown-h1-color": "#e6b673",
        "markdown-h2-color": "#e6b673",
        "markdown-h3-color": "#7fb4ca",
        "markdown-h4-color": "#7fb4ca",
        "markdown-h5-color": "#9aa7c7",
        "markdown-h6-color": "#9aa7c7",
        "markdown-h1-text-style": "bold",
        "markdown-h2-text-style": "bold",
        "markdown-h4-text-style": "bold",
        "quiet": "#9aa2b2",
        "mine": "#e6b673",
    },
)

LIGHT = Theme(
    name="atlas-light",
    dark=False,
    primary="#1f6a86",
    secondary="#4b587c",
    accent="#8a5200",
    foreground="#23272e",
    background="#fbfaf7",
    surface="#f3f1ec",
    panel="#e9e6de",
    success="#2c6e3f",
    warning="#8a5200",
    error="#b3261e",
    variables={
        "border": "#1f6a86",
        "border-blurred": "#c9c4b8",
        "block-cursor-background": "#d5e5eb",
        "block-cursor-foreground": "#10222a",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": "#e3e6e4",
        "block-cursor-blurred-foreground": "#23272e",
        "block-cursor-blurred-text-style": "none",
        "input-cursor-background": "#23272e",
        "input-cursor-foreground": "#fbfaf7",
        "input-selection-background": "#1f6a86 25%",
        "footer-background": "#fbfaf7",
        "footer-foreground": "#5a606b",
        "footer-description-foreground": "#5a606b",
        "footer-key-foreground": "#1f6a86",
        "footer-key-background": "#fbfaf7",
        "footer-item-background": "#fbfaf7",
        "scrollbar": "#cfcabe",
        "scrollbar-hover": "#b5afa1",
        "scrollbar-active": "#1f6a86",
        "scrollbar-background": "#fbfaf7",
        "scrollbar-background-hover": "#fbfaf7",
        "scrollbar-background-active": "#fbfaf7",
        "scrollbar-corner-color": "#fbfaf7",
        "markdown-h1-color": "#8a5200",
        "markdown-h2-color": "#8a5200",
        "markdown-h3-color": "#1f6a86",
        "markdown-h4-color": "#1f6a86",
        "markdown-h5-color": "#4b587c",
        "markdown-h6-color": "#4b587c",
        "markdown-h1-text-style": "bold",
        "markdown-h2-text-style": "bold",
        "markdown-h4-text-style": "bold",
        "quiet": "#5a606b",
        "mine": "#8a5200",
    },
)

SEPIA = Theme(
    name="atlas-sepia",
    dark=False,
    primary="#2f5d50",
    secondary="#5b4a72",
    accent="#8a3b12",
    foreground="#3a2e22",
    background="#f4ecd8",
    surface="#ece2c9",
    panel="#e2d6b8",
    success="#2f6424",
    warning="#8a3b12",
    error="#a3211b",
    variables={
        "border": "#2f5d50",
        "border-blurred": "#c2b48f",
        "block-cursor-background": "#d9d3a4",
        "block-cursor-foreground": "#2a2118",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": "#e6dcbc",
        "block-cursor-blurred-foreground": "#3a2e22",
        "block-cursor-blurred-text-style": "none",
        "input-cursor-background": "#3a2e22",
        "input-cursor-foreground": "#f4ecd8",
        "input-selection-background": "#2f5d50 25%",
        "footer-background": "#f4ecd8",
        "footer-foreground": "#625640",
        "footer-description-foreground": "#625640",
        "footer-key-foreground": "#2f5d50",
        "footer-key-background": "#f4ecd8",
        "footer-item-background": "#f4ecd8",
        "scrollbar": "#cbbd97",
        "scrollbar-hover": "#ae9f78",
        "scrollbar-active": "#2f5d50",
        "scrollbar-background": "#f4ecd8",
        "scrollbar-background-hover": "#f4ecd8",
        "scrollbar-background-active": "#f4ecd8",
        "scrollbar-corner-color": "#f4ecd8",
        "markdown-h1-color": "#8a3b12",
        "markdown-h2-color": "#8a3b12",
        "markdown-h3-color": "#2f5d50",
        "markdown-h4-color": "#2f5d50",
        "markdown-h5-color": "#5b4a72",
        "markdown-h6-color": "#5b4a72",
        "markdown-h1-text-style": "bold",
        "markdown-h2-text-style": "bold",
        "markdown-h4-text-style": "bold",
        "quiet": "#625640",
        "mine": "#8a3b12",
    },
)

CONTRAST_DARK = Theme(
    name="atlas-contrast-dark",
    dark=True,
    primary="#6fd6ff",
    secondary="#c9d4ff",
    accent="#ffd75f",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#1c1c1c",
    success="#7dff9b",
    warning="#ffd75f",
    error="#ffb3af",
    variables={
        "border": "#6fd6ff",
        "border-blurred": "#9a9a9a",
        "block-cursor-background": "#154c92",
        "block-cursor-foreground": "#ffffff",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": "#3a3a3a",
        "block-cursor-blurred-foreground": "#ffffff",
        "block-cursor-blurred-text-style": "bold",
        "input-cursor-background": "#ffffff",
        "input-cursor-foreground": "#000000",
        "input-selection-background": "#154c92",
        "input-selection-foreground": "#ffffff",
        "footer-background": "#000000",
        "footer-foreground": "#ffffff",
        "footer-description-foreground": "#ffffff",
        "footer-key-foreground": "#6fd6ff",
        "footer-key-background": "#000000",
        "footer-item-background": "#000000",
        "scrollbar": "#9a9a9a",
        "scrollbar-hover": "#ffffff",
        "scrollbar-active": "#6fd6ff",
        "scrollbar-background": "#000000",
        "scrollbar-background-hover": "#000000",
        "scrollbar-background-active": "#000000",
        "scrollbar-corner-color": "#000000",
        "markdown-h1-color": "#ffd75f",
        "markdown-h2-color": "#ffd75f",
        "markdown-h3-color": "#6fd6ff",
        "markdown-h4-color": "#6fd6ff",
        "markdown-h5-color": "#ffffff",
        "markdown-h6-color": "#ffffff",
        "markdown-h1-text-style": "bold underline",
        "markdown-h2-text-style": "bold",
        "markdown-h4-text-style": "bold",
        "quiet": "#d8d8d8",
        "mine": "#ffd75f",
    },
)

CONTRAST_LIGHT = Theme(
    name="atlas-contrast-light",
    dark=False,
    primary="#003f6b",
    secondary="#20305c",
    accent="#6a2f00",
    foreground="#000000",
    background="#ffffff",
    surface="#ffffff",
    panel="#ececec",
    success="#004a16",
    warning="#6a2f00",
    error="#8f0000",
    variables={
        "border": "#003f6b",
        "border-blurred": "#5c5c5c",
        "block-cursor-background": "#ffd54a",
        "block-cursor-foreground": "#000000",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": "#d0d0d0",
        "block-cursor-blurred-foreground": "#000000",
        "block-cursor-blurred-text-style": "bold",
        "input-cursor-background": "#000000",
        "input-cursor-foreground": "#ffffff",
        "input-selection-background": "#ffd54a",
        "input-selection-foreground": "#000000",
        "footer-background": "#ffffff",
        "footer-foreground": "#000000",
        "footer-description-foreground": "#000000",
        "footer-key-foreground": "#003f6b",
        "footer-key-background": "#ffffff",
        "footer-item-background": "#ffffff",
        "scrollbar": "#5c5c5c",
        "scrollbar-hover": "#000000",
        "scrollbar-active": "#003f6b",
        "scrollbar-background": "#ffffff",
        "scrollbar-background-hover": "#ffffff",
        "scrollbar-background-active": "#ffffff",
        "scrollbar-corner-color": "#ffffff",
        "markdown-h1-color": "#6a2f00",
        "markdown-h2-color": "#6a2f00",
        "markdown-h3-color": "#003f6b",
        "markdown-h4-color": "#003f6b",
        "markdown-h5-color": "#000000",
        "markdown-h6-color": "#000000",
        "markdown-h1-text-style": "bold underline",
        "markdown-h2-text-style": "bold",
        "markdown-h4-text-style": "bold",
        "quiet": "#2b2b2b",
        "mine": "#6a2f00",
    },
)

# Uses the sixteen colours of the user's terminal. Whether they are light or dark is unknown.
TERMINAL = Theme(
    name="atlas-terminal",
    ansi=True,
    dark=True,
    primary="ansi_cyan",
    secondary="ansi_blue",
    accent="ansi_yellow",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    success="ansi_green",
    warning="ansi_yellow",
    error="ansi_red",
    variables={
        "ansi-background": "ansi_black",
        "ansi-foreground": "ansi_white",
        "screen-selection-background": "ansi_cyan",
        "screen-selection-foreground": "ansi_black",
        "border": "ansi_cyan",
        "border-blurred": "ansi_bright_black",
        "block-cursor-background": "ansi_bright_black",
        "block-cursor-foreground": "ansi_bright_white",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": "ansi_default",
        "block-cursor-blurred-foreground": "ansi_default",
        "block-cursor-blurred-text-style": "bold underline",
        "input-cursor-background": "ansi_default",
        "input-cursor-foreground": "ansi_default",
        "input-cursor-text-style": "reverse",
        "input-selection-background": "ansi_cyan",
        "input-selection-foreground": "ansi_black",
        "footer-background": "ansi_default",
        "footer-foreground": "ansi_default",
        "footer-description-foreground": "ansi_default",
        "footer-key-foreground": "ansi_cyan",
        "footer-key-background": "ansi_default",
        "footer-item-background": "ansi_default",
        "scrollbar": "ansi_bright_black",
        "scrollbar-hover": "ansi_default",
        "scrollbar-active": "ansi_cyan",
        "scrollbar-background": "ansi_default",
        "scrollbar-background-hover": "ansi_default",
        "scrollbar-background-active": "ansi_default",
        "scrollbar-corner-color": "ansi_default",
        "markdown-h1-color": "ansi_yellow",
        "markdown-h2-color": "ansi_yellow",
        "markdown-h3-color": "ansi_cyan",
        "markdown-h4-color": "ansi_cyan",
        "markdown-h5-color": "ansi_default",
        "markdown-h6-color": "ansi_default",
        "markdown-h1-text-style": "bold underline",
        "markdown-h2-text-style": "bold",
        "markdown-h4-text-style": "bold",
        "quiet": "ansi_default",
        "mine": "ansi_yellow",
    },
)

THEMES = {
    "dark": DARK,
    "light": LIGHT,
    "sepia": SEPIA,
    "contrast-dark": CONTRAST_DARK,
    "contrast-light": CONTRAST_LIGHT,
    "terminal": TERMINAL,
}
"""Themes by the value of `ui.theme`."""


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
        for theme in THEMES.values():
            self._app.register_theme(theme)
        self.apply_theme()
        self._app.stylesheet.set_variables(self._app.get_css_variables())
        self.apply_motion()
        self.apply_density()
        self.apply_keys()
        self.apply_locale()

    def apply_theme(self) -> None:
        self._app.theme = THEMES[self._app.desk.settings.ui.theme].name

    def apply_motion(self) -> None:
        still = self._app.desk.settings.ui.reduced_motion
        self._app.animation_level = "none" if still else "full"
        shown = self._app.screen.focused if self._app.screen_stack else None
        if isinstance(shown, Input | TextArea):
            shown.cursor_blink = not still

    def apply_density(self) -> None:
        """Sets the class that the style sheets look for, and applies them to all screens."""
        compact = self._app.desk.settings.ui.density == "compact"
        if compact != self._app.has_class("-compact"):
            self._app.set_class(compact, "-compact")
            self._app.refresh_css(animate=False)

    def focused(self, widget: Widget) -> None:
        """Stops the cursor of a newly focused widget from blinking if motion is reduced."""
        if isinstance(widget, Input | TextArea) and self._app.desk.settings.ui.reduced_motion:
            widget.cursor_blink = False

    def apply_keys(self) -> None:
        self._app.set_keymap(keymap.bound(self._app.keys))

    def apply_locale(self) -> None:
        wanted = self._app.desk.settings.ui.locale
        locale.use_formats(wanted or locale.locale_of(self._app.desk.settings_file.environ))

    def words_of(self, binding: Binding) -> str | None:
        """Returns the text for the key of a binding, or None to use Textual's own text."""
        if binding.key.startswith(keymap.UNBOUND):
            return ""
        return key_words(binding.key) if binding.id in self._app.keys else None
