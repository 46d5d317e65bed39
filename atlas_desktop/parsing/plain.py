"""Plain text, source code, Markdown, tables in text, notebooks, RTF and mail."""

import csv
import io
import re
from collections.abc import Iterator
from email import policy
from email.parser import BytesParser

import msgspec

from atlas_desktop.errors import DocumentRefused, Refusal
from atlas_desktop.parsing.building import MOST_CHARACTERS, TextBuilder, tidy
from memory.documents.entities import Heading, ParsedText, Table

_MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
_SAMPLE = 200_000
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MOST_CONTROL = 0.02


def decoded(data: bytes, name: str) -> str:
    """Returns the text of a file in whatever encoding it is. Raises `DocumentRefused` if it is not text."""
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = _legacy(data, name)
    if "\0" in text or len(_CONTROL.findall(data[:_SAMPLE])) > _MOST_CONTROL * min(len(data), _SAMPLE):
        raise DocumentRefused(name, Refusal.NOT_TEXT)
    return text


def _legacy(data: bytes, name: str) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(data[:_SAMPLE]).best()
    if best is None:
        raise DocumentRefused(name, Refusal.NOT_TEXT)
    return data.decode(best.encoding, "replace")


def _tidied(data: bytes, name: str) -> str:
    text = tidy(decoded(data, name))
    if not text.strip():
        raise DocumentRefused(name, Refusal.EMPTY)
    if len(text) > MOST_CHARACTERS:
        raise DocumentRefused(name, Refusal.TOO_MUCH_TEXT, MOST_CHARACTERS)
    return text


def read_plain(data: bytes, name: str) -> ParsedText:
    return ParsedText(_tidied(data, name))


# --- Markdown ---------------------------------------------------------------------------------------

_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_FIELD = re.compile(r"^(title|author|date):[ \t]*[\"']?(.*?)[\"']?[ \t]*$", re.MULTILINE | re.IGNORECASE)


def read_markdown(data: bytes, name: str) -> ParsedText:
    from markdown_it import MarkdownIt

    text = _tidied(data, name)
    front = _FRONT.match(text)
    fields = {key.lower(): value for key, value in _FIELD.findall(front[1])} if front else {}
    # The lines of the front matter would be read as a heading.
    hidden = text if front is None else _blanked(text, front.end())
    begins = [0]
    for line in text.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    headings, tables = [], []
    tokens = MarkdownIt("commonmark", {"html": False}).enable("table").parse(hidden)
    for at, token in enumerate(tokens):
        if token.map is None:
            continue
        begin, end = begins[token.map[0]], begins[min(token.map[1], len(begins) - 1)]
        if token.type == "heading_open":
            headings.append(Heading(int(token.tag[1]), _inline(tokens[at + 1]), begin))
        elif token.type == "table_open":
            # The header is the first line and the line of dashes below it.
            header_end = begins[min(token.map[0] + 2, len(begins) - 1)] - 1
            tables.append(Table(begin, len(text[:end].rstrip("\n")), min(header_end, end)))
    title = fields.get("title") or next((one.text for one in headings if one.level == 1), "")
    return ParsedText(
        text,
        headings=tuple(one for one in headings if one.text),
        tables=tuple(tables),
        title=title,
        author=fields.get("author", ""),
        created=fields.get("date", ""),
    )


def _blanked(text: str, end: int) -> str:
    return re.sub(r"[^\n]", " ", text[:end]) + text[end:]


def _inline(token: object) -> str:
    children = getattr(token, "children", None) or []
    found = "".join(one.content if one.type in ("text", "code_inline") else " " for one in children)
    return " ".join(found.split())


# --- tables -----------------------------------------------------------------------------------------

_MOST_ROWS = 1_000_000


def read_csv(data: bytes, name: str) -> ParsedText:
    text = _tidied(data, name)
    builder = TextBuilder(name)
    builder.table(_rows(text, name))
    return builder.result()


