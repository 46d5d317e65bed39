"""A text of any length: its lines are broken beside the loop, and drawn when they are seen."""

import asyncio
from collections.abc import Iterator
from itertools import islice

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from atlas_desktop.services.cleaning import clean

TAB = 8
AT_A_TIME = 2_000
"""Lines: the first are there to be read while the others are broken."""


class LongText(ScrollView, can_focus=True):
    """Shows what is in a text, cleaned, and nothing else. Arrows and pages scroll it."""

    DEFAULT_CSS = """
    LongText { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; overflow-y: auto; }
    """

    def __init__(self, text: str, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._text = text
        self._lines: list[str] = []
        self._width = 0

    def on_resize(self, _event: events.Resize) -> None:
        # The scrollbar has its place whether it is there already or not.
        width = max(self.size.width - 1, 1)
        if width != self._width:
            self._width = width
            self.run_worker(self._break(width), exclusive=True)

    async def _break(self, width: int) -> None:
        text = await asyncio.to_thread(clean, self._text)
        lines, self._lines = broken(text, width), list[str]()
        while more := await asyncio.to_thread(lambda: list(islice(lines, AT_A_TIME))):
            self._lines += more
            self.virtual_size = Size(width, len(self._lines))
            self.refresh()

    def render_line(self, y: int) -> Strip:
        at = y + self.scroll_offset.y
        text = self._lines[at] if at < len(self._lines) else ""
        return Strip([Segment(text, self.rich_style)]).adjust_cell_length(self.size.width, self.rich_style)


def broken(text: str, width: int) -> Iterator[str]:
    """The lines of a text in at most `width` cells, broken at spaces where there are any."""
    for line in text.split("\n"):
        rest, at = line.expandtabs(TAB), 0
        while len(rest) - at > 2 * width or cell_len(rest[at:]) > width:
            piece = chop_cells(rest[at : at + 2 * width], width)[0]
            space = piece.rfind(" ")
            cut = space + 1 if space > 0 else max(len(piece), 1)
            yield rest[at : at + cut].rstrip(" ")
            at += cut
        yield rest[at:]
