"""Shows the text of a document, of any length: only the rows in view are drawn.

Positions are characters of the text, from 0.
"""

import asyncio
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean
from memory.documents.entities import Heading
from memory.jobs.foreground_gate import Gently

TAB = 4
"""Cells of a tab."""
_BLOCK = 16_384
_PLAIN = re.compile(r"[\n -~\u00a0-\u02ff\u0370-\u0373\u0376-\u0482\u2010-\u2027\u2030-\u205e]*")
"""Text of which every character takes one cell."""


@dataclass(slots=True)
class Rows:
    """The rows of the part of a text from `begin` to `end`.

    `starts` is where each row begins. Where a page begins, its mark is a row of its own with the same start
    as the text below it; `marks` maps such rows to the number of the page, counted from 1.
    """

    begin: int
    end: int
    starts: "array[int]" = field(default_factory=lambda: array("q"), repr=False)
    marks: dict[int, int] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.starts)

    def range_of(self, row: int) -> tuple[int, int]:
        """Returns the range of a row, its line break included."""
        after = self.starts[row + 1] if row + 1 < len(self.starts) else self.end
        return self.starts[row], after

    def row_at(self, position: int) -> int:
        """Returns the row of text that contains a position, or the nearest one."""
        return max(bisect_right(self.starts, position) - 1, 0)

    def first_row_of(self, position: int) -> int:
        """Returns the row that begins at a position: the mark of a page, if one begins there."""
        row = bisect_left(self.starts, position)
        return row if row < len(self.starts) and self.starts[row] == position else self.row_at(position)


def wrapped(
    text: str,
    width: int,
    pages: Sequence[int] = (),
    begin: int = 0,
    end: int | None = None,
    *,
    gently: bool = False,
) -> Rows:
    """Returns the rows of a text (or the part of it from `begin` to `end`) at a width in cells.

    Lines break at spaces if they can. `pages` is where the pages begin. The result does not depend on where
    the part begins if that is the beginning of a line. With `gently` it lets other threads run in between.
    """
    stop = len(text) if end is None else end
    rows = Rows(begin, stop)
    blocks = [
        (first, last, page if first == start else 0)
        for start, after, page in _stretches(pages, begin, stop)
        for first, last in _blocks(text, start, after)
    ]
    for first, last, page in Gently(blocks) if gently else blocks:
        if page:
            rows.marks[len(rows.starts)] = page
            rows.starts.append(first)
        rows.starts.extend(_starts(text, first, last, max(width, 1)))
    return rows


