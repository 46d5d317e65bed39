"""Builds the text of a document piece by piece, with the places of headings, tables and pages."""

import re
from collections.abc import Iterable, Sequence

from atlas_desktop.errors import DocumentRefused, Refusal
from atlas_desktop.services.cleaning import clean, clean_line
from memory.documents.entities import Heading, ParsedText, Table

MOST_CHARACTERS = 20_000_000
MOST_PAGES = 20_000
_SPACES = re.compile(r"[ \t\u00a0]+$", re.MULTILINE)
_BLANK = re.compile(r"\n{4,}")
CELLS = " | "


def tidy(text: str) -> str:
    r"""Returns text with line ends as \n, without control characters, spaces at line ends, and runs of more
    than two blank lines."""
    text = clean(text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n"))
    return _BLANK.sub("\n\n\n", _SPACES.sub("", text)).strip("\n")


class TextBuilder:
    """The text so far. Paragraphs are separated by a blank line. Raises `DocumentRefused` when there is too
    much of it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._parts: list[str] = []
        self._length = 0
        self._headings: list[Heading] = []
        self._tables: list[Table] = []
        self._pages: list[int] = []
        self._blank: list[int] = []
        self._page_begins = 0

    def paragraph(self, text: str) -> None:
        """Adds a paragraph, or several lines; nothing if it is blank."""
        self._add(tidy(text))

    def heading(self, level: int, text: str) -> None:
        line = clean_line(text)
        if line:
            begin = self._add(line)
            self._headings.append(Heading(max(1, min(level, 9)), line, begin))

    def table(self, rows: Iterable[Sequence[str]], *, header: bool = True) -> None:
        """Adds a table, one line per row, without rows that are empty."""
        lines = []
        for row in rows:
            cells = [clean_line(cell) for cell in row]
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                lines.append(CELLS.join(cells).strip())
        if not lines:
            return
        begin = self._add("\n".join(lines))
        header_end = begin + len(lines[0]) if header and len(lines) > 1 else begin
        self._tables.append(Table(begin, self._length, header_end))

    def page(self) -> None:
        """Begins a page."""
        self._end_page()
        if len(self._pages) >= MOST_PAGES:
            raise DocumentRefused(self._name, Refusal.TOO_MANY_PAGES, MOST_PAGES)
        self._page_begins = self._length
        # What follows is separated from the page before.
        self._pages.append(self._length + (2 if self._length else 0))

    def mark(self, level: int, text: str, offset: int) -> None:
        """Notes a heading that stands `offset` characters after the begin of the page."""
        self._headings.append(Heading(max(1, min(level, 9)), text, self._pages[-1] + offset))

    def result(
        self, *, title: str = "", author: str = "", created: str = "", headed: bool = True
    ) -> ParsedText:
        """Returns the text. Without a `title`, it is the first heading, if the text is `headed` by it.

        Raises `DocumentRefused` if there is no text.
        """
        self._end_page()
        if not self._length:
            raise DocumentRefused(self._name, Refusal.PICTURES if self._pages else Refusal.EMPTY)
        headings = tuple(sorted(self._headings, key=lambda one: one.begin))
        first = next((one.text for one in headings if one.level == 1 and headed), "")
        text = "".join(self._parts)
        return ParsedText(
            text=text,
            pages=tuple(min(begin, len(text)) for begin in self._pages),
            headings=headings,
            tables=tuple(self._tables),
            blank_pages=tuple(self._blank),
            title=clean_line(title) or first,
            author=clean_line(author),
            created=clean_line(created),
        )

    def _end_page(self) -> None:
        if self._pages and self._length == self._page_begins:
            self._blank.append(len(self._pages))

    def _add(self, text: str) -> int:
        """Adds tidy text, and returns where it begins."""
        if not text:
            return self._length
        if self._parts:
            self._parts.append("\n\n")
            self._length += 2
        begin = self._length
        self._parts.append(text)
        self._length += len(text)
        if self._length > MOST_CHARACTERS:
            raise DocumentRefused(self._name, Refusal.TOO_MUCH_TEXT, MOST_CHARACTERS)
        return begin
