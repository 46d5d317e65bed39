"""Markdown as rows of text: for previews, whose tables and code scroll sideways, and for replies.

`rows_of` parses it, `table_lines` draws all tables, `markdown_text` returns one styled text, and
`ReadingText` shows such a text at a readable width.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content, Span
from textual.geometry import Size
from textual.style import Style
from textual.widgets import Static

from atlas_desktop.services.cleaning import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

TAB = 8
WIDEST = 100
"""The maximum width of a text, in columns."""


def language_of(info: str) -> str:
    """Returns the language named by a fence; empty if it names none."""
    return info.split(maxsplit=1)[0] if info.strip() else ""


def _plain_links(children: Iterable["Token"]) -> list["Token"]:
    """Returns links and images as text followed by the full address: nothing to click, nothing to fetch."""
    from markdown_it.token import Token

    kept: list[Token] = []
    opened: list[tuple[str, int]] = []
    for token in children:
        if token.type == "link_open":
            opened.append((str(token.attrs.get("href", "")), len(kept)))
        elif token.type == "link_close":
            href, start = opened.pop()
            said = "".join(t.content for t in kept[start:])
            # An address of a document says nothing to a person.
            if href and clean(href) != said and not href.startswith("atlas://"):
                kept.append(Token("text", "", 0, content=f" ({clean(href)})"))
        elif token.type == "image":
            address = clean(str(token.attrs.get("src", "")))
            kept.append(Token("text", "", 0, content=f"[image: {clean(token.content)}] ({address})"))
        else:
            kept.append(token)
    return kept


def _make_harmless(state: "StateCore") -> None:
    """Cleans the text again after parsing, which decodes entities and percent escapes into any character."""
    for token in state.tokens:
        token.content = clean(token.content)
        token.info = clean(token.info)
        if token.children:
            for child in token.children:
                child.content = clean(child.content)
                if child.type == "softbreak":
                    # Line breaks in a chat are intended, as in poems and addresses.
                    child.type = "hardbreak"
            token.children = _plain_links(token.children)


@cache
def parser() -> "MarkdownIt":
    """Returns a parser for CommonMark with tables and strikethrough. It shows HTML as text, never drops
    it."""
    return new_parser()


def new_parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.core.ruler.push("harmless", _make_harmless)
    return made


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
    and `rest` the others: pairs of a text and its style (`bullet` or `quote`). A table has its `cells`, row
    by row, the head first.
    """

    content: Content
    kind: str = ""
    first: tuple[tuple[str, str], ...] = ()
    rest: tuple[tuple[str, str], ...] = ()
    language: str = ""
    cells: "Cells" = ()


Cells = Sequence[Sequence[Content]]


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


def rows_of(tokens: Sequence["Token"], *, top: bool = True, numbers: Numbers | None = None) -> list[Row]:
    """Returns the rows of whole blocks, each with the empty line below it.

    `top` says whether nothing is above; `numbers` is the numbering of a list that continues from above.
    """
    reader = _Reader(numbers)
    reader.blocks(tokens, None, top=top)
    return reader.rows


class _Reader:
    def __init__(self, numbers: Numbers | None) -> None:
        self.rows: list[Row] = []
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
                case "table_open":
                    first = _take(edge)
                    self.rows.append(Row(Content(), TABLE, first, _take(edge), cells=_cells(inner)))
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


def _cells(tokens: Sequence["Token"]) -> Cells:
    """Returns the cells of a table, row by row; `tokens` are those between its first and last."""
    found: list[list[Content]] = []
    for token in tokens:
        if token.type == "tr_open":
            found.append([])
        elif token.type == "inline":
            found[-1].append(inline(token))
    return found


# --- tables ----------------------------------------------------------------------------------------

_BAR, _CROSS, _LINE = " │ ", "─┼─", "─"
_FOLDED = 24
"""Cells of a word from which it may be broken in a table."""
_HEAD, _QUIET = "bold $primary", "$border-blurred"


