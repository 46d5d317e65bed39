"""Formats close to plain text: code, data, CSV, Markdown, notebooks and RTF."""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from functools import cache

import msgspec
from markdown_it import MarkdownIt
from striprtf.striprtf import rtf_to_text

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing.building import TextBuilder, checked, one_line, tidy
from atlas_desktop.parsing.protocol import MOST_CHARACTERS, Unreadable, looks_like_text
from memory.documents.entities import Heading, ParsedText, Table

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_MOST_BYTES_PER_CHARACTER = 4
_SAMPLE = 65_536
_WESTERN = "cp1252"
# Rare encodings are left out: a short text would often fit one of them by chance.
_ENCODINGS = [
    _WESTERN,
    *("cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874"),
    *("koi8_r", "koi8_u", "cp866", "mac_roman", "iso8859_2", "iso8859_5", "iso8859_7"),
    *("cp932", "euc_jp", "gb18030", "big5", "cp949"),
]
_LITTLE_CHAOS = 0.1
_DECLARED = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_HEAD = 2_048


def decoded(data: bytes, *, declared: bool = False) -> str:
    """Returns the text of a file: by its byte order mark, as UTF-8, or in the encoding that it most likely
    has.

    `declared`: the file can name its encoding in its first bytes, as HTML and XML do. Raises `Unreadable` if
    it is not text.
    """
    if len(data) > _MOST_BYTES_PER_CHARACTER * MOST_CHARACTERS:
        raise Unreadable(Refusal.TOO_MUCH_TEXT, MOST_CHARACTERS)
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    if not looks_like_text(data[:_SAMPLE]) or b"\0" in data:
        raise Unreadable(Refusal.NOT_TEXT)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _legacy(data, declared=declared)


def _legacy(data: bytes, *, declared: bool) -> str:
    named = _DECLARED.search(data[:_HEAD]) if declared else None
    if named is not None:
        try:
            return data.decode(named[1].decode("ascii"), "replace")
        except (LookupError, UnicodeError):
            # Python does not know the declared encoding.
            pass
    encoding = _likely(_telling(data))
    if encoding is None:
        raise Unreadable(Refusal.NOT_TEXT)
    return data.decode(encoding, "replace")


def _likely(sample: bytes) -> str | None:
    """Returns the encoding that a text most likely has; None if it does not seem to be text."""
    from charset_normalizer import from_bytes

    matches = from_bytes(sample, cp_isolation=_ENCODINGS)
    best = matches.best()
    if best is None:
        return None
    western = any(_WESTERN in one.could_be_from_charset and one.chaos <= _LITTLE_CHAOS for one in matches)
    # A short text is not evidence of a language.
    return _WESTERN if western and not best.coherence else best.encoding


def _telling(data: bytes) -> bytes:
    """Returns the part of a text that shows its encoding: from the line of the first byte beyond ASCII."""
    first = next((at for at in range(0, len(data), _HEAD) if not data[at : at + _HEAD].isascii()), 0)
    begin = data.rfind(b"\n", 0, first) + 1
    return data[max(begin, first - _HEAD) : first + _SAMPLE]


def read_plain(data: bytes) -> ParsedText:
    return ParsedText(checked(tidy(decoded(data, declared=True))))


def read_csv(data: bytes) -> ParsedText:
    text = decoded(data)
    return _table(text, _delimiter(text))


def read_tsv(data: bytes) -> ParsedText:
    return _table(decoded(data), "\t")


def _table(text: str, delimiter: str) -> ParsedText:
    builder = TextBuilder()
    builder.table(_rows(checked(text), delimiter))
    return builder.result()


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(MOST_CHARACTERS)
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


_DELIMITERS = ",;\t|"
_FIRST_LINES = 20


def _delimiter(text: str) -> str:
    """Returns the delimiter of the columns: the one that most of the first lines contain equally often."""
    lines = [line for line in text[:_SAMPLE].splitlines() if line.strip()][:_FIRST_LINES]

    def agreement(delimiter: str) -> tuple[int, int]:
        counts = Counter(len(next(csv.reader([line], delimiter=delimiter), [])) - 1 for line in lines)
        counts.pop(0, None)
        return max(((lines_, columns) for columns, lines_ in counts.items()), default=(0, 0))

    return max(_DELIMITERS, key=agreement)


_FRONT = re.compile(r"---\n(.*?)\n(?:---|\.\.\.)(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(title|author|date):[ \t]*(\S.*)$", re.MULTILINE | re.IGNORECASE)
# Without any of these there are no headings or tables; checking first saves most of the time.
_STRUCTURE = re.compile(r"#|\||^[ \t>]*(?:=+|-+)[ \t]*$", re.MULTILINE)


def read_markdown(data: bytes) -> ParsedText:
    text = checked(tidy(decoded(data)))
    front = _FRONT.match(text)
    fields = {key.lower(): _unquoted(value) for key, value in _FIELD.findall(front[1])} if front else {}
    headings, tables = structure(text, front.end() if front else 0)
    return ParsedText(
        text,
        headings=headings,
        tables=tables,
        title=fields.get("title") or next((one.text for one in headings if one.level == 1), ""),
        author=fields.get("author", ""),
        created=fields.get("date", ""),
    )


