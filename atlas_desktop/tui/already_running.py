"""The screen shown while another program holds the home: it names that program and offers another try."""

from collections.abc import Callable

from textual.app import App
from textual.driver import Driver

from atlas_desktop.error_table import explain
from atlas_desktop.errors import AlreadyRunning
from atlas_desktop.tui import appearance as themes
from atlas_desktop.tui.crash_recovery import FailureScreen
from atlas_desktop.tui.terminal import forgiving


class AlreadyRunningApp(App[bool]):
    """Returns True once `take` has locked the home, or None if the user gave up."""

    TITLE = "Atlas"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, theme: str, refusal: AlreadyRunning, take: Callable[[], object]) -> None:
        super().__init__()
        self._refusal = refusal
        self._take = take
        self._tried = 0
        for one in themes.THEMES.values():
            self.register_theme(one)
        self.theme = themes.THEMES[theme].name

    def get_driver_class(self) -> type[Driver]:
        return forgiving(super().get_driver_class())

    async def on_mount(self) -> None:
        await self.push_screen(self._told())

    def _told(self) -> FailureScreen:
        return FailureScreen(
            explain(self._refusal), self._again, self.action_quit, again=True, tried=self._tried
        )

    def _again(self) -> None:
        try:
            self._take()
        except AlreadyRunning as refusal:
            self._refusal = refusal
            self._tried += 1
            self.switch_screen(self._told())
        else:
            self.exit(result=True)
