"""DOCX: paragraphs, headings by style, tables and footnotes."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import docx
from docx.document import Document

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing.archives import opened_office, without_media, xml
from atlas_desktop.parsing.building import TextBuilder
from atlas_desktop.parsing.protocol import Unreadable
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
    """Returns the text with the properties that an office file states."""
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
                # Level 10 is that of plain text.
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
