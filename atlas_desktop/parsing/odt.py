"""ODT: paragraphs, headings, lists and tables."""

from collections.abc import Iterator
from typing import Any

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing.archives import content, opened_office, xml
from atlas_desktop.parsing.building import TextBuilder
from atlas_desktop.parsing.protocol import Unreadable
from memory.documents.entities import ParsedText

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_MANIFEST = "META-INF/manifest.xml"
_DROPPED = frozenset({f"{_TEXT}tracked-changes", f"{_OFFICE}annotation", f"{_TEXT}note-citation"})
_GROUPS = frozenset({f"{_TABLE}table-header-rows", f"{_TABLE}table-rows", f"{_TABLE}table-row-group"})
_CELLS = frozenset({f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"})
_LINES = frozenset({f"{_TEXT}p", f"{_TEXT}h"})
# A few bytes can state any number of repetitions.
_MOST_REPEATED = 100
_MOST_DEPTH = 250


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
            builder.heading(_count(child, f"{_TEXT}outline-level"), _text(child))
        elif child.tag == f"{_TEXT}p":
            builder.paragraph(_text(child))
        elif child.tag == f"{_TEXT}list":
            for at, item in enumerate(child.iter(*_LINES)):
                builder.paragraph(f"- {_text(item)}" if _text(item).strip() else "", close=at > 0)
        elif child.tag == f"{_TABLE}table":
            builder.table(_rows(child))
        elif child.tag not in _DROPPED:
            _add(builder, child, depth + 1)


def _count(element: Any, attribute: str) -> int:
    value = element.get(attribute, "")
    return min(int(value), _MOST_REPEATED) if value.isdecimal() else 1


def _rows(table: Any) -> Iterator[list[str]]:
    for child in table:
        if child.tag in _GROUPS:
            yield from _rows(child)
        elif child.tag == f"{_TABLE}table-row":
            cells: list[str] = []
            for cell in child:
                if cell.tag in _CELLS:
                    text = " ".join(_text(line) for line in cell.iter(*_LINES))
                    cells += [text] * _count(cell, f"{_TABLE}number-columns-repeated")
            yield cells


def _text(element: Any) -> str:
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
            elif child.tag not in _DROPPED:
                # A note stands in brackets where it belongs.
                parts.append(" (" if child.tag == f"{_TEXT}note" else "")
                add(child, depth + 1)
                parts.append(")" if child.tag == f"{_TEXT}note" else "")
            parts.append(child.tail or "")

    # White space in the file means one space.
    add(element, 0)
    return "".join(parts)
