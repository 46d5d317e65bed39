"""The line of keys at the bottom of a screen."""

from typing import TYPE_CHECKING

from textual.widgets import Footer

if TYPE_CHECKING:
    from textual.screen import Screen


class KeyLine(Footer):
    """The keys of a screen. Made anew only when others are to be shown: that lays the whole screen out."""

    def __init__(self) -> None:
        super().__init__(compact=True, show_command_palette=False)
        self._shown: list[tuple[str, str, bool]] = []

    def bindings_changed(self, screen: "Screen[object]") -> None:
        if not self.app.app_focus or screen is not self.screen:
            return
        active = screen.active_bindings.values()
        shown = [
            (one.binding.key, one.binding.description, one.enabled) for one in active if one.binding.show
        ]
        if shown != self._shown:
            self._shown = shown
            super().bindings_changed(screen)
