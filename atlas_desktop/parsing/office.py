"""Office files: the text of DOCX, PPTX, XLSX and ODT."""

import io
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

import docx
import openpyxl
from docx.document import Document
from pptx import Presentation
from pptx.enum.shapes import PP_PLACEHOLDER

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing.building import TextBuilder, content, opened_office, without_media, xml
from atlas_desktop.parsing.protocol import MOST_CHARACTERS, MOST_ROWS, Unreadable
from memory.documents.entities import ParsedText

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_MOST_BASES = 20
_MOST_COLUMNS_SPANNED = 50
_MOST_DEPTH = 250
# Text that was deleted or moved away while changes are tracked, and copies for old programs.
_DROPPED = frozenset(
    {
        f"{_W}del",
        f"{_W}moveFrom",
        f"{_W}pPr",
        f"{_W}rPr",
        f"{_W}sectPr",
        "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
    }
)
_CHARACTERS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}


def read_docx(data: bytes) -> ParsedText:
    document = docx.Document(without_media(opened_office(data)))
    builder = TextBuilder()
    _Body(builder, _levels(document)).add(document.element.body, 0)
    for relation in document.part.rels.values():
        if not relation.is_external and relation.reltype.endswith(("/footnotes", "/endnotes")):
            for note in xml(relation.target_part.blob):
                # The notes of these types are lines that separate notes from text.
                if note.get(f"{_W}type") not in ("separator", "continuationSeparator"):
                    builder.paragraph(_text(note))
    return with_properties(builder, document.core_properties)


def with_properties(builder: TextBuilder, about: Any) -> ParsedText:
    """Returns the text with the properties of an office file."""
    created = about.created
    return builder.result(
        title=about.title or "",
        author=about.author or "",
        created=created.isoformat() if isinstance(created, datetime) else "",
    )


def _levels(document: Document) -> Mapping[str, int]:
    """Returns the level of headings by the id of their style."""
    levels: dict[str, int] = {}
    for style in document.styles:
        base: Any = style
        for _unused in range(_MOST_BASES):
            if base is None:
                break
            name = base.name or ""
            outline = base.element.find(f"{_W}pPr/{_W}outlineLvl")
            heading = _HEADING.fullmatch(name)
            if heading or name.lower() == "title":
                levels[style.style_id] = int(heading[1]) if heading else 1
                break
            if outline is not None:
                level = _number(outline, default=9) + 1
                # Level 10 is plain text.
                levels |= {style.style_id: level} if level <= 9 else {}
                break
            base = getattr(base, "base_style", None)
    return levels


def _number(element: Any, *, default: int) -> int:
    value = element.get(f"{_W}val", "")
    return int(value) if value.isdecimal() else default


class _Body:
    """Adds the blocks of a document."""

    def __init__(self, builder: TextBuilder, levels: Mapping[str, int]) -> None:
        self._builder = builder
        self._levels = levels
        self._after_item = False

    def add(self, element: Any, depth: int) -> None:
        if depth > _MOST_DEPTH:
            raise Unreadable(Refusal.TOO_DEEP)
        for child in element:
            if child.tag == f"{_W}p":
                self._paragraph(child)
            elif child.tag == f"{_W}tbl":
                self._builder.table(_rows(child))
                self._after_item = False
            elif child.tag not in _DROPPED:
                # Content controls, tracked insertions and the like contain blocks.
                self.add(child, depth + 1)

    def _paragraph(self, paragraph: Any) -> None:
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        outline = paragraph.find(f"{_W}pPr/{_W}outlineLvl")
        level = self._levels.get(style.get(f"{_W}val", ""), 0) if style is not None else 0
        if outline is not None and _number(outline, default=9) < 9:
            level = _number(outline, default=9) + 1
        text = _text(paragraph)
        if level:
            self._builder.heading(level, text)
            self._after_item = False
        elif text.strip():
            item = paragraph.find(f"{_W}pPr/{_W}numPr") is not None
            self._builder.paragraph(f"- {text.strip()}" if item else text, close=item and self._after_item)
            self._after_item = item


