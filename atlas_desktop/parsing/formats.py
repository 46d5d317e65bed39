"""The formats that Atlas reads: told by the name and the first bytes of a file."""

from pathlib import PurePath

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
CODE = "text/x-code"

_ENDINGS = {
    PDF: "pdf",
    DOCX: "docx docm",
    PPTX: "pptx pptm",
    XLSX: "xlsx xlsm",
    ODT: "odt",
    EPUB: "epub",
    HTML: "html htm xhtml",
    MARKDOWN: "md markdown mdown mkd",
    CSV: "csv",
    TSV: "tsv",
    RTF: "rtf",
    MAIL: "eml",
    NOTEBOOK: "ipynb",
    PLAIN: "txt text log rst adoc asciidoc org tex bib srt vtt ini cfg conf properties env me",
    "application/json": "json jsonl ndjson geojson",
    "application/yaml": "yaml yml",
    "application/toml": "toml",
    "text/xml": "xml xsd xsl svg rss atom opml",
    CODE: "py pyi js mjs cjs jsx ts tsx java kt kts c h cc cpp cxx hh hpp cs go rs rb php pl pm lua r jl swift scala clj hs "
    "ml fs ex exs erl dart m mm sh bash zsh fish ps1 bat cmd sql graphql proto css scss sass less vue svelte "
    "gradle groovy cmake mk tf nix el lisp vim asm s f90 f95 pas vb",
}
_BY_ENDING = {ending: kind for kind, endings in _ENDINGS.items() for ending in endings.split()}
_BY_NAME = {
    "readme": PLAIN,
    "license": PLAIN,
    "licence": PLAIN,
    "changelog": PLAIN,
    "authors": PLAIN,
    "notice": PLAIN,
    "todo": PLAIN,
    "makefile": CODE,
    "dockerfile": CODE,
}
OWN_PROCESS = frozenset({PDF, DOCX, PPTX, XLSX, ODT, EPUB})
"""Formats read by native code or packed in archives: each such file gets a process that has read no other."""

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


def media_type_of(name: str, head: bytes) -> str | None:
    """Returns the format of a file; None if Atlas does not read it. The first bytes count more than the name."""
    if head.lstrip(b"\xef\xbb\xbf \t\r\n\0")[:5] == b"%PDF-":
        return PDF
    if head[:5] == b"{\\rtf":
        return RTF
    path = PurePath(name.lower())
    return _BY_ENDING.get(path.suffix[1:]) or _BY_NAME.get(path.name)


def is_readable(name: str) -> bool:
    """Whether a file of that name may be of a format that Atlas reads."""
    return media_type_of(name, b"") is not None


def parser_of(media_type: str) -> str:
    """Returns the name and version of the parser of a format. A new version reads known files again."""
    return _PARSERS.get(media_type, _PLAIN_PARSER)


def is_current(parser: str) -> bool:
    """Whether this is the present version of a parser."""
    return parser in _CURRENT
