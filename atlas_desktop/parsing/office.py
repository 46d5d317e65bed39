"""Office files: DOCX, PPTX, XLSX and ODT."""

import io
import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time
from typing import Any

from atlas_desktop.errors import DocumentRefused, Refusal
from atlas_desktop.parsing.archives import content, opened, refuse_entities, xml
from atlas_desktop.parsing.building import MOST_CHARACTERS, TextBuilder
from memory.documents.entities import ParsedText

_HEADING = re.compile(r"(?:heading|überschrift|título|titre) (\d)", re.IGNORECASE)


def read_docx(data: bytes, name: str) -> ParsedText:
    import docx
    from docx.table import Table

    refuse_entities(opened(data, name), name)
    document = docx.Document(io.BytesIO(data))
    builder = TextBuilder(name)
    for block in document.iter_inner_content():
        if isinstance(block, Table):
            builder.table([cell.text for cell in _different(row.cells)] for row in block.rows)
            continue
        style = (block.style.name if block.style is not None else "") or ""
        heading = _HEADING.match(style)
        if heading:
            builder.heading(int(heading[1]), block.text)
        elif style.lower() == "title":
            builder.heading(1, block.text)
        elif style.lower().startswith("list") and block.text.strip():
            builder.paragraph(f"- {block.text}")
        else:
            builder.paragraph(block.text)
    return _with_properties(builder, document.core_properties)


def _different(cells: Iterable[Any]) -> Iterator[Any]:
    """Yields each cell once: merged ones are repeated."""
    before = None
    for cell in cells:
        if before is None or cell._tc is not before._tc:  # noqa: SLF001 - python-docx offers no other identity
            yield cell
        before = cell


def _with_properties(builder: TextBuilder, about: Any) -> ParsedText:
    created = about.created
    return builder.result(
        title=about.title or "",
        author=about.author or "",
        created=created.date().isoformat() if isinstance(created, datetime) else "",
    )


def read_pptx(data: bytes, name: str) -> ParsedText:
    from pptx import Presentation

    refuse_entities(opened(data, name), name)
    presentation = Presentation(io.BytesIO(data))
    builder = TextBuilder(name)
    for slide in presentation.slides:
        builder.page()
        title = slide.shapes.title
        if title is not None:
            builder.heading(2, title.text_frame.text)
        for shape in _shapes(slide.shapes):
            if title is not None and shape.shape_id == title.shape_id:
                continue
            if shape.has_text_frame:
                builder.paragraph(shape.text_frame.text.replace("\v", "\n"))
            elif getattr(shape, "has_table", False):
                builder.table([cell.text for cell in row.cells] for row in shape.table.rows)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            builder.paragraph(slide.notes_slide.notes_text_frame.text)
    return _with_properties(builder, presentation.core_properties)


def _shapes(shapes: Iterable[Any], depth: int = 0) -> Iterator[Any]:
    for shape in shapes:
        if hasattr(shape, "shapes") and depth < 10:
            yield from _shapes(shape.shapes, depth + 1)
        else:
            yield shape


_MOST_ROWS = 500_000
_MOST_COLUMNS = 500


def read_xlsx(data: bytes, name: str) -> ParsedText:
    import openpyxl

    refuse_entities(opened(data, name), name)
    workbook = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    builder = TextBuilder(name)
    for sheet in workbook.worksheets:
        rows = list(_rows(sheet, name))
        if any(any(row) for row in rows):
            builder.heading(1, sheet.title)
            builder.table(rows)
    about = workbook.properties
    created = about.created
    return builder.result(
        title=about.title or "",
        author="" if (about.creator or "") == "openpyxl" else about.creator or "",
        created=created.date().isoformat() if isinstance(created, datetime) else "",
        # The first heading is the name of a sheet.
        headed=False,
    )


def _rows(sheet: Any, name: str) -> Iterator[list[str]]:
    characters = 0
    for at, row in enumerate(sheet.iter_rows(values_only=True, max_col=_MOST_COLUMNS)):
        cells = [_shown(value) for value in row]
        characters += sum(map(len, cells))
        if at >= _MOST_ROWS or characters > MOST_CHARACTERS:
            raise DocumentRefused(name, Refusal.TOO_MUCH_TEXT, MOST_CHARACTERS)
        yield cells


def _shown(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value)
        case float():
            return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(round(value, 10))
        case datetime() if value.time() == time():
            return value.date().isoformat()
        case datetime() | date() | time():
            return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
        case _:
            return str(value)


_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DUBLIN = "{http://purl.org/dc/elements/1.1/}"
_META = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"
_MOST_SPACES = 1_000
_MOST_REPEATS = 100
_MOST_DEPTH = 100


def read_odt(data: bytes, name: str) -> ParsedText:
    archive = opened(data, name)
    names = set(archive.namelist())
    if "META-INF/manifest.xml" in names and b"encryption-data" in content(
        archive, "META-INF/manifest.xml", name
    ):
        raise DocumentRefused(name, Refusal.ENCRYPTED)
    refuse_entities(archive, name)
    body = xml(content(archive, "content.xml", name), name)
    builder = TextBuilder(name)
    _add_odt(builder, body, 0)
    about = xml(content(archive, "meta.xml", name), name) if "meta.xml" in names else None

    def property_(tag: str) -> str:
        return "" if about is None else (about.findtext(f".//{tag}") or "")

    return builder.result(
        title=property_(f"{_DUBLIN}title"),
        author=property_(f"{_META}initial-creator") or property_(f"{_DUBLIN}creator"),
        created=property_(f"{_META}creation-date")[:10],
    )


def _add_odt(builder: TextBuilder, element: Any, depth: int) -> None:
    for child in element:
        tag = child.tag
        if tag == f"{_TEXT}h":
            builder.heading(int(child.get(f"{_TEXT}outline-level") or 1), _odt_text(child))
        elif tag == f"{_TEXT}p":
            builder.paragraph(_odt_text(child))
        elif tag == f"{_TEXT}list-item":
            builder.paragraph("\n".join(f"- {_odt_text(one)}" for one in child.iter(f"{_TEXT}p")))
        elif tag == f"{_TABLE}table":
            builder.table(_odt_row(row) for row in child.iter(f"{_TABLE}table-row"))
        elif isinstance(tag, str) and depth < _MOST_DEPTH and not tag.startswith(f"{_TEXT}tracked"):
            _add_odt(builder, child, depth + 1)


def _odt_row(row: Any) -> list[str]:
    cells: list[str] = []
    for cell in row.iter(f"{_TABLE}table-cell"):
        times = min(int(cell.get(f"{_TABLE}number-columns-repeated") or 1), _MOST_REPEATS)
        cells += [" ".join(_odt_text(one) for one in cell.iter(f"{_TEXT}p"))] * times
    return cells


def _odt_text(element: Any) -> str:
    parts = [element.text or ""]
    for child in element:
        if child.tag == f"{_TEXT}s":
            parts.append(" " * min(int(child.get(f"{_TEXT}c") or 1), _MOST_SPACES))
        elif child.tag == f"{_TEXT}tab":
            parts.append("\t")
        elif child.tag == f"{_TEXT}line-break":
            parts.append("\n")
        elif isinstance(child.tag, str) and not child.tag.endswith("}note"):
            parts.append(_odt_text(child))
        parts.append(child.tail or "")
    return "".join(parts)