def table_lines(rows: Cells, width: int) -> list[Content]:
    """Returns the lines of a table, the head first; its cells are wrapped so that it fits into a width.

    The lines are wider if the words of its columns do not fit next to one another.
    """
    count = max(map(len, rows), default=0)
    if not count:
        return []
    columns = [[row[at] if at < len(row) else Content() for row in rows] for at in range(count)]
    widths = _widths(columns, width - cell_len(_BAR) * (count - 1))
    drawn = [
        [_wrapped(cell, wide) for cell, wide in zip(cells, widths, strict=True)]
        for cells in zip(*columns, strict=True)
    ]
    rule = Content.styled(_CROSS.join(_LINE * wide for wide in widths), _QUIET)
    # Rows of several lines could not be told apart.
    ruled = any(len(cell) > 1 for row in drawn[1:] for cell in row)
    bar = (_BAR, _QUIET)
    lines: list[Content] = []
    for number, row in enumerate(drawn):
        if number == 1 or (number and ruled):
            lines.append(rule)
        for line in range(max(map(len, row))):
            parts: list[Content | tuple[str, str]] = []
            for at, (cell, wide) in enumerate(zip(row, widths, strict=True)):
                words = cell[line] if line < len(cell) else Content()
                words = words.stylize_before(_HEAD) if number == 0 else words
                parts += [bar] if at else []
                parts.append(words.pad_right(wide - words.cell_length))
            lines.append(Content.assemble(*parts).rstrip())
    return [*lines, rule] if len(drawn) == 1 else lines


def _widths(columns: Sequence[Sequence[Content]], room: int) -> list[int]:
    """Returns the width of each column: what it needs, or less of the widest ones so that all fit."""
    wanted = [max(cell_len(line) for cell in column for line in cell.plain.split("\n")) for column in columns]
    least = [
        min(max((cell_len(word) for cell in column for word in cell.plain.split()), default=1), _FOLDED)
        for column in columns
    ]
    at_most = min(max(wanted), max(room, 1))
    if sum(map(min, wanted, least)) > room:
        # It does not fit anyway, and would only be harder to read.
        return [max(min(want, _FOLDED), 1) for want in wanted]
    while at_most > 1 and sum(map(min, wanted, [max(one, at_most) for one in least])) > room:
        at_most -= 1
    return [max(min(want, max(few, at_most)), 1) for want, few in zip(wanted, least, strict=True)]


def _wrapped(cell: Content, width: int) -> list[Content]:
    return [line.rstrip() for line in cell.wrap(width)] if cell.plain else [cell]


class TableText(Static):
    """The table of a reply at its full width; its container scrolls sideways."""

    DEFAULT_CSS = """
    TableText { width: auto; height: auto; text-wrap: nowrap; }
    """

    def __init__(self, rows: Cells) -> None:
        super().__init__()
        self._rows = rows
        self._for = 0

    def get_content_width(self, container: Size, viewport: Size) -> int:
        if container.width != self._for:
            self._for = container.width
            self.update(Content("\n").join(table_lines(self._rows, container.width)), layout=False)
            self.clear_cached_dimensions()
        return super().get_content_width(container, viewport)

    async def action_link(self, href: str) -> None:
        """Opens what a citation leads to."""
        from textual.widgets import Markdown

        self.post_message(Markdown.LinkClicked(self.query_ancestor(Markdown), href))


# --- one text --------------------------------------------------------------------------------------

_STYLES = {".em": "italic", ".strong": "bold", ".s": "strike", ".code_inline": "$accent"}
_MARKS = {"bullet": "$primary", "quote": "$quiet"}
_RULE = "─" * 20
_EMPHASIS = re.compile(
    r"(?<!\S)(?:\*{1,2}|~~)(?=[^\s*])|(?<=\S)(?:\*{1,2}|~~)(?![\w*])|`|(?<!\w)\[\[(?=\w)|(?<=\w)\]\](?!\w)"
)
_UNBROKEN = "unbroken"
_PREVIEWED = 72
"""Columns of a table if the caller gives no width."""