def _rows(text: str, name: str) -> Iterator[list[str]]:
    try:
        dialect: type[csv.Dialect] | csv.Dialect = csv.Sniffer().sniff(text[:20_000], ",;\t|")
    except csv.Error:
        dialect = csv.excel_tab if name.lower().endswith(".tsv") else csv.excel
    csv.field_size_limit(MOST_CHARACTERS)
    try:
        for at, row in enumerate(csv.reader(io.StringIO(text), dialect)):
            if at >= _MOST_ROWS:
                raise DocumentRefused(name, Refusal.TOO_MUCH_TEXT, MOST_CHARACTERS)
            yield row
    except csv.Error:
        raise DocumentRefused(name, Refusal.DAMAGED) from None


# --- notebooks --------------------------------------------------------------------------------------

_LONGEST_OUTPUT = 2_000


class _Output(msgspec.Struct):
    text: str | list[str] = ""
    data: dict[str, msgspec.Raw] = {}


class _Cell(msgspec.Struct):
    cell_type: str = ""
    source: str | list[str] = ""
    outputs: list[_Output] = []


class _Notebook(msgspec.Struct):
    cells: list[_Cell]


def read_notebook(data: bytes, name: str) -> ParsedText:
    try:
        notebook = msgspec.json.decode(data, type=_Notebook)
    except (msgspec.DecodeError, RecursionError):
        raise DocumentRefused(name, Refusal.DAMAGED) from None
    builder = TextBuilder(name)
    for cell in notebook.cells:
        source = _joined(cell.source)
        if cell.cell_type == "markdown":
            _add_markdown(builder, source)
            continue
        builder.paragraph(source)
        for output in cell.outputs:
            builder.paragraph((_joined(output.text) or _plain_of(output))[:_LONGEST_OUTPUT])
    return builder.result()


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def _plain_of(output: _Output) -> str:
    raw = output.data.get("text/plain")
    if raw is None:
        return ""
    try:
        return _joined(msgspec.json.decode(raw, type=str | list[str]))
    except msgspec.DecodeError:
        return ""


_ATX = re.compile(r"(#{1,6})[ \t]+(.*)")


def _add_markdown(builder: TextBuilder, source: str) -> None:
    """Adds Markdown of a cell: its lines as they are, with headings noted."""
    plain: list[str] = []
    for line in source.splitlines():
        heading = _ATX.match(line)
        if heading is None:
            plain.append(line)
            continue
        builder.paragraph("\n".join(plain))
        plain = []
        builder.heading(len(heading[1]), heading[2].rstrip("# "))
    builder.paragraph("\n".join(plain))


# --- RTF and mail -----------------------------------------------------------------------------------


def read_rtf(data: bytes, name: str) -> ParsedText:
    from striprtf.striprtf import rtf_to_text

    if not data.lstrip().startswith(b"{\\rtf"):
        raise DocumentRefused(name, Refusal.DAMAGED)
    builder = TextBuilder(name)
    builder.paragraph(rtf_to_text(data.decode("latin-1"), errors="ignore"))
    return builder.result()


def read_mail(data: bytes, name: str) -> ParsedText:
    from atlas_desktop.parsing.html import add_html

    message = BytesParser(policy=policy.default).parsebytes(data)
    builder = TextBuilder(name)
    subject = str(message.get("subject", ""))
    builder.heading(1, subject)
    lines = [f"{field.title()}: {message[field]}" for field in ("from", "to", "cc", "date") if message[field]]
    builder.paragraph("\n".join(lines))
    if not lines and not subject:
        raise DocumentRefused(name, Refusal.DAMAGED)
    body = message.get_body(("plain", "html"))
    if body is not None:
        content = body.get_content()
        if body.get_content_type() == "text/html":
            add_html(builder, str(content).encode(), name)
        else:
            builder.paragraph(str(content))
    attached = [part.get_filename() or part.get_content_type() for part in message.iter_attachments()]
    if attached:
        builder.paragraph("\n".join(f"Attachment: {one}" for one in attached))
    return builder.result(
        title=subject, author=str(message.get("from", "")), created=_day(message.get("date"))
    )


def _day(header: object) -> str:
    moment = getattr(header, "datetime", None)
    return "" if moment is None else str(moment.date().isoformat())
