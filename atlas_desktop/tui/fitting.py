"""What is written for the width of its place is written anew when that has changed."""

from collections.abc import Callable
from typing import Any

from textual.screen import Screen
from textual.widget import Widget


def fit(screen: Screen[Any], place: Widget, draw: Callable[[], object]) -> None:
    """Calls `draw` after each layout of the screen that gave `place` another width.

    A screen is told of a new size before its widgets have theirs, and of several in a row perhaps only once.
    """
    drawn_for = 0

    def look(_: Screen[Any]) -> None:
        nonlocal drawn_for
        if place.outer_size.width != drawn_for:
            drawn_for = place.outer_size.width
            screen.call_after_refresh(draw)

    screen.screen_layout_refresh_signal.subscribe(screen, look)