Text = Content | Callable[[int], Content]
"""A text, or a function that makes one for a width."""


def markdown_text(text: str, width: int = _PREVIEWED) -> Content:
    """Returns Markdown with bold, lists, quotations, aligned tables and code, and without its marks.

    Tables keep to the `width` if their words fit. `ReadingText` does not wrap tables and code.
    """
    lines = [line for row in rows_of(parser().parse(clean(text).strip())) for line in _lines(row, width)]
    while lines and not lines[-1].plain.strip():
        lines.pop()
    return Content("\n").join(lines)


def _lines(row: Row, width: int) -> list[Content]:
    if row.kind == RULE:
        body = [Content.styled(_RULE, "$quiet")]
    elif row.kind == TABLE:
        body = [_unbroken(_restyled(line)) for line in table_lines(row.cells, width)]
    elif row.kind == CODE:
        shown = row.content.plain.expandtabs(TAB).split("\n")
        body = [_unbroken(Content.assemble(("▏ ", "$quiet"), (line, "$accent"))) for line in shown]
    else:
        content = _restyled(row.content)
        body = content.split("\n", allow_blank=True) if content.plain else [content]
        body = [one.stylize("bold $accent") for one in body] if row.kind.startswith("h") else list(body)
    return [Content.assemble(*_edge(row.rest if at else row.first), line) for at, line in enumerate(body)]


def _restyled(content: Content) -> Content:
    """Returns a text whose styles are known in every widget."""
    spans = [Span(one.start, one.end, _STYLES.get(str(one.style), one.style)) for one in content.spans]
    return Content(content.plain, spans=spans)


def _unbroken(line: Content) -> Content:
    return line.stylize(Style.from_meta({_UNBROKEN: True}))


def _is_unbroken(line: Content) -> bool:
    return any(isinstance(one.style, Style) and _UNBROKEN in one.style.meta for one in line.spans)


def _edge(marks: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(text, _MARKS[style]) for text, style in marks]


class ReadingText(Static):
    """A text to read in a box that scrolls: at most `WIDEST` columns wide, except for tables and code."""

    DEFAULT_CSS = """
    ReadingText { width: auto; min-width: 100%; height: auto; text-wrap: nowrap; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__("", id=id, markup=False)
        self._source: Text = Content()
        self._wrapped_at = 0

    def show(self, text: Text) -> None:
        """Shows a text in place of the previous one."""
        self._source, self._wrapped_at = text, 0
        # The previous text is removed at once, even while this is hidden.
        self.update(Content())

    def get_content_width(self, container: Size, viewport: Size) -> int:
        width = min(container.width, WIDEST)
        if width != self._wrapped_at and width > 0:
            self._wrapped_at = width
            text = self._source if isinstance(self._source, Content) else self._source(width)
            self.update(_laid_out(text, width), layout=False)
            self.clear_cached_dimensions()
        return super().get_content_width(container, viewport)


def _laid_out(text: Content, width: int) -> Content:
    lines: list[Content] = []
    for line in text.split("\n", allow_blank=True):
        lines += [line] if _is_unbroken(line) else _wrapped(line, width)
    return Content("\n").join(lines)


def without_marks(
    text: str, marks: Sequence[tuple[int, int]] = ()
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Returns a line without signs of bold, strikethrough, code and links to notes, and the new positions of
    its `marks`.
    """
    removed: list[int] = []
    parts: list[str] = []
    at = 0
    for found in _EMPHASIS.finditer(text):
        opened = text.rfind("[[", 0, found.start()) if found[0] == "]]" else 0
        if opened > 0 and text[opened - 1].isalnum():
            # Of code, such as rows[[1]].
            continue
        parts.append(text[at : found.start()])
        removed += range(*found.span())
        at = found.end()
    if not removed:
        return text, tuple(marks)
    parts.append(text[at:])
    moved = ((a - bisect_left(removed, a), b - bisect_left(removed, b)) for a, b in marks)
    return "".join(parts), tuple((a, b) for a, b in moved if a < b)
