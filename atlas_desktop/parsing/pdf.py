"""PDF through PDFium: text page by page in reading order, bookmarks as headings."""

import ctypes
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import pypdfium2
from pypdfium2 import raw

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing.building import TextBuilder, one_line, tidy
from atlas_desktop.parsing.protocol import (
    MOST_CHARACTERS,
    MOST_PAGES,
    MOST_PIXELS,
    PagePicture,
    PageView,
    Pixels,
    Unreadable,
)
from memory.documents.entities import ParsedText

_MOST_BOOKMARKS = 20_000
_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?(?:(\d{2})(\d{2})(\d{2}))?")
# Placeholders that programs write as the title.
_NO_TITLE = re.compile(
    r"untitled.*|unknown|microsoft \w+ -.*|.*\.(?:docx?|pdf|indd|tex|dvi|pptx?|xlsx?|qxd)", re.IGNORECASE
)
_NO_AUTHOR = "anonymous"
# PDFium writes this instead of a hyphen at the end of a line and the line end.
_HYPHEN = "\ufffe"
_BROKEN_WORD = re.compile(rf"([^\W\d_]{{2,60}}){_HYPHEN}([^\W\d_]{{2,60}})")
_WORD = re.compile(r"[^\W\d_]+")


def read_pdf(data: bytes) -> ParsedText:
    document = _opened(data)
    try:
        return _read(document)
    finally:
        document.close()


def _opened(data: bytes) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        locked = error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY)
        raise Unreadable(Refusal.ENCRYPTED if locked else Refusal.DAMAGED) from None


def _read(document: pypdfium2.PdfDocument) -> ParsedText:
    if len(document) > MOST_PAGES:
        raise Unreadable(Refusal.TOO_MANY_PAGES, MOST_PAGES)
    if not len(document):
        raise Unreadable(Refusal.DAMAGED)
    bookmarks = _bookmarks(document)
    builder = TextBuilder()
    headings: list[_Heading] = []
    for number, text in enumerate(_joined_words(_pages(document))):
        builder.page()
        begin = builder.paragraph(text)
        # A bookmark of a blank page points to the beginning of the next text.
        at = builder.next_begin if begin is None else begin
        headings += _placed(bookmarks.get(number, ()), text, at)
    for heading in headings:
        builder.mark(heading.level, heading.title, heading.begin)
    facts = document.get_metadata_dict()
    title, author = facts["Title"].strip(), facts["Author"].strip()
    return builder.result(
        title="" if _NO_TITLE.fullmatch(title) else title,
        author="" if author == _NO_AUTHOR else author,
        created=_date(facts["CreationDate"]),
    )


def _date(given: str) -> str:
    """Returns a date as in `D:20240229123000` in ISO 8601."""
    found = _DATE.match(given)
    if found is None:
        return ""
    day = "-".join(part for part in found.groups()[:3] if part)
    return f"{day}T{':'.join(found.groups()[3:])}" if found[4] else day


# --- text -------------------------------------------------------------------------------------------


def _pages(document: pypdfium2.PdfDocument) -> list[str]:
    """Returns the text of each page, with `_HYPHEN` within broken words. Raises `Unreadable`."""
    pages: list[str] = []
    size = 0
    for number in range(len(document)):
        text = _page(document, number)
        size += len(text)
        if size > MOST_CHARACTERS:
            raise Unreadable(Refusal.TOO_MUCH_TEXT, MOST_CHARACTERS)
        pages.append(text)
    return pages


def _page(document: pypdfium2.PdfDocument, number: int) -> str:
    """Returns the text of a page; empty if the page cannot be read."""
    try:
        page = document[number]
    except pypdfium2.PdfiumError:
        return ""
    try:
        text_page = page.get_textpage()
    except pypdfium2.PdfiumError:
        page.close()
        return ""
    text = text_page.get_text_range()
    lines = _in_order(text_page, text) if text else ()
    text_page.close()
    page.close()
    return tidy("\n".join(lines))


@dataclass(frozen=True, slots=True)
class _Line:
    """A line and its position on the page, in points from the lower left corner."""

    text: str
    left: float
    right: float
    bottom: float
    top: float