def _stretches(pages: Sequence[int], begin: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yields the part of each page: its range, and the number of the page if it begins there, else 0."""
    first = bisect_left(pages, begin)
    # The last page may be empty, and begin at the very end of the text.
    last = len(pages) if end >= (pages[-1] if pages else 0) else bisect_left(pages, end)
    here = pages[first:last]
    if not here or here[0] > begin:
        yield begin, (here[0] if here else end), 0
    for number, start in enumerate(here, first + 1):
        yield start, (pages[number] if number < last else end), number


def _blocks(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields ranges of whole lines."""
    if begin == end:
        # An empty page has a mark, too.
        yield begin, end
    while begin < end:
        after = min(begin + _BLOCK, end)
        if after < end:
            after = text.find("\n", after, end) + 1 or end
        yield begin, after
        begin = after


@lru_cache(maxsize=8)
def _breaking(width: int) -> "re.Pattern[str]":
    """Matches one row: the rest of a line, as many words as fit, or as many characters as fit."""
    return re.compile(rf"[^\n]{{0,{width}}}(?:\n|\Z)|[^\n]{{1,{width}}} +\n?|[^\n]{{{width}}}")


def _is_plain(text: str, begin: int, end: int) -> bool:
    # In pieces: a match holds the interpreter, and a line may have millions of characters.
    pieces = range(begin, end, _BLOCK)
    return all(_PLAIN.fullmatch(text, at, min(at + _BLOCK, end)) is not None for at in pieces)


def _starts(text: str, begin: int, end: int, width: int) -> Iterator[int]:
    pattern = _breaking(width)
    if _is_plain(text, begin, end):
        yield from (m.start() for m in pattern.finditer(text, begin, end) if m.end() > m.start())
        return
    while begin < end:
        after = text.find("\n", begin, end) + 1 or end
        if _is_plain(text, begin, after):
            yield from (m.start() for m in pattern.finditer(text, begin, after) if m.end() > m.start())
        else:
            yield from _starts_of_wide(text, begin, after, width)
        begin = after


def _starts_of_wide(text: str, begin: int, end: int, width: int) -> Iterator[int]:
    """Yields the starts of the rows of one line in which characters take none, one, two or more cells."""
    yield begin
    used, space = 0, -1
    for at in range(begin, end):
        sign = text[at]
        if sign == "\n":
            return
        cells = cells_of(sign)
        if sign == " ":
            # Spaces at the end of a row may stand beyond it.
            used, space = used + 1, at
            continue
        while used + cells > width and at > begin:
            begin = space + 1 if space >= begin else at
            yield begin
            used, space = sum(cells_of(text[i]) for i in range(begin, at)), -1
        used += cells


@lru_cache(maxsize=4096)
def cells_of(sign: str) -> int:
    """Returns the cells that a character takes."""
    return TAB if sign == "\t" else cell_len(sign)


WIDEST = 100
"""Cells of the longest row: longer ones are hard to read."""
_MARGIN = 2
_SOLID = ("document-text--passage", "document-text--selected")
"""Styles with a background."""
_NEAR = 20_000
"""Characters before and after the view that are laid out at once; the others follow in a thread."""

Run = Callable[[Callable[[], Coroutine[Any, Any, None]]], object]
"""Runs work in the background; newer work replaces work that is still running."""


@dataclass(frozen=True, slots=True)
class Page:
    """What is shown: a text, where its pages begin, and its headings."""

    text: str
    pages: tuple[int, ...] = ()
    headings: tuple[Heading, ...] = ()


class DocumentText(ScrollView, can_focus=True):
    """Has no cursor; a range of the text can be selected with the mouse, or with Shift and the arrow keys.

    All positions are characters of the text.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "document-text--page",
        "document-text--heading",
        "document-text--passage",
        "document-text--found",
        "document-text--current",
        "document-text--selected",
        "document-text--sign",
    }
    DEFAULT_CSS = """
    DocumentText {
        width: 1fr;
        height: 1fr;
        background: $background;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        & > .document-text--page { color: $quiet; }
        & > .document-text--heading { text-style: bold; color: $primary; }
        & > .document-text--passage { background: $accent 25%; }
        & > .document-text--found { text-style: underline; color: $accent; }
        & > .document-text--current { text-style: bold reverse; }
        & > .document-text--selected {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
        }
        & > .document-text--sign { color: $accent; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("shift+down", "extend(1)", show=False),
        Binding("shift+up", "extend(-1)", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("j", "scroll_down", show=False),
        Binding("space", "page_down", show=False),
    ]

    class Moved(Message):
        """The view shows another part of the text."""

    def __init__(self, run: Run, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._run = run
        self._page = Page("")
        self._heading_begins: list[int] = []
        self._rows = Rows(0, 0)
        self._columns = 0
        self._wanted: int | None = None
        """The position to show at the top once the widget has a size."""
        self.passage: tuple[int, int] | None = None
        self.found: Sequence[tuple[int, int]] = ()
        self.current: tuple[int, int] | None = None
        """The match that is looked at."""
        self._marked: tuple[int, int] | None = None

    # --- content ----------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        return self._page.text

    def show(self, page: Page, position: int = 0) -> None:
        """Shows a text from a position on."""
        self._page = page
        self._heading_begins = [heading.begin for heading in page.headings]
        self.found, self.current, self._marked = (), None, None
        self._wanted = position
        self._lay_out()

    @property
    def top(self) -> int:
        """The position of the first character in view."""
        if self._wanted is not None:
            return self._wanted
        if not len(self._rows):
            return 0
        return self._rows.starts[min(round(self.scroll_y), len(self._rows) - 1)]

    def go_to(self, position: int, *, above: int = 0) -> None:
        """Shows a position, with some rows above it."""
        if not self._columns or not self._rows.begin <= position <= self._rows.end:
            self._wanted = position
            self._lay_out()
        row = self._rows.first_row_of(position) if not above else self._rows.row_at(position)
        self.scroll_to(y=max(row - above, 0), animate=False, force=True, immediate=True)

    def show_range(self, begin: int) -> None:
        """Scrolls to a position unless it is in view."""
        row = self._rows.row_at(begin) if self._rows.begin <= begin <= self._rows.end else -1
        if not round(self.scroll_y) <= row < round(self.scroll_y) + self.size.height - 1:
            self.go_to(begin, above=max(self.size.height // 4, 1))

    # --- layout -----------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        """Lays out the text around the top of the view now, and all of it in the background."""
        if not self._columns:
            return
        text, position, width = self._page.text, self.top, self._columns
        begin = max(text.rfind("\n", max(position - _NEAR, 0), position) + 1, position - _NEAR, 0)
        end = text.find("\n", min(position + _NEAR, len(text)), position + 2 * _NEAR) + 1
        end = end or min(position + 2 * _NEAR, len(text))
        if len(text) <= _NEAR:
            begin, end = 0, len(text)
        self._take(wrapped(text, width, self._page.pages, begin, end), position)
        if (begin, end) != (0, len(text)):
            self._run(self._lay_out_all)

    async def _lay_out_all(self) -> None:
        page, width = self._page, self._columns
        rows = await asyncio.to_thread(wrapped, page.text, width, page.pages, gently=True)
        if page is self._page and width == self._columns and self.is_attached:
            self._take(rows, self.top)

    def _take(self, rows: Rows, position: int) -> None:
        self._rows, self._wanted = rows, None
        self.virtual_size = Size(self.size.width, len(rows))
        self.scroll_to(y=rows.first_row_of(position), animate=False, force=True, immediate=True)
        self.refresh()
        self.post_message(self.Moved())

    @property
    def laid_out(self) -> bool:
        """Whether the whole text is laid out."""
        return (self._rows.begin, self._rows.end) == (0, len(self._page.text))

    def on_resize(self, _event: events.Resize) -> None:
        columns = min(self.size.width - _MARGIN, WIDEST)
        if columns > 0 and columns != self._columns:
            if self._wanted is None:
                self._wanted = self.top
            self._columns = columns
            self._lay_out()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self.post_message(self.Moved())

    # --- selection --------------------------------------------------------------------------------

    @property
    def selected(self) -> tuple[int, int] | None:
        """The selected range, if any."""
        selection = self.text_selection
        if selection is not None and len(self._rows):
            begin = 0 if selection.start is None else self._position(selection.start.y, selection.start.x)
            end = (
                self._rows.end if selection.end is None else self._position(selection.end.y, selection.end.x)
            )
            if end > begin:
                return begin, end
        return self._marked

    def _position(self, row: int, column: int) -> int:
        """Returns the position of a character in a row as it is drawn, in which a tab is several."""
        begin, end = self._rows.range_of(min(max(row, 0), len(self._rows) - 1))
        for at in range(begin, end):
            if column <= 0:
                return at
            column -= TAB if self._page.text[at] == "\t" else 1
        return end

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        del selection
        found = self.selected
        return None if found is None else (clean(self._page.text[slice(*found)]), "\n")

    def selection_updated(self, selection: Selection | None) -> None:
        if selection is not None:
            self._marked = None
        self.refresh()

    def action_extend(self, by: int) -> None:
        """Selects one row more or less; begins at the current match, or at the first row in view."""
        if not len(self._rows):
            return
        if self._marked is None:
            first = self.current or self.passage
            top = round(self.scroll_y)
            row = self._rows.row_at(first[0]) if first is not None else top
            if not top <= row < top + self.size.height:
                row = top
            begin = self._rows.starts[row]
            self._marked = begin, self._rows.range_of(self._rows.row_at(begin))[1]
        else:
            begin, end = self._marked
            last = max(self._rows.row_at(end - 1) + by, self._rows.row_at(begin))
            self._marked = begin, self._rows.range_of(min(last, len(self._rows) - 1))[1]
        self.show_range(self._marked[1] - 1)
        self.refresh()

    def clear_selected(self) -> bool:
        """Ends the selection; returns whether there was one."""
        there = self.selected is not None
        self._marked = None
        self.screen.clear_selection()
        self.refresh()
        return there

    # --- drawing ----------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        row, width = round(self.scroll_y) + y, self.size.width
        plain = self.rich_style
        if row >= len(self._rows):
            return Strip.blank(width, plain)
        if (page := self._rows.marks.get(row)) is not None:
            style = plain + self._style("page")
            words = f"── {_('Page {page}', page=page)} "
            return Strip(
                [Segment(" " * _MARGIN + words.ljust(self._columns + 2, "─")[: self._columns], style)]
            ).adjust_cell_length(width, plain)
        begin, end = self._rows.range_of(row)
        segments = self._segments(begin, end, plain)
        strip = Strip(segments).adjust_cell_length(max(width - _MARGIN, 0), plain).apply_offsets(0, row)
        sign = "▌ " if _overlap(self.passage, begin, end) else "  "
        return Strip([Segment(sign, plain + self._style("sign")), *strip]).adjust_cell_length(width, plain)

    def _segments(self, begin: int, end: int, plain: Style) -> list[Segment]:
        """Returns the pieces of a row between which the style changes."""
        text = self._page.text
        if end > begin and text[end - 1] == "\n":
            end -= 1
        selected = self.selected
        near = [one for one in (self.passage, self.current, selected) if _overlap(one, begin, end)]
        found = self._found_in(begin, end)
        heading = self._heading_at(begin)
        cuts = {begin, end}
        for one in (*near, *found):
            if one is not None:
                cuts |= {min(max(at, begin), end) for at in one}
        points = sorted(cuts)
        made: list[Segment] = []
        for first, last in pairwise(points):
            style = plain
            if _overlap(self.passage, first, last):
                style += self._style("passage")
            if heading:
                style += self._style("heading")
            if any(_overlap(one, first, last) for one in found):
                style += self._style("found")
            if _overlap(self.current, first, last):
                style += self._style("current")
            if _overlap(selected, first, last):
                style += self._style("selected")
            made.append(Segment(clean(text[first:last]).replace("\t", " " * TAB), style))
        return made

    def _found_in(self, begin: int, end: int) -> Sequence[tuple[int, int]]:
        if not self.found:
            return ()
        first = max(bisect_left(self.found, (begin, 0)) - 1, 0)
        last = bisect_right(self.found, (end, 0))
        return [one for one in self.found[first:last] if _overlap(one, begin, end)]

    def _heading_at(self, begin: int) -> bool:
        """Whether a row belongs to the line of a heading."""
        at = bisect_right(self._heading_begins, begin) - 1
        if at < 0:
            return False
        after = self._page.text.find("\n", self._heading_begins[at], begin + 1)
        return after == -1 or after >= begin

    def _style(self, name: str) -> Style:
        name = f"document-text--{name}"
        if name in _SOLID:
            # A partial style would not mix a colour with what is below it.
            return self.get_visual_style(name).rich_style
        return self.get_component_rich_style(name, partial=True)


def _overlap(one: tuple[int, int] | None, begin: int, end: int) -> bool:
    return one is not None and one[0] < end and begin < one[1]
