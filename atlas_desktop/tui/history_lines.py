"""Which line of a long list belongs to which of its rows. Of values alone."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping
from datetime import datetime

from atlas_desktop.tui.history_rows import group
from memory.search.entities import SessionHit

LINES = 2
"""Lines of a row; the first row of a group has its heading above."""


class Lines:
    """Rows from 0 to `total`, of which some are known. A heading is known where two neighbours are."""

    def __init__(self, now: datetime, total: int = 0, *, grouped: bool = True, pins: bool = True) -> None:
        self.rows: dict[int, SessionHit] = {}
        self.words: dict[int, str] = {}
        """Headings, by the row that they stand above."""
        self.total = total
        self._headings: list[int] = []
        self._now = now
        self._grouped = grouped
        self._pins = pins

    def add(self, rows: Mapping[int, SessionHit]) -> None:
        self.rows.update(rows)
        if not self._grouped:
            return
        for index in sorted({at for row in rows for at in (row, row + 1)}):
            hit, above = self.rows.get(index), self.rows.get(index - 1)
            if hit is None or (index and above is None) or index in self.words:
                continue
            word = group(hit.session, self._now, pins=self._pins)
            if above is None or word != group(above.session, self._now, pins=self._pins):
                self.words[index] = word
                insort(self._headings, index)

    @property
    def height(self) -> int:
        return LINES * self.total + len(self._headings)

    def headings_to(self, row: int) -> int:
        """How many headings stand above a row, its own among them."""
        return bisect_right(self._headings, row)

    def top(self, row: int) -> int:
        """The first line of a row; that of its heading, if it has one."""
        return LINES * row + bisect_left(self._headings, row)

    def row_at(self, line: int) -> int:
        """The row that a line belongs to; the nearest for one outside."""
        found = bisect_right(range(self.total), line, key=self.top) - 1
        return min(max(found, 0), max(self.total - 1, 0))
