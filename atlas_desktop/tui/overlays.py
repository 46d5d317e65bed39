"""Shared by screens and windows over the conversation: each closes once and adapts to its width."""

from collections.abc import Callable
from typing import Any, ClassVar, cast

from textual.await_complete import AwaitComplete
from textual.screen import Screen
from textual.widget import Widget


class Covering:
    """A mixin for screens and windows; list it before Textual's own class.

    Textual closes whatever screen is on top when one is dismissed. Keys can arrive before the window has
    closed: a second Enter would close the conversation below it.
    """

    of_rooms: ClassVar[bool] = True
    """Whether it may show content of a room."""
    _ended: tuple[Any] | None = None

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Closes the screen once; if another screen lies over it, as soon as that one has closed."""
        screen = cast("Screen[Any]", self)
        if screen.app.screen is screen:
            return super().dismiss(result)  # type: ignore[misc,no-any-return]
        if screen in screen.app.screen_stack:
            self._ended = (result,)
        return AwaitComplete()

    def on_screen_resume(self) -> None:
        if self._ended is not None:
            (result,), self._ended = self._ended, None
            self.dismiss(result)

    def forget_private(self) -> bool:
        """Clears everything of the private room, which is closing; returns False if the screen must close
        instead."""
        return not self.of_rooms


def fit(screen: Screen[Any], place: Widget, draw: Callable[[], object]) -> None:
    """Calls `draw` after each layout of the screen that changed the width of `place`.

    A screen receives a new size before its widgets do, and for several in a row perhaps only one event.
    """
    drawn_for = 0

    def look(_: Screen[Any]) -> None:
        nonlocal drawn_for
        if place.outer_size.width != drawn_for:
            drawn_for = place.outer_size.width
            screen.call_after_refresh(draw)

    screen.screen_layout_refresh_signal.subscribe(screen, look)