def _in_order(page: pypdfium2.PdfTextPage, text: str) -> Sequence[str]:
    r"""Returns the lines of a page in reading order.

    A PDF can draw its texts in any order, and PDFium returns them in that order, which is nearly always the
    reading order. If a line is above the previous one in the same column, a new part of the page begins, such
    as a heading that was drawn last. Those parts are sorted from top to bottom.
    """
    plain = text.split("\r\n")
    lines = _positions(page, plain)
    if lines is None:
        return plain
    parts: list[list[_Line]] = [lines[:1]]
    for before, line in pairwise(lines):
        if _is_above(line, before):
            parts.append([])
        parts[-1].append(line)
    parts.sort(key=lambda part: -max((line.top for line in part), default=0.0))
    return [line.text for part in parts for line in part]


def _is_above(line: _Line, before: _Line) -> bool:
    """Whether a line is clearly above another one in the same column."""
    overlap = min(line.right, before.right) - max(line.left, before.left)
    return line.bottom >= before.top and overlap > 0


def _positions(page: pypdfium2.PdfTextPage, lines: Sequence[str]) -> list[_Line] | None:
    """Returns the lines with their boxes; None if the characters cannot be matched with the text."""
    if page.count_chars() != sum(map(len, lines)) + 2 * (len(lines) - 1):
        return None
    found: list[_Line] = []
    at = 0
    for line in lines:
        words = line.strip()
        if words:
            first = at + len(line) - len(line.lstrip())
            begin, end = _box(page, first), _box(page, first + len(words) - 1)
            if begin is None or end is None:
                return None
            found.append(
                _Line(
                    line,
                    min(begin[0], end[0]),
                    max(begin[1], end[1]),
                    min(begin[2], end[2]),
                    max(begin[3], end[3]),
                )
            )
        elif found:
            # A blank line stays with the previous one.
            found.append(_Line(line, found[-1].left, found[-1].right, found[-1].bottom, found[-1].top))
        at += len(line) + 2
    return found


def _box(page: pypdfium2.PdfTextPage, index: int) -> tuple[float, float, float, float] | None:
    """Returns left, right, bottom and top of a character."""
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    if not raw.FPDFText_GetCharBox(page, index, left, right, bottom, top):
        return None
    return left.value, right.value, bottom.value, top.value


def _joined_words(pages: Sequence[str]) -> Iterator[str]:
    """Yields the pages with hyphenated words joined where that is safe.

    A hyphen at the end of a line can belong to the word, as in "well-known". So a word is only joined if it
    occurs elsewhere in the document in one piece.
    """
    broken = {
        (found[1] + found[2]).lower()
        for page in pages
        if _HYPHEN in page
        for found in _BROKEN_WORD.finditer(page)
    }
    known: set[str] = set()
    if broken:
        for page in pages:
            known |= broken.intersection(_WORD.findall(page.lower()))

    def joined(found: re.Match[str]) -> str:
        safe = found[2].islower() and (found[1] + found[2]).lower() in known
        return found[1] + found[2] if safe else f"{found[1]}-\n{found[2]}"

    for page in pages:
        yield _BROKEN_WORD.sub(joined, page).replace(_HYPHEN, "-\n") if _HYPHEN in page else page


# --- headings ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Heading:
    level: int
    title: str
    begin: int


def _bookmarks(document: pypdfium2.PdfDocument) -> dict[int, list[tuple[int, str]]]:
    """Returns the levels and titles of bookmarks, by their target page, from 0."""
    found: dict[int, list[tuple[int, str]]] = {}
    for one in islice(document.get_toc(), _MOST_BOOKMARKS):
        destination, title = one.get_dest(), one_line(one.get_title())
        page = None if destination is None else destination.get_index()
        if page is not None and title:
            found.setdefault(page, []).append((one.level + 1, title))
    return found


def _placed(bookmarks: Sequence[tuple[int, str]], text: str, begin: int) -> Iterator[_Heading]:
    """Yields bookmarks as headings: at the place of their title on the page, otherwise at the beginning of
    the page.

    Titles are searched one after another, so that a repeated title is found at both places.
    """
    after = 0
    for level, title in bookmarks:
        words = r"\s+".join(map(re.escape, title.split()))
        pattern = re.compile(words, re.IGNORECASE)
        found = pattern.search(text, after) or pattern.search(text)
        if found is not None:
            after = found.end()
        yield _Heading(level, title, begin + (0 if found is None else found.start()))


# --- pictures of pages ------------------------------------------------------------------------------

_MARK = (255, 235, 110)
_SHORTEST_PART = 8
"""Letters of a line of a quotation that are enough to find it by itself."""


