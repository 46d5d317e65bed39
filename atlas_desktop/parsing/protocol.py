"""The formats that Atlas reads, and the messages to and from the process that reads documents."""

import re
from pathlib import PurePath

import msgspec

from atlas_desktop.errors import Refusal
from memory.documents.entities import ParsedText

LENGTH = 4
"""Bytes of the lengths, big-endian."""


class Pixels(msgspec.Struct, frozen=True, array_like=True):
    """A picture: its rows from the top, three bytes (red, green, blue) a pixel."""

    width: int
    height: int
    rgb: bytes


class PageView(msgspec.Struct, frozen=True, array_like=True):
    """A page of a PDF, counted from 1, to be drawn so many pixels wide. `quote` is marked on it."""

    page: int
    width: int
    quote: str = ""


class PagePicture(msgspec.Struct, frozen=True, array_like=True):
    """A page as a picture. `marked` is how many pixels down the marked quotation begins; None without one."""

    pixels: Pixels
    pages: int
    marked: int | None = None


class Request(msgspec.Struct, array_like=True):
    """A document to parse, or a page of it to draw: `size` bytes follow. `seconds` is the processor time it
    may take."""

    media_type: str
    size: int
    seconds: int
    view: PageView | None = None


class Answer(msgspec.Struct, omit_defaults=True):
    """The text of a document or the picture of a page, or why there is none."""

    parsed: ParsedText | None = None
    picture: PagePicture | None = None
    refusal: Refusal | None = None
    limit: int = 0


MOST_BYTES = 200_000_000
MOST_CHARACTERS = 20_000_000
MOST_PAGES = 20_000
MOST_ROWS = 2_000_000
"""Rows of all tables of a spreadsheet, empty ones included."""
MOST_ENTRIES = 20_000
MOST_UNPACKED = 1_000_000_000
"""Maximum bytes of all entries of an archive together when unpacked."""
MOST_PIXELS = 8_000_000
"""Maximum pixels of the picture of a page: 24 MB."""
MOST_MEMORY = 512_000_000
"""Maximum bytes of memory of the process that reads a document."""
SECONDS = 30
MOST_SECONDS = 300
_SECONDS_PER_MEGABYTE = 10


class Unreadable(Exception):
    """A file that cannot be read. `limit` is what it exceeds, in the unit of the reason, or 0."""

    def __init__(self, reason: Refusal, limit: int = 0) -> None:
        super().__init__(reason.value)
        self.reason = reason
        self.limit = limit


