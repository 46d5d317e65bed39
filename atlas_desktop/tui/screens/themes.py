"""The choice of colours, each shown while it is marked."""

from typing import TYPE_CHECKING

from textual.widgets import OptionList

from atlas_desktop.tui.screens.choice import ChoiceScreen
from atlas_desktop.tui.theme import THEMES
from atlas_desktop.words.catalogue import tr

if TYPE_CHECKING:
    from atlas_desktop.tui.looks import Looks


class ThemeScreen(ChoiceScreen):
    """Keeps what is chosen, unless who asked for it does; leaving takes the earlier colours back."""

    def __init__(self, app: "Looks", *, keep: bool = True) -> None:
        file = app.desk.settings_file
        super().__init__(
            tr("themes.title"),
            {name: tr(f"themes.{name}") for name in THEMES},
            next(name for name, theme in THEMES.items() if theme.name == app.theme),
            hint=tr("themes.hint"),
            about=tr("themes.from_environment") if "ui.theme" in file.given_by_environment else "",
            in_use=tr("themes.in_use"),
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