def _rows(table: Any) -> Iterator[list[str]]:
    for row in _within(table, f"{_W}tr"):
        cells: list[str] = []
        for cell in _within(row, f"{_W}tc"):
            span = cell.find(f"{_W}tcPr/{_W}gridSpan")
            columns = 1 if span is None else _number(span, default=1)
            cells += [_text(cell), *[""] * (min(columns, _MOST_COLUMNS_SPANNED) - 1)]
        yield cells


def _within(element: Any, tag: str) -> Iterator[Any]:
    """Yields the rows of a table or the cells of a row, also those in content controls."""
    for child in element:
        if child.tag == tag:
            yield child
        elif child.tag in (f"{_W}sdt", f"{_W}sdtContent", f"{_W}ins", f"{_W}customXml"):
            yield from _within(child, tag)


def _text(element: Any) -> str:
    """Returns the text within a block; paragraphs in it are lines."""
    parts: list[str] = []

    def add(one: Any, depth: int) -> None:
        if depth > _MOST_DEPTH:
            raise Unreadable(Refusal.TOO_DEEP)
        for child in one:
            if child.tag == f"{_W}t":
                parts.append(child.text or "")
            elif child.tag in _CHARACTERS:
                parts.append(_CHARACTERS[child.tag])
            elif child.tag not in _DROPPED:
                add(child, depth + 1)
                if child.tag == f"{_W}p":
                    parts.append("\n")

    add(element, 0)
    return "".join(parts)


_REPEATED = frozenset({PP_PLACEHOLDER.SLIDE_NUMBER, PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER})
_PPTX_MOST_DEPTH = 50


def read_pptx(data: bytes) -> ParsedText:
    presentation = Presentation(without_media(opened_office(data)))
    builder = TextBuilder()
    for slide in presentation.slides:
        builder.page()
        title = slide.shapes.title
        if title is not None:
            builder.heading(1, title.text_frame.text)
        for shape in _shapes(slide.shapes, 0):
            if title is None or shape.shape_id != title.shape_id:
                _add_shape(builder, shape)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            builder.paragraph(slide.notes_slide.notes_text_frame.text)
    return with_properties(builder, presentation.core_properties)


def _shapes(shapes: Iterable[Any], depth: int) -> Iterator[Any]:
    """Yields shapes, also those in groups."""
    if depth > _PPTX_MOST_DEPTH:
        raise Unreadable(Refusal.TOO_DEEP)
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes, depth + 1)
        else:
            yield shape


def _add_shape(builder: TextBuilder, shape: Any) -> None:
    if shape.is_placeholder and shape.placeholder_format.type in _REPEATED:
        return
    if shape.has_text_frame:
        builder.paragraph(shape.text_frame.text)
    elif getattr(shape, "has_table", False):
        builder.table([cell.text for cell in row.cells] for row in shape.table.rows)


_MOST_COLUMNS = 16_384
_WHOLE = 1e15


def read_xlsx(data: bytes) -> ParsedText:
    opened_office(data)
    builder = TextBuilder()
    with warnings.catch_warnings():
        # openpyxl warns about everything that it would lose if it wrote the file.
        warnings.simplefilter("ignore")
        workbook = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        rows = _Rows()
        for sheet in workbook.worksheets:
            builder.heading(1, sheet.title)
            builder.table(rows.of(sheet))
    if not rows.cells:
        raise Unreadable(Refusal.NO_TEXT)
    about = workbook.properties
    created = about.created
    return builder.result(
        title=about.title or "",
        author=about.creator or "",
        created=created.isoformat() if isinstance(created, datetime) else "",
        # The first heading is the name of a sheet.
        headed=False,
    )


class _Rows:
    """Reads rows, and counts those of all sheets: a few bytes can declare any number of empty ones."""

    def __init__(self) -> None:
        self._rows = 0
        self._characters = 0
        self.cells = 0

    def of(self, sheet: Any) -> Iterator[list[str]]:
        # The declared size of a sheet can be wrong, in either direction.
        sheet.reset_dimensions()
        for row in sheet.iter_rows(values_only=True, max_col=None):
            self._rows += 1
            if self._rows > MOST_ROWS:
                raise Unreadable(Refusal.TOO_MANY_ROWS, MOST_ROWS)
            cells = [shown(value) for value in row[:_MOST_COLUMNS]]
            if any(cells):
                self.cells += 1
                yield cells