def _unquoted(value: str) -> str:
    value = value.strip()
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return one_line(value[1:-1] if quoted else value)


def structure(text: str, begin: int = 0) -> tuple[tuple[Heading, ...], tuple[Table, ...]]:
    """Returns the headings and tables of tidy Markdown, from `begin` on, by their places in the whole text.

    A table's header includes the line of dashes below it.
    """
    body = text[begin:]
    if not _STRUCTURE.search(body):
        return (), ()
    lines = [begin, *(begin + found.end() for found in re.finditer("\n", body)), len(text) + 1]
    headings: list[Heading] = []
    tables: list[Table] = []
    tokens = _blocks().parse(body)
    for at, token in enumerate(tokens):
        if token.map is None:
            continue
        first, after = lines[token.map[0]], lines[min(token.map[1], len(lines) - 1)] - 1
        if token.type == "heading_open":
            title = _words(tokens[at + 1].content)
            if title:
                headings.append(Heading(int(token.tag[1]), title, first))
        elif token.type == "table_open":
            end = max(first, len(text[:after].rstrip()) if text[first:after].strip() else after)
            tables.append(Table(first, end, min(lines[min(token.map[0] + 2, len(lines) - 1)] - 1, end)))
    return tuple(headings), tuple(tables)


def _words(inline: str) -> str:
    """Returns the text of a heading without marks for emphasis, code and links."""
    children = _inlines().parseInline(inline)[0].children or []
    shown = (
        one.content
        if one.type in ("text", "code_inline", "text_special")
        else " " * (one.type == "softbreak")
        for one in children
    )
    return one_line("".join(shown))


@cache
def _blocks() -> MarkdownIt:
    """Parses blocks only: inline content takes ten times as long and does not matter."""
    return MarkdownIt("commonmark").enable("table").disable("inline")


@cache
def _inlines() -> MarkdownIt:
    return MarkdownIt("commonmark")


_LONGEST_OUTPUT = 2_000
_Lines = str | list[str]


class _Data(msgspec.Struct):
    plain: _Lines = msgspec.field(name="text/plain", default="")


class _Output(msgspec.Struct):
    text: _Lines = ""
    data: _Data = msgspec.field(default_factory=_Data)


class _Cell(msgspec.Struct):
    cell_type: str = ""
    source: _Lines = ""
    outputs: list[_Output] = []


class _Author(msgspec.Struct):
    name: str = ""


class _Metadata(msgspec.Struct):
    title: str = ""
    authors: list[_Author] = []


class _Notebook(msgspec.Struct):
    cells: list[_Cell]
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


def read_notebook(data: bytes) -> ParsedText:
    try:
        notebook = msgspec.json.decode(data, type=_Notebook)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Unreadable(Refusal.DAMAGED) from None
    builder = TextBuilder()
    for cell in notebook.cells:
        text = tidy(_joined(cell.source))
        begin = builder.paragraph(text)
        if cell.cell_type == "markdown" and begin is not None:
            headings, tables = structure(text)
            for heading in headings:
                builder.mark(heading.level, heading.text, begin + heading.begin)
            for table in tables:
                builder.note_table(begin + table.begin, begin + table.end, begin + table.header_end)
        for output in cell.outputs:
            builder.paragraph((_joined(output.text) or _joined(output.data.plain))[:_LONGEST_OUTPUT])
    authors = ", ".join(author.name for author in notebook.metadata.authors)
    return builder.result(title=notebook.metadata.title, author=authors)


def _joined(lines: _Lines) -> str:
    return lines if isinstance(lines, str) else "".join(lines)


_RTF_HEAD = 65_536
_FACT = re.compile(r"\{\\(title|author) ([^{}]{0,1000})\}")
_CREATED = re.compile(r"\{\\creatim\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")


def read_rtf(data: bytes) -> ParsedText:
    # RTF is ASCII: all other characters are written with it.
    text = data.decode("latin-1")
    if not text.lstrip().startswith("{\\rtf"):
        raise Unreadable(Refusal.DAMAGED)
    builder = TextBuilder()
    builder.paragraph(rtf_to_text(text, errors="replace"))
    facts = dict(_FACT.findall(text[:_RTF_HEAD]))
    return builder.result(
        title=_plain(facts.get("title", "")), author=_plain(facts.get("author", "")), created=_created(text)
    )


def _plain(fact: str) -> str:
    return str(rtf_to_text(f"{{\\rtf1\\ansi {fact}}}", errors="replace")) if fact else ""


def _created(text: str) -> str:
    found = _CREATED.search(text[:_RTF_HEAD])
    if found is None:
        return ""
    try:
        return date(*map(int, found.groups())).isoformat()
    except ValueError:
        return ""
