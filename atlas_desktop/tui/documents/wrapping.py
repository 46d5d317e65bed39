"""Breaks the text of a document into the rows of a screen.

Positions are characters of the text, from 0.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from rich.cells import cell_len

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