def shown(value: object) -> str:
    """Returns the value of a cell as text: numbers in full, dates in ISO 8601."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).upper()
        case float():
            whole = value.is_integer() and abs(value) < _WHOLE
            return str(int(value)) if whole else f"{value:.15g}"
        case datetime():
            return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "seconds")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
        case _:
            return str(value)[:MOST_CHARACTERS]


_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_MANIFEST = "META-INF/manifest.xml"
_ODT_DROPPED = frozenset({f"{_TEXT}tracked-changes", f"{_OFFICE}annotation", f"{_TEXT}note-citation"})
_GROUPS = frozenset({f"{_TABLE}table-header-rows", f"{_TABLE}table-rows", f"{_TABLE}table-row-group"})
_CELLS = frozenset({f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"})
_LINES = frozenset({f"{_TEXT}p", f"{_TEXT}h"})
# A few bytes can declare any number of repetitions.
_MOST_REPEATED = 100


def read_odt(data: bytes) -> ParsedText:
    archive = opened_office(data)
    entries = frozenset(archive.namelist())
    if _MANIFEST in entries and b"encryption-data" in content(archive, _MANIFEST):
        raise Unreadable(Refusal.ENCRYPTED)
    body = xml(content(archive, "content.xml")).find(f"{_OFFICE}body")
    if body is None:
        raise Unreadable(Refusal.DAMAGED)
    builder = TextBuilder()
    _add(builder, body, 0)
    about: Any = xml(content(archive, "meta.xml")) if "meta.xml" in entries else None

    def fact(*names: str) -> str:
        if about is None:
            return ""
        return next((text for name in names if (text := about.findtext(f".//{{*}}{name}"))), "")

    return builder.result(
        title=fact("title"), author=fact("initial-creator", "creator"), created=fact("creation-date")
    )


def _add(builder: TextBuilder, element: Any, depth: int) -> None:
    if depth > _MOST_DEPTH:
        raise Unreadable(Refusal.TOO_DEEP)
    for child in element:
        if child.tag == f"{_TEXT}h":
            builder.heading(_count(child, f"{_TEXT}outline-level"), _odt_text(child))
        elif child.tag == f"{_TEXT}p":
            builder.paragraph(_odt_text(child))
        elif child.tag == f"{_TEXT}list":
            for at, item in enumerate(child.iter(*_LINES)):
                builder.paragraph(f"- {_odt_text(item)}" if _odt_text(item).strip() else "", close=at > 0)
        elif child.tag == f"{_TABLE}table":
            builder.table(_odt_rows(child))
        elif child.tag not in _ODT_DROPPED:
            _add(builder, child, depth + 1)


def _count(element: Any, attribute: str) -> int:
    value = element.get(attribute, "")
    return min(int(value), _MOST_REPEATED) if value.isdecimal() else 1


def _odt_rows(table: Any) -> Iterator[list[str]]:
    for child in table:
        if child.tag in _GROUPS:
            yield from _odt_rows(child)
        elif child.tag == f"{_TABLE}table-row":
            cells: list[str] = []
            for cell in child:
                if cell.tag in _CELLS:
                    text = " ".join(_odt_text(line) for line in cell.iter(*_LINES))
                    cells += [text] * _count(cell, f"{_TABLE}number-columns-repeated")
            yield cells


def _odt_text(element: Any) -> str:
    parts: list[str] = []

    def add(one: Any, depth: int) -> None:
        if depth > _MOST_DEPTH:
            raise Unreadable(Refusal.TOO_DEEP)
        parts.append(one.text or "")
        for child in one:
            if child.tag == f"{_TEXT}s":
                parts.append(" " * _count(child, f"{_TEXT}c"))
            elif child.tag == f"{_TEXT}tab":
                parts.append("\t")
            elif child.tag == f"{_TEXT}line-break":
                parts.append("\n")
            elif child.tag not in _ODT_DROPPED:
                # A note is put in brackets at its place.
                parts.append(" (" if child.tag == f"{_TEXT}note" else "")
                add(child, depth + 1)
                parts.append(")" if child.tag == f"{_TEXT}note" else "")
            parts.append(child.tail or "")

    # A run of white space in the file counts as one space.
    add(element, 0)
    return "".join(parts)
