"""Markdown tokens as rows of text: shows a growing reply without a widget for each block."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content, Span

from atlas_desktop.tui.chat.code_blocks import language_of

if TYPE_CHECKING:
    from markdown_it.token import Token

BULLETS = ("• ", "▪ ", "‣ ", "⭑ ", "◦ ")
QUOTE = "▌ "
CODE, RULE, TABLE = "code", "rule", "table"
_HEADINGS_WITH_A_LINE_ABOVE = ("h4", "h5", "h6")
_INLINE = {"em_open": ".em", "strong_open": ".strong", "s_open": ".s"}
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Row:
    """Text to wrap, or a code block with its `language`.

    `kind` is empty for plain text, `h1` to `h6`, `code`, `rule` or `table`. `first` precedes the first line
    and `rest` the others: pairs of a text and its style (`bullet` or `quote`).
    """

    content: Content
    kind: str = ""
    first: tuple[tuple[str, str], ...] = ()
    rest: tuple[tuple[str, str], ...] = ()
    language: str = ""


@dataclass(slots=True)
class Numbers:
    """The numbering of an ordered list. A list that is read item by item continues the same numbering."""

    next: int
    width: int

    def take(self) -> str:
        text = f"{self.next}. ".rjust(self.width)
        self.next += 1
        return text


@dataclass(slots=True)
class _Edge:
    """The text to the left of the rows of a list item or a quotation."""

    mark: str
    style: str
    outer: "_Edge | None"
    used: bool = False

    def take(self) -> tuple[tuple[str, str], ...]:
        text = " " * len(self.mark) if self.used and self.style == "bullet" else self.mark
        self.used = True
        return (*_take(self.outer), (text, self.style))


def _take(edge: _Edge | None) -> tuple[tuple[str, str], ...]:
    return () if edge is None else edge.take()


def rows_of(
    tokens: Sequence["Token"], lines: Sequence[str], *, top: bool = True, numbers: Numbers | None = None
) -> list[Row]:
    """Returns the rows of whole blocks, each with the empty line below it. `lines` are those that were
    parsed.

    `top` says whether nothing is above; `numbers` is the numbering of a list that continues from above.
    Tables are shown as source text, because the width of their columns is known only at their end.
    """
    reader = _Reader(lines, numbers)
    reader.blocks(tokens, None, top=top)
    return reader.rows


class _Reader:
    def __init__(self, lines: Sequence[str], numbers: Numbers | None) -> None:
        self.rows: list[Row] = []
        self._lines = lines
        self._numbers = numbers

    def _add(self, content: Content, edge: _Edge | None, kind: str = "", language: str = "") -> None:
        first = _take(edge)
        self.rows.append(Row(content, kind, first, _take(edge), language))

    def blocks(
        self,
        tokens: Sequence["Token"],
        edge: _Edge | None,
        *,
        top: bool,
        bullets: int = 0,
        close: bool = False,
    ) -> None:
        """Reads blocks; `bullets` is the number of bullet lists they are in.

        `close` leaves out the empty line below paragraphs.
        """
        at = 0
        while at < len(tokens):
            token = tokens[at]
            end = end_of(tokens, at)
            inner = tokens[at + 1 : end]
            gap = True
            match token.type:
                case "paragraph_open":
                    self._add(inline(inner[0]), edge)
                    gap = not close
                case "heading_open":
                    if token.tag in _HEADINGS_WITH_A_LINE_ABOVE and self._wants_line(top=top):
                        self._add(Content(), edge)
                    self._add(inline(inner[0]), edge, token.tag)
                case "bullet_list_open" | "ordered_list_open":
                    self._list(token, inner, edge, bullets)
                    gap = edge is None or edge.style != "bullet"
                case "blockquote_open":
                    self.blocks(inner, _Edge(QUOTE, "quote", edge), top=False, bullets=bullets, close=True)
                case "fence" | "code_block":
                    self._add(Content(token.content.rstrip()), edge, CODE, language_of(token.info))
                case "hr":
                    self._add(Content(), edge)
                    self._add(Content(), edge, RULE)
                case "table_open" if token.map is not None:
                    for line in self._lines[slice(*token.map)]:
                        self._add(Content(line.rstrip("\n")), edge, TABLE)
            if gap:
                self._add(Content(), edge)
            at = end + 1

    def _wants_line(self, *, top: bool) -> bool:
        if not self.rows:
            return top
        return bool(self.rows[-1].content) or self.rows[-1].kind == RULE

    def _list(self, token: "Token", inner: Sequence["Token"], edge: _Edge | None, bullets: int) -> None:
        ordered = token.type == "ordered_list_open"
        numbers, self._numbers = self._numbers, None
        if ordered and numbers is None:
            numbers = numbers_of(inner)
        at = 0
        while at < len(inner):
            end = end_of(inner, at)
            mark = numbers.take() if ordered and numbers is not None else BULLETS[bullets % len(BULLETS)]
            inside = bullets + (not ordered)
            item = _Edge(mark, "bullet", edge)
            self.blocks(inner[at + 1 : end], item, top=False, bullets=inside, close=True)
            at = end + 1


def numbers_of(items: Sequence["Token"]) -> Numbers:
    """Returns the numbering of a list; `items` are the tokens between its first and last. Numbers end
    aligned."""
    level = items[0].level if items else 0
    opened = [token for token in items if token.type == "list_item_open" and token.level == level]
    start = int(opened[0].info) if opened and opened[0].info.isdecimal() else 1
    return Numbers(start, width_of(start + len(opened) - 1))


def width_of(number: int) -> int:
    """Returns the cells of a list's widest number, with a space before it and the characters after it."""
    return len(f"{number}. ") + 1


def end_of(tokens: Sequence["Token"], at: int) -> int:
    """Returns the index of the token that closes the block beginning at `at`."""
    token = tokens[at]
    if token.nesting <= 0:
        return at
    return next(
        (i for i in range(at + 1, len(tokens)) if tokens[i].nesting < 0 and tokens[i].level == token.level),
        len(tokens),
    )


def inline(token: "Token") -> Content:
    """Returns the text of a paragraph or heading, styled by the names `.em`, `.strong`, `.s` and
    `.code_inline`."""
    parts: list[str] = []
    spans: list[Span] = []
    opened: list[tuple[str, int]] = []
    at = 0
    for child in token.children or ():
        start = at
        if child.type in _INLINE:
            opened.append((_INLINE[child.type], at))
            continue
        if child.type.endswith("_close") and opened:
            style, begin = opened.pop()
            spans.append(Span(begin, at, style))
            continue
        if child.type == "hardbreak":
            text = "\n"
        elif child.type == "softbreak":
            text = " "
        elif child.type == "code_inline":
            text = child.content
            spans.append(Span(start, start + len(text), ".code_inline"))
        else:
            text = _SPACE.sub(" ", child.content)
        parts.append(text)
        at += len(text)
    return Content("".join(parts), spans=spans)
