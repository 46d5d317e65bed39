"""Builds the text of a document with the places of headings and tables. Also opens zip files."""

import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from zipfile import ZipFile

from lxml import etree

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing.protocol import (
    MOST_CHARACTERS,
    MOST_ENTRIES,
    MOST_MEMORY,
    MOST_PAGES,
    MOST_UNPACKED,
    Unreadable,
)
from atlas_desktop.services.cleaning import clean, clean_line
from memory.documents.entities import Heading, ParsedText, Table

CELLS = " | "
PAGES = "\n\n"
_LONGEST_FACT = 300
_LEVELS = 9

# The lookbehind keeps this linear: it matches at the first space of a run only.
_SPACES_AT_END = re.compile(r"(?<![^\S\n])[^\S\n]++(?=\n|\Z)")
_SPACES = tuple(one for one in map(chr, range(0x3001)) if one.isspace() and one != "\n")
_BLANK_LINES = re.compile(r"\n{4,}")
_LINE_ENDS = re.compile("\r\n?|[\v\f\x85\u2028\u2029]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def tidy(text: str) -> str:
    r"""Returns text without control characters, spaces at line ends, and blank lines at its ends.

    Lines end with \n. Lone surrogates become U+FFFD. More than two blank lines in a row become two.
    """
    text = clean(_SURROGATES.sub("\ufffd", _LINE_ENDS.sub("\n", text)))
    # Most text has no spaces there, and searching is many times as fast as replacing.
    spaces = " \t" if text.isascii() else _SPACES
    if text[-1:].isspace() or any(f"{space}\n" in text for space in spaces):
        text = _SPACES_AT_END.sub("", text)
    return _BLANK_LINES.sub("\n\n\n", text).strip("\n")


def one_line(text: str) -> str:
    """Returns a title, name or heading: cleaned, on one line, and cut to 300 characters."""
    return _flat(text[: 10 * _LONGEST_FACT])[:_LONGEST_FACT].rstrip()


def _flat(text: str) -> str:
    return clean_line(_SURROGATES.sub("\ufffd", text))


def checked(text: str) -> str:
    """Returns the text of a file. Raises `Unreadable` if it is too long or blank."""
    if len(text) > MOST_CHARACTERS:
        raise Unreadable(Refusal.TOO_MUCH_TEXT, MOST_CHARACTERS)
    if not text.strip():
        raise Unreadable(Refusal.EMPTY)
    return text


class TextBuilder:
    """The text so far. Blocks are separated by a blank line unless they are `close` to the previous one.

    All methods raise `Unreadable` when there is too much text.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._headings: list[Heading] = []
        self._tables: list[Table] = []
        self._pages: list[int] = []
        self._blank: list[int] = []
        # Pages without text so far; they begin at the next text.
        self._open: list[int] = []

    def paragraph(self, text: str, *, close: bool = False) -> int | None:
        """Adds a paragraph, or several lines. Returns where it begins; None if it is blank."""
        return self._add(tidy(text), close=close)

    def heading(self, level: int, text: str) -> None:
        """Adds a heading on a line of its own; nothing if it is blank."""
        line = _flat(text)
        begin = self._add(line)
        if begin is not None:
            self.mark(level, one_line(line), begin)

    def mark(self, level: int, text: str, begin: int) -> None:
        """Records a heading that is already in the text."""
        if text:
            self._headings.append(Heading(max(1, min(level, _LEVELS)), text, begin))

    def note_table(self, begin: int, end: int, header_end: int) -> None:
        """Records a table that is already in the text."""
        self._tables.append(Table(begin, end, header_end))

    def table(self, rows: Iterable[Sequence[str]]) -> None:
        """Adds a table, one line per row, without rows that are empty. The first row is its header."""
        begin: int | None = None
        header_end = 0
        for row in rows:
            cells = [_flat(cell) for cell in row]
            while cells and not cells[-1]:
                cells.pop()
            line = CELLS.join(cells).rstrip()
            added = self._add(line, close=begin is not None) if any(cells) else None
            if begin is None and added is not None:
                begin, header_end = added, self._length
        if begin is not None:
            self._tables.append(Table(begin, self._length, header_end))

    @property
    def next_begin(self) -> int:
        """Where the next paragraph will begin."""
        return self._length + (len(PAGES) if self._parts else 0)

    def page(self) -> None:
        """Begins a page."""
        self._end_page()
        if len(self._pages) >= MOST_PAGES:
            raise Unreadable(Refusal.TOO_MANY_PAGES, MOST_PAGES)
        self._open.append(len(self._pages))
        self._pages.append(-1)

    def result(
        self, *, title: str = "", author: str = "", created: str = "", headed: bool = True
    ) -> ParsedText:
        """Returns the text. Without a `title`, it is the first heading of level 1, if the text is `headed`.

        Raises `Unreadable` if there is no text: with `PICTURES` if it has pages.
        """
        if not self._length:
            raise Unreadable(Refusal.PICTURES if self._pages else Refusal.NO_TEXT)
        self._end_page()
        for page in self._open:
            self._pages[page] = self._length
        headings = tuple(sorted(map(self._within, self._headings), key=lambda one: one.begin))
        first = next((one.text for one in headings if one.level == 1 and headed), "")
        return ParsedText(
            text="".join(self._parts),
            pages=tuple(self._pages),
            headings=headings,
            tables=tuple(self._tables),
            blank_pages=tuple(self._blank),
            title=one_line(title) or first,
            author=one_line(author),
            created=one_line(created),
        )

    def _within(self, heading: Heading) -> Heading:
        """Moves the heading of a blank last page to the end of the text."""
        return heading if heading.begin <= self._length else replace(heading, begin=self._length)

    def _end_page(self) -> None:
        if self._open and self._open[-1] == len(self._pages) - 1:
            self._blank.append(len(self._pages))

    def _add(self, text: str, *, close: bool = False) -> int | None:
        """Adds tidy text, and returns where it begins."""
        if not text.strip():
            return None
        if self._parts:
            separator = "\n" if close and not self._open else PAGES
            self._parts.append(separator)
            self._length += len(separator)
        begin = self._length
        self._parts.append(text)
        self._length += len(text)
        if self._length > MOST_CHARACTERS:
            raise Unreadable(Refusal.TOO_MUCH_TEXT, MOST_CHARACTERS)
        for page in self._open:
            self._pages[page] = begin
        self._open.clear()
        return begin


_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of a Microsoft container: an encrypted document, or a format from before 2007."""
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_ENCRYPTED_ENTRY = 1
_MOST_RATIO = 300
# Small entries of spaces or zeros can be packed tightly and do no harm.
_RATIO_FROM = 5_000_000
# A document type comes before the first element.
_PROLOG = 65_536
_XML = (".xml", ".rels", ".vml")


def opened(data: bytes) -> ZipFile:
    """Returns the archive in `data`.

    Raises `Unreadable` if it is damaged or encrypted, or if it would unpack to too much.
    """
    if data.startswith(_OLE):
        raise Unreadable(Refusal.ENCRYPTED if _ENCRYPTED_PACKAGE in data else Refusal.UNKNOWN_FORMAT)
    try:
        archive = ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        raise Unreadable(Refusal.DAMAGED) from None
    entries = archive.infolist()
    if len(entries) > MOST_ENTRIES or sum(one.file_size for one in entries) > MOST_UNPACKED:
        raise Unreadable(Refusal.UNPACKS_TOO_LARGE, MOST_UNPACKED)
    if any(one.file_size > max(_RATIO_FROM, _MOST_RATIO * one.compress_size) for one in entries):
        raise Unreadable(Refusal.UNPACKS_TOO_LARGE, MOST_UNPACKED)
    if any(one.flag_bits & _ENCRYPTED_ENTRY for one in entries):
        raise Unreadable(Refusal.ENCRYPTED)
    return archive


def content(archive: ZipFile, entry: str) -> bytes:
    """Returns an entry, unpacked. Raises `Unreadable`."""
    return _read(archive, entry, -1)


def _read(archive: ZipFile, entry: str, size: int) -> bytes:
    try:
        # An entry is never unpacked beyond the size in its header, which `opened` has checked.
        with archive.open(entry) as file:
            return file.read(size)
    except (KeyError, zipfile.BadZipFile, OSError, ValueError, RuntimeError, EOFError, zlib.error):
        raise Unreadable(Refusal.DAMAGED) from None


def opened_office(data: bytes) -> ZipFile:
    """Returns the archive of an office file as `opened` does.

    Also raises `Unreadable` if one of its parts declares a document type: office programs do not write one,
    but with it a small file can grow without limit or name files on the disk.
    """
    archive = opened(data)
    for entry in archive.namelist():
        if entry.endswith(_XML):
            refuse_document_type(_read(archive, entry, _PROLOG))
    return archive


def refuse_document_type(data: bytes) -> None:
    """Raises `Unreadable` if XML begins with a document type, in any encoding of ASCII or UTF-16."""
    if b"<!DOCTYPE" in data[:_PROLOG].replace(b"\0", b""):
        raise Unreadable(Refusal.XML_ENTITIES)


def refuse_entities(data: bytes) -> None:
    """Raises `Unreadable` if XML declares entities; any other document type is fine."""
    if b"<!ENTITY" in data[:_PROLOG].replace(b"\0", b""):
        raise Unreadable(Refusal.XML_ENTITIES)


def without_media(archive: ZipFile) -> io.BytesIO:
    """Returns a copy of an archive in which everything but XML is empty.

    The libraries for office files load all parts, pictures and films included.
    """
    copy = io.BytesIO()
    with ZipFile(copy, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target:
        for entry in dict.fromkeys(archive.namelist()):
            if not entry.endswith("/"):
                target.writestr(entry, content(archive, entry) if entry.endswith(_XML) else b"")
    copy.seek(0)
    return copy


def xml(data: bytes) -> etree._Element:
    """Parses XML; entities are not expanded, and nothing else is loaded. Raises `Unreadable`."""
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise unreadable(error) from None
    except ValueError:
        raise Unreadable(Refusal.DAMAGED) from None


def unreadable(error: etree.XMLSyntaxError) -> Unreadable:
    """Returns the reason why XML cannot be read."""
    if error.code == etree.ErrorTypes.ERR_NO_MEMORY:
        return Unreadable(Refusal.TOO_MUCH_MEMORY, MOST_MEMORY)
    # The library has one code for all its limits.
    deep = error.code == etree.ErrorTypes.ERR_RESOURCE_LIMIT or "depth" in (error.msg or "")
    return Unreadable(Refusal.TOO_DEEP if deep else Refusal.DAMAGED)
