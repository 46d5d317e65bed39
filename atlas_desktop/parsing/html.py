"""HTML: headings, paragraphs, lists and tables. Scripts, styles and navigation are left out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree, html

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing.building import TextBuilder
from atlas_desktop.parsing.plain import decoded
from atlas_desktop.parsing.protocol import Unreadable
from memory.documents.entities import ParsedText

_DROPPED_TAGS = """
    script style noscript template svg math nav iframe object embed head canvas button select
    textarea audio video
"""
_BLOCK_TAGS = """
    address article aside blockquote body caption center dd details dialog div dl dt fieldset
    figcaption figure footer form header hr html li main ol p pre section summary table tbody td
    tfoot th thead tr ul
"""
_DROPPED = frozenset(_DROPPED_TAGS.split())
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
# A table with one of these arranges a page.
_ARRANGED = frozenset({"table", "ul", "ol", "pre", "blockquote", *_HEADINGS})
_AUTHORS = frozenset({"author", "dc.creator", "dcterms.creator", "article:author"})
_DATES = frozenset({"date", "dc.date", "dcterms.created", "article:published_time"})
_MOST_COLUMNS_SPANNED = 50
_MOST_DEPTH = 250
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What the head of a page states, or empty."""

    title: str = ""
    author: str = ""
    created: str = ""


def read_html(data: bytes) -> ParsedText:
    builder = TextBuilder()
    facts = add_html(builder, decoded(data, declared=True))
    return builder.result(title=facts.title, author=facts.author, created=facts.created)


def add_html(builder: TextBuilder, text: str) -> PageFacts:
    """Adds the text of a page. Raises `Unreadable`."""
    if not text.strip():
        return PageFacts()
    parser = html.HTMLParser(
        no_network=True, huge_tree=False, encoding="utf-8", remove_comments=True, remove_pis=True
    )
    try:
        page = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except (etree.LxmlError, ValueError):
        raise Unreadable(Refusal.DAMAGED) from None
    if any("depth" in error.message for error in parser.error_log):
        # What is nested more deeply is not in the tree.
        raise Unreadable(Refusal.TOO_DEEP)
    return add_page(builder, page)


def add_page(builder: TextBuilder, page: etree._Element) -> PageFacts:
    """Adds the text of a parsed page, HTML or XHTML."""
    walker = _Walker(builder)
    walker.block(page, 0, pre=False)
    walker.flush()
    title = next((_flat(one) for one in page.iter("{*}title")), "")
    return PageFacts(title, _meta(page, _AUTHORS), _meta(page, _DATES))


def _meta(page: etree._Element, names: frozenset[str]) -> str:
    for one in page.iter("{*}meta"):
        if (one.get("name") or one.get("property") or "").lower() in names:
            return one.get("content") or ""
    return ""


def _tag(element: etree._Element) -> str:
    """Returns the name of an element in lower case; empty for what is no element, such as an entity."""
    tag = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


class _Walker:
    """Collects text within lines, and hands it over where blocks begin and end."""

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._inline: list[str] = []
        self._marker = ""
        self._after_item = False

    def block(self, element: etree._Element, depth: int, *, pre: bool) -> None:
        """Adds what an element contains."""
        if depth > _MOST_DEPTH:
            raise Unreadable(Refusal.TOO_DEEP)
        self._text(element.text, pre=pre)
        number = 0
        for child in element:
            tag = _tag(child)
            if tag == "li":
                number += 1
                self.flush()
                self._marker = f"{number}. " if _tag(element) == "ol" else "- "
            if tag and tag not in _DROPPED:
                self._child(child, tag, depth + 1, pre=pre)
            self._text(child.tail, pre=pre)

    def _child(self, child: etree._Element, tag: str, depth: int, *, pre: bool) -> None:
        if tag in _HEADINGS:
            self.flush()
            self._builder.heading(_HEADINGS[tag], _flat(child))
            self._after_item = False
        elif tag == "table" and _is_data(child):
            self.flush()
            for caption in child.iter("{*}caption"):
                self._builder.paragraph(_flat(caption))
            self._builder.table(_rows(child))
            self._after_item = False
        elif tag == "br":
            self._inline.append("\n")
        elif tag in _BLOCKS:
            self.flush(pre=pre)
            self.block(child, depth, pre=pre or tag == "pre")
            self.flush(pre=pre or tag == "pre")
        else:
            self.block(child, depth, pre=pre)

    def _text(self, text: str | None, *, pre: bool) -> None:
        if text:
            self._inline.append(text if pre else _SPACES.sub(" ", text))

    def flush(self, *, pre: bool = False) -> None:
        """Ends a block."""
        joined = "".join(self._inline)
        self._inline.clear()
        if not pre:
            joined = "\n".join(" ".join(line.split()) for line in joined.split("\n"))
        if joined.strip():
            item = bool(self._marker)
            text = joined.rstrip() if pre else joined.strip()
            self._builder.paragraph(self._marker + text, close=item and self._after_item)
            self._marker, self._after_item = "", item


def _is_data(table: etree._Element) -> bool:
    """Whether a table has rows of cells; many tables only arrange a page."""
    arranged = table.get("role") == "presentation" or any(
        _tag(one) in _ARRANGED for one in table.iterdescendants("{*}*")
    )
    return not arranged and any(len(row) > 1 for row in table.iter("{*}tr"))


def _rows(table: etree._Element) -> Iterator[list[str]]:
    for row in table.iter("{*}tr"):
        cells: list[str] = []
        for cell in row:
            if _tag(cell) in ("td", "th"):
                spanned = cell.get("colspan", "1")
                columns = int(spanned) if spanned.isdecimal() else 1
                cells += [_flat(cell), *[""] * (min(columns, _MOST_COLUMNS_SPANNED) - 1)]
        yield cells


def _flat(element: etree._Element) -> str:
    """Returns the text of an element on one line."""
    parts: list[str] = []

    def add(one: etree._Element, depth: int) -> None:
        if depth > _MOST_DEPTH:
            raise Unreadable(Refusal.TOO_DEEP)
        parts.append(one.text or "")
        for child in one:
            tag = _tag(child)
            apart = " " if tag in _BLOCKS or tag == "br" else ""
            if tag and tag not in _DROPPED:
                parts.append(apart)
                add(child, depth + 1)
                parts.append(apart)
            parts.append(child.tail or "")

    add(element, 0)
    return " ".join("".join(parts).split())