def draw_page(data: bytes, view: PageView) -> PagePicture:
    """Returns a page as a picture, with the quotation marked where it is found. Raises `Unreadable`."""
    document = _opened(data)
    try:
        if not 1 <= view.page <= len(document):
            raise Unreadable(Refusal.DAMAGED)
        page = document[view.page - 1]
        width, height = page.get_size()
        if width <= 0 or height <= 0:
            raise Unreadable(Refusal.DAMAGED)
        scale = min(view.width / width, (MOST_PIXELS / (width * height)) ** 0.5)
        bitmap = page.render(scale=scale, rev_byteorder=True)
        pixels = _pixels(bitmap)
        boxes = _boxes(page, view.quote, bitmap.width, bitmap.height)
        if boxes:
            pixels = _marked(pixels, boxes)
        return PagePicture(pixels, len(document), min((top for _, top, _, _ in boxes), default=None))
    finally:
        document.close()


def _pixels(bitmap: pypdfium2.PdfBitmap) -> Pixels:
    """Returns the pixels of a bitmap without the bytes that fill up its rows."""
    size, stride, data = 3 * bitmap.width, bitmap.stride, bytes(bitmap.buffer)
    if bitmap.n_channels != 3:
        raise Unreadable(Refusal.DAMAGED)
    rows = (data[at : at + size] for at in range(0, stride * bitmap.height, stride))
    return Pixels(bitmap.width, bitmap.height, b"".join(rows))


def _boxes(page: pypdfium2.PdfPage, quote: str, width: int, height: int) -> list[tuple[int, int, int, int]]:
    """Returns where a quotation is in the picture of a page: left, top, right and bottom."""
    if not quote.strip():
        return []
    try:
        text = page.get_textpage()
    except pypdfium2.PdfiumError:
        return []
    boxes: list[tuple[int, int, int, int]] = []
    for first, last in _places(text, quote):
        for at in range(text.count_rects(first, last - first + 1)):
            left, bottom, right, top = text.get_rect(at)
            corners = [_on_picture(page, width, height, x, y) for x, y in ((left, top), (right, bottom))]
            (x0, x1), (y0, y1) = (sorted(axis) for axis in zip(*corners, strict=True))
            box = (max(x0 - 1, 0), max(y0 - 1, 0), min(x1 + 2, width), min(y1 + 2, height))
            if box[0] < box[2] and box[1] < box[3]:
                boxes.append(box)
    text.close()
    return boxes


def _on_picture(page: pypdfium2.PdfPage, width: int, height: int, x: float, y: float) -> tuple[int, int]:
    """Returns the pixel of a point of a page, which may be turned."""
    across, down = ctypes.c_int(), ctypes.c_int()
    raw.FPDF_PageToDevice(page, 0, 0, width, height, 0, x, y, across, down)
    return across.value, down.value


def _places(page: pypdfium2.PdfTextPage, quote: str) -> Iterator[tuple[int, int]]:
    """Yields the first and last character of the parts of a quotation on a page.

    Only letters and digits are compared: spaces, hyphens and line ends differ between a page and its text.
    The text may also have the lines of a page in another order, so each line is searched if the whole is not
    found.
    """
    signs = [chr(raw.FPDFText_GetUnicode(page, at)) for at in range(page.count_chars())]
    letters = [(sign.lower(), at) for at, sign in enumerate(signs) if sign.isalnum()]
    whole = "".join(sign[0] for sign, _at in letters)
    begin = 0
    for part in [quote] if _letters(quote) in whole else quote.split("\n"):
        words = _letters(part)
        found = whole.find(words, begin)
        if found < 0:
            found = whole.find(words)
        if found >= 0 and (len(words) >= _SHORTEST_PART or part == quote) and words:
            begin = found + len(words)
            yield letters[found][1], letters[begin - 1][1]


def _letters(text: str) -> str:
    return "".join(sign.lower()[0] for sign in text if sign.isalnum())


def _marked(pixels: Pixels, boxes: Sequence[tuple[int, int, int, int]]) -> Pixels:
    """Returns a picture with some boxes marked as with a text marker."""
    from PIL import Image, ImageChops

    image = Image.frombytes("RGB", (pixels.width, pixels.height), pixels.rgb)
    ink = Image.new("RGB", image.size, "white")
    for box in boxes:
        ink.paste(_MARK, box)
    return Pixels(pixels.width, pixels.height, ImageChops.multiply(image, ink).tobytes())