def seconds_for(size: int) -> int:
    """Returns the maximum number of seconds for reading a file: 30, and more for a file of many pages."""
    return min(MOST_SECONDS, SECONDS + _SECONDS_PER_MEGABYTE * (size // 1_000_000))


PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
ODT = "application/vnd.oasis.opendocument.text"
EPUB = "application/epub+zip"
HTML = "text/html"
MARKDOWN = "text/markdown"
CSV = "text/csv"
TSV = "text/tab-separated-values"
RTF = "application/rtf"
MAIL = "message/rfc822"
NOTEBOOK = "application/x-ipynb+json"
PLAIN = "text/plain"
XML = "text/xml"
CODE = "text/x-code"

_ENDINGS = {
    PDF: "pdf",
    DOCX: "docx docm dotx",
    PPTX: "pptx pptm ppsx",
    XLSX: "xlsx xlsm xltx",
    ODT: "odt ott",
    EPUB: "epub",
    HTML: "html htm xhtml",
    MARKDOWN: "md markdown mdown mkd mdx",
    CSV: "csv",
    TSV: "tsv tab",
    RTF: "rtf",
    MAIL: "eml",
    NOTEBOOK: "ipynb",
    PLAIN: "txt text log rst adoc asciidoc org tex bib srt vtt ini cfg conf properties env me diff patch",
    "application/json": "json jsonl ndjson geojson json5",
    "application/yaml": "yaml yml",
    "application/toml": "toml",
    XML: "xml xsd xsl xslt rss atom opml",
    CODE: (
        "py pyi pyx js mjs cjs jsx ts tsx java kt kts c h cc cpp cxx hh hpp hxx cs csx go rs rb php pl pm "
        "lua r jl swift scala sc clj cljs cljc edn hs lhs ml mli fs fsx ex exs erl hrl dart m mm sh bash "
        "zsh fish ps1 psm1 bat cmd sql graphql gql proto thrift css scss sass less vue svelte astro gradle "
        "groovy cmake mk tf hcl nix el lisp lsp scm rkt vim asm s f f90 f95 f03 pas pp vb vbs ada adb ads "
        "cob cbl d nim zig v vhd vhdl sv tcl awk sed cr elm purs sol wat glsl hlsl cu cl"
    ),
}
_BY_ENDING = {ending: kind for kind, endings in _ENDINGS.items() for ending in endings.split()}
_TEXTS = ("readme", "license", "licence", "copying", "changelog", "authors", "contributors", "notice", "todo")
_SCRIPTS = ("makefile", "dockerfile", "containerfile", "jenkinsfile", "vagrantfile", "rakefile", "gemfile")
_BY_NAME = {**dict.fromkeys(_TEXTS, PLAIN), **dict.fromkeys(_SCRIPTS, CODE)}
OWN_PROCESS = frozenset({PDF, DOCX, PPTX, XLSX, ODT, EPUB})
"""Binary formats: each such file is read by a process that has read no other."""
_ZIPPED = frozenset({DOCX, PPTX, XLSX, ODT, EPUB})

_PARSERS = {
    PDF: "pdf-1",
    DOCX: "docx-1",
    PPTX: "pptx-1",
    XLSX: "xlsx-1",
    ODT: "odt-1",
    EPUB: "epub-1",
    HTML: "html-1",
    MARKDOWN: "markdown-1",
    CSV: "csv-1",
    TSV: "csv-1",
    RTF: "rtf-1",
    MAIL: "mail-1",
    NOTEBOOK: "notebook-1",
}
_PLAIN_PARSER = "plain-1"
_CURRENT = frozenset({*_PARSERS.values(), _PLAIN_PARSER})

HEAD = 4_096
"""The number of first bytes that are enough to recognise a file."""
_ZIP = b"PK\x03\x04"
# The header of an entry has 30 bytes, followed by its name. The first entry of ODT and EPUB is their type.
_ENTRY = re.compile(
    rb"PK\x03\x04.{26}(word/|ppt/|xl/|mimetypeapplication/(?:epub\+zip|vnd\.oasis\.opendocument\.text))",
    re.DOTALL,
)
_BY_ENTRY = {b"word/": DOCX, b"ppt/": PPTX, b"xl/": XLSX, b"mimetypeapplication/epub+zip": EPUB}
_MARKUP = re.compile(rb"<!doctype html|<html[\s>]", re.IGNORECASE)
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_CONTROL = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_MOST_CONTROL = 0.02


def media_type_of(name: str, head: bytes) -> str | None:
    """Returns the format of a file, or None if Atlas does not read it.

    `head` are the first bytes of the file, at least `HEAD` of them if it is that long; b"" decides by the
    name alone. The first bytes count more than the name.
    """
    path = PurePath(name.lower())
    named = _BY_ENDING.get(path.suffix[1:]) or _BY_NAME.get(path.name)
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n\0")
    if start.startswith(b"%PDF-"):
        return PDF
    if head.startswith(_ZIP):
        return _of_archive(head, named)
    if start.startswith(b"{\\rtf"):
        return RTF
    if named is not None or not head:
        return named
    if _MARKUP.match(start):
        return HTML
    return PLAIN if looks_like_text(head) else None


def _of_archive(head: bytes, named: str | None) -> str | None:
    """Returns the format of an archive. If its content does not show it, the name decides, but the format is
    never text."""
    found = _ENTRY.search(head)
    if found is not None:
        return _BY_ENTRY.get(found[1], ODT)
    return named if named in _ZIPPED else None


def looks_like_text(data: bytes) -> bool:
    """Whether bytes can be text in any usual encoding: they have no, or very few, control characters."""
    return data.startswith(_MARKS) or (
        b"\0" not in data and len(_CONTROL.findall(data)) <= _MOST_CONTROL * len(data)
    )


def is_readable(name: str) -> bool:
    """Whether a file of that name may be of a format that Atlas reads."""
    return media_type_of(name, b"") is not None


def parser_of(media_type: str) -> str:
    """Returns the name and version of the parser of a format. A new version reads known files again."""
    return _PARSERS.get(media_type, _PLAIN_PARSER)


def is_current(parser: str) -> bool:
    """Whether this is the current version of a parser."""
    return parser in _CURRENT
