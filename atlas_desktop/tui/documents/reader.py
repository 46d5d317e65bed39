"""The reader: the text of one document of any length, with search, quotations and an outline."""

import asyncio
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widgets import Input, Static

from atlas_desktop.locale import _, number
from atlas_desktop.parsing.protocol import MARKDOWN, PDF, PageView
from atlas_desktop.phrases import place_text
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.dialogs.questions import Choice, PickScreen
from atlas_desktop.tui.documents.rows import AskAbout, quoted, title_text
from atlas_desktop.tui.exports import copy_out
from atlas_desktop.tui.notes.adding import add_to_note, of_document
from atlas_desktop.tui.notes.editor import NotePreview
from atlas_desktop.tui.pictures import PictureScreen, can_show
from atlas_desktop.tui.textual_workarounds import SparingScreen
from atlas_desktop.tui.widgets import CleanInput, Covering, KeyLine
from memory.documents.entities import Heading
from memory.errors import MemoryFault, RoomClosed
from memory.jobs.foreground_gate import Gently

if TYPE_CHECKING:
    from atlas_desktop.parsing.protocol import PagePicture
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from memory.documents.entities import Document


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
    for page, start in enumerate(here, first + 1):
        yield start, (pages[page] if page < last else end), page


def _blocks(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields ranges of whole lines."""
    if begin == end:
        # An empty page also has a mark.
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
    # In pieces, because a match holds the interpreter's lock and a line may have millions of characters.
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
            # Spaces at the end of a row may extend beyond it.
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
        """The match that is shown."""
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

    def shows(self, position: int) -> bool:
        """Whether a position is in view."""
        row = self._rows.row_at(position) if self._rows.begin <= position <= self._rows.end else -1
        return round(self.scroll_y) <= row < round(self.scroll_y) + self.size.height - 1

    def show_range(self, begin: int) -> None:
        """Scrolls to a position unless it is in view."""
        if not self.shows(begin):
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
        self.virtual_size = Size(self.scrollable_content_region.width, len(rows))
        self.scroll_to(y=rows.first_row_of(position), animate=False, force=True, immediate=True)
        self.refresh()
        self.post_message(self.Moved())

    @property
    def laid_out(self) -> bool:
        """Whether the whole text is laid out."""
        return (self._rows.begin, self._rows.end) == (0, len(self._page.text))

    def on_resize(self, _event: events.Resize) -> None:
        # The size may still include the place of the scrollbar.
        columns = min(self.scrollable_content_region.width - _MARGIN, WIDEST)
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


MOST = 20_000
"""Matches that are counted and marked."""
_PIECE = 32_768
"""Characters that are searched at a time: a search holds the interpreter's lock, and keys wait for it."""
_OVERLAP = 1_000


def matches(text: str, words: str, position: int = 0) -> list[tuple[int, int]]:
    """Returns the ranges of the words in the text, in order: at most `MOST`, those after a position first.

    Capital letters and the kind of space do not matter.
    """
    parts = words.split()
    if not parts:
        return []
    pattern = re.compile(r"\s+".join(map(re.escape, parts)), re.IGNORECASE)
    after = _matches(pattern, text, position, len(text), MOST)
    return _matches(pattern, text, 0, position, MOST - len(after)) + after


def _matches(pattern: "re.Pattern[str]", text: str, begin: int, end: int, most: int) -> list[tuple[int, int]]:
    """Returns the first matches that begin in a range."""
    found: list[tuple[int, int]] = []
    after = begin
    for at in Gently(range(begin, end, _PIECE)):
        stop = min(at + _PIECE, end)
        for match in pattern.finditer(text, max(at, after), stop + _OVERLAP):
            if match.start() >= stop or len(found) == most:
                break
            found.append(match.span())
            after = match.end()
    return found


def next_match(found: Sequence[tuple[int, int]], position: int, step: int) -> int:
    """Returns the index of the first match after (`step` 1) or the last one before (-1) a position; wraps."""
    at = bisect_left(found, (position, position)) if step < 0 else bisect_left(found, (position + 1, 0))
    return (at if step > 0 else at - 1) % len(found)


_ABOVE = 4
"""Rows shown above a passage."""
_TYPED = ("back",)
_LONGEST_ASKED = 4_000
"""Characters of a selection that are put into the prompt."""


class ReaderScreen(Covering, SparingScreen[AskAbout | None]):
    """Dismissed with what to ask, or None.

    It opens at the range `passage`, which is marked. If the document has changed since the passage was
    cited, its `quote` is looked for instead. Without a passage, Markdown that Atlas has written, such as the
    report of a task, is shown formatted.
    """

    CSS_PATH = "documents.tcss"
    where = Where.READER
    AUTO_FOCUS = "DocumentText"
    BINDINGS = [*bindings(Where.READER)]  # noqa: RUF012

    def __init__(
        self,
        app: "BaseApp",
        room: "RoomServices",
        document_id: str,
        *,
        passage: tuple[int, int] | None = None,
        quote: str = "",
        current: bool = True,
    ) -> None:
        super().__init__(app.size.width)
        self.atlas = app
        self._room = room
        self._document_id = document_id
        self._passage = passage
        self._quote = quote
        self._current = current
        self._document: Document | None = None
        self._page = Page("")
        self._shown_words = ""
        self._title = Static("", id="title", markup=False)
        self._note = Static("", id="note", markup=False)
        self.view = DocumentText(self._run, id="text")
        self._preview = NotePreview(self._run_preview)
        self._preview_box = VerticalScroll(self._preview, id="preview-box")
        self._field = CleanInput(
            placeholder=_("Search in this document · Enter finds, Esc closes"),
            id="search",
            select_on_focus=False,
        )

    def compose(self) -> ComposeResult:
        yield self._title
        yield self._note
        yield self._field
        yield self.view
        yield self._preview_box
        yield KeyLine()

    def on_mount(self) -> None:
        self.atlas.attempt(self._read, group="reader", exclusive=True)

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw_preview)

    def _run(self, work: object) -> None:
        self.atlas.attempt(work, group="reader-layout", exclusive=True)  # type: ignore[arg-type]

    def _run_preview(self, work: object) -> None:
        self.atlas.attempt(work, group="reader-preview", exclusive=True)  # type: ignore[arg-type]

    async def _read(self) -> None:
        store = self._room.store.documents
        try:
            document = await store.get(self._document_id)
            text = await store.text(self._document_id) or ""
            pages = await store.pages(self._document_id)
        except RoomClosed:
            # The screen closes together with its room.
            if self in self.app.screen_stack:
                raise
            return
        except MemoryFault:
            self.dismiss(None)
            raise
        if not self.is_attached:
            return
        self._document = document
        self._page = Page(text, pages, document.headings)
        passage = self._found_again(text)
        self.view.passage = passage
        self.view.show(self._page, 0)
        if passage is not None:
            self.view.go_to(passage[0], above=_ABOVE)
        if not text:
            self._tell_note(_("No text was read from this document."))
        if self._is_markdown and not document.path and passage is None:
            self.action_reader_preview()
        self._tell()

    def _found_again(self, text: str) -> tuple[int, int] | None:
        """Returns the range of the passage, also in a document that has changed since it was cited."""
        if self._passage is None or self._current:
            return self._passage
        begin = text.find(self._quote) if self._quote else -1
        self._tell_note(
            _("The document has changed since it was cited. The passage is marked where it is now.")
            if begin >= 0
            else _("The document has changed since it was cited, and no longer contains the passage.")
        )
        return (begin, begin + len(self._quote)) if begin >= 0 else None

    # --- display ----------------------------------------------------------------------------------

    def _tell_note(self, words: str) -> None:
        self._note.update(Content(words))
        self._note.set_class(bool(words), "-shown")

    def _tell(self) -> None:
        """Updates the title line and the footer."""
        self._tell_title()
        self.refresh_bindings()

    def _tell_title(self) -> None:
        if self._document is None or not self._title.is_attached:
            return
        parts = [title_text(self._document)]
        if pages := self._page.pages:
            here = max(bisect_right(pages, self.view.top), 1)
            parts.append(_("page {page} of {pages}", page=number(here), pages=number(len(pages))))
        elif self._page.text and not self._previewed:
            parts.append(f"{self.view.top / len(self._page.text):.0%}")
        if self.view.found:
            total = number(len(self.view.found)) + ("+" if len(self.view.found) == MOST else "")
            at = bisect_right(self.view.found, self.view.current) if self.view.current else 0
            parts.append(_("match {at} of {total}", at=number(at), total=total))
        elif self._shown_words:
            parts.append(_("no matches for “{words}”", words=clean_line(self._shown_words)))
        self._title.update(Content(" · ".join(parts)), layout=False)

    def on_document_text_moved(self) -> None:
        self._tell_title()

    # --- preview ----------------------------------------------------------------------------------

    @property
    def _is_markdown(self) -> bool:
        return self._document is not None and self._document.media_type.startswith(MARKDOWN)

    @property
    def _previewed(self) -> bool:
        return self.has_class("-preview")

    def action_reader_preview(self) -> None:
        """Shows Markdown formatted, or its source."""
        self.set_class(not self._previewed, "-preview")
        self.set_focus(self._preview_box if self._previewed else self.view)
        self.call_after_refresh(self._draw_preview)
        self.refresh_bindings()

    def _draw_preview(self) -> None:
        if self._previewed:
            self._preview.show(self._page.text, ())

    def _show_written(self) -> None:
        if self._previewed:
            self.action_reader_preview()

    # --- search -----------------------------------------------------------------------------------

    def action_reader_search(self) -> None:
        self._show_written()
        self._field.add_class("-shown")
        self._field.focus()
        # The next word replaces the earlier one.
        self._field.action_select_all()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.view.focus()
        words = event.value.strip()
        if words == self._shown_words and self.view.found:
            self._step(1)
        else:
            self.atlas.attempt(partial(self._find, words), group="reader", exclusive=True)

    async def _find(self, words: str) -> None:
        page = self._page
        found = await asyncio.to_thread(matches, page.text, words, self.view.top)
        if not self.is_attached or page is not self._page:
            return
        self._shown_words = words
        self.view.found, self.view.current = found, None
        self.view.refresh()
        if found:
            self._step(1, first=True)
        self._tell()

    def action_reader_next(self) -> None:
        self._step(1)

    def action_reader_previous(self) -> None:
        self._step(-1)

    def _step(self, by: int, *, first: bool = False) -> None:
        found = self.view.found
        if not found:
            return
        position = self.view.current[0] if self.view.current else self.view.top - (1 if first else 0)
        self.view.current = found[next_match(found, position, by)]
        self.view.show_range(self.view.current[0])
        self.view.refresh()
        self._tell()

    # --- quotations -------------------------------------------------------------------------------

    @property
    def _chosen(self) -> tuple[int, int] | None:
        """The range to copy or ask about: the selection, the line of the current match, or the passage."""
        if (selected := self.view.selected) is not None:
            return selected
        if (current := self.view.current) is not None:
            begin = self._page.text.rfind("\n", 0, current[0]) + 1
            end = self._page.text.find("\n", current[1])
            return begin, len(self._page.text) if end < 0 else end
        return self.view.passage

    def _place(self, begin: int, end: int) -> str:
        pages, text = self._page.pages, self._page.text
        page = bisect_right(pages, begin) if pages else None
        first = text.count("\n", 0, begin) + 1
        return place_text(page, (first, first + text.count("\n", begin, max(end - 1, begin))))

    def _cited(self, begin: int, end: int) -> str:
        """Returns a range of the text as a quotation with its source."""
        assert self._document is not None
        text = clean(self._page.text[begin:end])
        return quoted(text, f"{title_text(self._document)}, {self._place(begin, end)}")

    def action_reader_note(self) -> None:
        """Makes a note of the chosen text, or of the document, or adds it to one."""
        if self._document is None:
            return
        title = title_text(self._document)
        source = of_document(self._document, title)
        if (chosen := self._chosen) is not None:
            text = clean(self._page.text[slice(*chosen)])
            source = of_document(self._document, title, self._place(*chosen), text)
        self.atlas.attempt(partial(add_to_note, self.atlas, self._room, source), group="reader-note")

    def action_reader_copy(self) -> None:
        if (chosen := self._chosen) is None:
            self.atlas.say(_("Select text first: with the mouse, or with Shift and the arrow keys."))
            return
        copied = copy_out(
            self.atlas, self._room.store.room, self._cited(*chosen), _("Copied, with its source.")
        )
        self.atlas.attempt(copied, group="reader-copy")

    def action_reader_ask(self) -> None:
        if self._document is None:
            return
        quote = ""
        if (chosen := self._chosen) is not None:
            begin, end = chosen
            quote = self._cited(begin, min(end, begin + _LONGEST_ASKED))
        self.dismiss(AskAbout((self._document,), self._room.store.room, quote))

    # --- pages as pictures ------------------------------------------------------------------------

    @property
    def _has_pictures(self) -> bool:
        """Whether pages can be shown as they look, here."""
        document, there = self._document, bool(self._page.pages)
        return there and document is not None and document.media_type == PDF and can_show(self.atlas)

    def action_reader_picture(self) -> None:
        """Shows the page in view as a picture; the text follows to the page that was shown last."""
        assert self._document is not None
        marked = self.view.selected or self.view.current or self.view.passage
        begin = self.view.top if marked is None or not self.view.shows(marked[0]) else marked[0]
        first = max(bisect_right(self._page.pages, begin), 1)

        async def draw(page: int, width: int) -> "PagePicture":
            view = PageView(page, width, self._on_page(marked, page))
            return await self._room.documents.draw(self._document_id, view)

        def left(page: int | None) -> None:
            if page is not None and page != first:
                self.view.go_to(self._page.pages[page - 1])

        title = title_text(self._document)
        self.app.push_screen(PictureScreen(self.atlas, title, draw, page=first), left)

    def _on_page(self, marked: tuple[int, int] | None, page: int) -> str:
        """Returns the part of a range of the text that is on a page."""
        if marked is None:
            return ""
        bounds = (*self._page.pages, len(self._page.text))
        return self._page.text[max(marked[0], bounds[page - 1]) : min(marked[1], bounds[page])]

    # --- navigation -------------------------------------------------------------------------------

    def action_reader_outline(self) -> None:
        if not self._page.headings:
            self.atlas.say(_("This document has no headings."))
            return
        self.atlas.attempt(self._choose_heading, group="reader", exclusive=True)

    async def _choose_heading(self) -> None:
        choices = [
            Choice(str(one.begin), f"{'· ' * (one.level - 1)}{clean_line(one.text)}")
            for one in self._page.headings
        ]
        chosen = await self.atlas.push_screen_wait(PickScreen(_("Outline"), choices))
        if chosen is not None:
            self._show_written()
            self.view.go_to(int(chosen))

    def action_reader_back(self) -> None:
        """Closes the search field, ends the selection, ends the search, then closes the reader."""
        if self._field.has_class("-shown"):
            self._field.remove_class("-shown")
            self._field.value = ""
            self.view.focus()
        elif self.view.clear_selected():
            return
        elif self._shown_words:
            self._shown_words = ""
            self.view.found, self.view.current = (), None
            self.view.refresh()
            self._tell()
        else:
            self.dismiss(None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        deed = action.removeprefix("reader_")
        if deed == action:
            return super().check_action(action, parameters)
        if self._field.has_focus and deed not in _TYPED:
            return False
        if deed in ("next", "previous"):
            return bool(self.view.found)
        if deed == "picture":
            return self._has_pictures
        if deed == "preview":
            return self._is_markdown
        return deed != "outline" or bool(self._page.headings)
