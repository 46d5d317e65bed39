"""Markdown from a model: rendered without anything harmful, also while it streams."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Region, Size
from textual.highlight import HighlightTheme, highlight
from textual.message import Message
from textual.reactive import Reactive
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual
from textual.widget import Widget
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownFence

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean
from atlas_desktop.tui.markdown_text import (
    CODE,
    RULE,
    TAB,
    TABLE,
    Numbers,
    Row,
    end_of,
    language_of,
    new_parser,
    numbers_of,
    parser,
    rows_of,
    table_lines,
    width_of,
)
from atlas_desktop.tui.textual_workarounds import freeing_blocks
from memory.documents.entities import CitedReply, StoredCitation

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token


@dataclass(frozen=True, slots=True)
class Code:
    """A code block; `language` is the one that the fence names, or empty."""

    language: str
    text: str = field(repr=False)


def code_blocks(markdown: str) -> list[Code]:
    """Returns the fenced and indented code blocks in order, as CommonMark finds them."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark", {"html": False}).parse(markdown)
    return [
        Code(token.info.split(maxsplit=1)[0] if token.info.strip() else "", token.content.rstrip("\n"))
        for token in tokens
        if token.type in ("fence", "code_block") and token.content.strip()
    ]


_COPIES = "copies"


class CopyCode(Message):
    """A request to copy a code block."""

    def __init__(self, code: str) -> None:
        super().__init__()
        self.code = code


def head_line(language: str, width: int) -> Content:
    copy = _("Copy")
    room = max(0, width - cell_len(copy) - 1)
    said = Content(language).truncate(room, ellipsis=True, pad=True)
    clickable = Style(underline=True) + Style.from_meta({_COPIES: True})
    return Content.assemble(said, " ", (copy, clickable))


def copies(event: events.Click) -> bool:
    """Whether the copy link was clicked."""
    return _COPIES in event.style.meta


def is_head(strip: Strip) -> bool:
    return any(segment.style is not None and _COPIES in segment.style.meta for segment in strip)


class CodeHead(Widget):
    """The head of a code block. It stays in place when the code below it is scrolled sideways."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    CodeHead { dock: top; height: 1; padding: 0 1; color: $quiet; background: $panel; }
    """

    def __init__(self, language: str, code: str) -> None:
        super().__init__()
        self.auto_links = False
        self._language = language
        self._code = code

    def render(self) -> Content:
        return head_line(self._language, self.content_size.width)

    def on_click(self, event: events.Click) -> None:
        if copies(event):
            self.post_message(CopyCode(self._code))


_SCHEME = "citation:"
UNVERIFIED = "✗"
_MARKERS = re.compile(r"\[(\d{1,3}(?:[,;] ?\d{1,3}){0,20})\]")
_NUMBERS = re.compile(r"(\d+)")


def citation_at(href: str, citations: Sequence[StoredCitation]) -> StoredCitation | None:
    """Returns the citation that a link of `linked` leads to; None for any other address."""
    at = href.removeprefix(_SCHEME)
    if at == href or not at.isdecimal() or int(at) >= len(citations):
        return None
    return citations[int(at)]


def meant(marker: int, said: str, citations: Sequence[StoredCitation]) -> int | None:
    """Returns the index of the citation that a number means after (or before) the words `said`.

    One number may be cited for several sentences and verified for some of them. None if no citation has that
    number.
    """
    own = [at for at, one in enumerate(citations) if one.marker == marker]
    letters = _letters(said)
    for at in own:
        # The quotation of an unverified citation is the reply's own wording.
        quote = "" if citations[at].verified else _letters(citations[at].quote)
        if quote and quote in letters:
            return at
    words = set(said.casefold().split())
    best = [at for at in own if citations[at].verified] or own
    return max(
        best, key=lambda at: len(words.intersection(citations[at].quote.casefold().split())), default=None
    )


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def linked(children: Sequence["Token"], cited: CitedReply) -> list["Token"]:
    """Returns the parts of a paragraph, in which the numbers of citations are links, and numbers that name no
    passage are marked. Code has neither."""
    made: list[Token] = []
    said = claim = ""
    for child in children:
        if child.type != "text":
            said += child.content or " "
            made.append(child)
            continue
        at = 0
        for match in _MARKERS.finditer(child.content):
            before = child.content[at : match.start()]
            at = match.end()
            said += before
            # Two numbers in a row both belong to the words before them; a number at the start, to the words
            # after it.
            claim = said if _letters(said) else claim or _MARKERS.split(child.content[at:], maxsplit=1)[0]
            said = ""
            made += [_plain(before), *_numbers(match[1], claim, cited)]
        said += child.content[at:]
        made.append(_plain(child.content[at:]))
    return made


def _numbers(numbers: str, claim: str, cited: CitedReply) -> list["Token"]:
    """Returns the numbers in their brackets, each marked as what it is."""
    parts = _NUMBERS.split(numbers)
    parts[0], parts[-1] = "[", "]"
    if len(parts) == 3 and (only := _number(f"[{parts[1]}]", int(parts[1]), claim, cited)):
        return only
    made: list[Token] = []
    for part in parts:
        number = _number(part, int(part), claim, cited) if part.isdecimal() else []
        made += number or [_plain(part)]
    return made


def _number(text: str, marker: int, claim: str, cited: CitedReply) -> list["Token"]:
    """Returns a link for the number of a citation, and a marked text for one that names no passage; nothing
    for the number of a passage that is not cited, which is shown as it is."""
    from markdown_it.token import Token

    at = meant(marker, claim, cited.citations)
    if at is None:
        return _doubted(text) if cited.last_passage and not 1 <= marker <= cited.last_passage else []
    words = [_plain(text)] if cited.citations[at].verified else _doubted(text)
    opened = Token("link_open", "a", 1, attrs={"href": f"{_SCHEME}{at}"})
    return [opened, *words, Token("link_close", "a", -1)]


def _doubted(text: str) -> list["Token"]:
    from markdown_it.token import Token

    # Many fonts have no italic form of the sign.
    return [Token("em_open", "em", 1), _plain(text), Token("em_close", "em", -1), _plain(UNVERIFIED)]


def _plain(text: str) -> "Token":
    from markdown_it.token import Token

    return Token("text", "", 0, content=text)


UNSCROLLED: Reactive[Size] = Reactive(Size(0, 0), layout=False)
"""For widgets that never scroll themselves. Otherwise Textual lays out the whole screen a second time
whenever one of them grows."""
HIGHLIGHT_LIMIT = 12_000
"""Characters of a code block above which it is shown without colours, so that drawing stays fast."""


class CitingParser:
    """Makes the parsers for one reply, in which the numbers of the citations of `cited` are links."""

    def __init__(self) -> None:
        self.cited = CitedReply()

    def __call__(self) -> "MarkdownIt":
        if not self.cited.citations and not self.cited.last_passage:
            return parser()
        made, cited = new_parser(), self.cited

        def link(state: "StateCore") -> None:
            # After everything harmful is gone: no other link is left.
            for token in state.tokens:
                if token.children:
                    token.children = linked(token.children, cited)

        made.core.ruler.push("citations", link)
        return made


class CodeBlock(MarkdownFence):
    """A code block whose language is never guessed: guessing would run every lexer."""

    def __init__(self, markdown: Markdown, token: "Token", code: str) -> None:
        # Textual measures a tab as one cell, and would wrap lines that then do not fit.
        super().__init__(markdown, token, code.expandtabs(TAB))
        self._written = code

    def compose(self) -> ComposeResult:
        yield CodeHead(language_of(self.lexer), self._written)
        yield from super().compose()

    @classmethod
    def highlight(
        cls,
        code: str,
        language: str,
        ansi: bool = False,  # noqa: ARG003, FBT001, FBT002
        dark: bool = False,  # noqa: ARG003, FBT001, FBT002
    ) -> Content:
        name = language_of(language)
        if not name or len(code) > HIGHLIGHT_LIMIT:
            return Content(code.rstrip("\n"))
        return highlight(code, language=name, theme=HighlightTheme)


def load_highlighter() -> None:
    """Imports what the first code block needs. Slow; call it in a thread."""
    highlight("pass", language="python", theme=HighlightTheme)


class SafeMarkdown(Markdown):
    """Markdown without hidden HTML or control characters. The only links are the citations of `cited`."""

    virtual_size = UNSCROLLED
    BLOCKS = {  # noqa: RUF012
        **Markdown.BLOCKS,
        **freeing_blocks(),
        "fence": CodeBlock,
        "code_block": CodeBlock,
    }

    def __init__(self, text: str = "", cited: CitedReply | None = None) -> None:
        # Not a method of this widget: the two would hold each other.
        self._citing = CitingParser()
        self._citing.cited = cited or CitedReply()
        super().__init__(clean(text) or None, parser_factory=self._citing, open_links=False)

    @property
    def cited(self) -> CitedReply:
        """What the reply cites. A change takes effect with the next update of the text."""
        return self._citing.cited

    @cited.setter
    def cited(self, cited: CitedReply) -> None:
        self._citing.cited = cited


SPARE_LINES = 6
"""Empty lines below the text. The screen is laid out and scrolled again only when they are used up."""
STREAMED_HIGHLIGHT_LIMIT = 1_500
"""Characters of a code block up to which it is coloured while it grows: every frame colours all of them."""


class _Place(NamedTuple):
    """Where a part of the reply begins: its line in the source, and its index in the painted strips."""

    line: int
    strip: int


_START = _Place(0, 0)
CODE_HEAD = "code_head"


class Growing(Widget):
    """Looks like `SafeMarkdown`, painted line by line; tables and code that are too wide are cut."""

    sideways = False
    """Whether wide lines are kept whole, because the container scrolls sideways."""

    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)
    ALLOW_SELECT = False
    COMPONENT_CLASSES = {  # noqa: RUF012
        "em", "strong", "s", "code_inline", "h1", "h2", "h3", "h4", "h5", "h6",
        "code", "code_head", "bullet", "quote", "rule",
    }  # fmt: skip
    DEFAULT_CSS = """
    Growing {
        padding: 0 1;
        height: auto;
        color: $foreground;
        & > .em { text-style: italic; }
        & > .strong { text-style: bold; }
        & > .s { text-style: strike; }
        &:dark > .code_inline { background: $warning 10%; color: $text-warning 95%; }
        &:light > .code_inline { background: $error 5%; color: $text-error 95%; }
        & > .h1 { color: $markdown-h1-color; text-style: $markdown-h1-text-style; }
        & > .h2 { color: $markdown-h2-color; text-style: $markdown-h2-text-style; }
        & > .h3 { color: $markdown-h3-color; text-style: $markdown-h3-text-style; }
        & > .h4 { color: $markdown-h4-color; text-style: $markdown-h4-text-style; }
        & > .h5 { color: $markdown-h5-color; text-style: $markdown-h5-text-style; }
        & > .h6 { color: $markdown-h6-color; text-style: $markdown-h6-text-style; }
        & > .code { color: rgb(210,210,210); background: $panel; }
        & > .code_head { color: $quiet; background: $panel; }
        & > .bullet { color: $text-primary; }
        &:light > .bullet { color: $text-secondary; }
        & > .quote { color: $border-blurred; }
        & > .rule { color: $secondary; }
    }
    """

    def __init__(self, text: str = "", lines: int = 0) -> None:
        """`text` is the text so far, which may have been shown in `lines` lines."""
        super().__init__()
        self.auto_links = False
        self.source = clean(text)
        self._strips: list[Strip] = []
        self._width = 0
        self._room = lines + SPARE_LINES
        self.styles.height = self._room
        # Only the newest block can still change or, if it is a list, its newest item.
        self._block = self._item = _START
        self._numbers: Numbers | None = None

    # --- input ------------------------------------------------------------------------------------

    def grow(self, text: str) -> None:
        """Appends text to the reply and repaints what changed."""
        self.source += clean(text)
        if self._width:
            self._read()

    @property
    def _readable(self) -> int:
        """The columns of text."""
        return self.content_size.width

    def on_resize(self) -> None:
        if self._readable != self._width:
            self._width = self._readable
            self._read_anew()
            if len(self._strips) + SPARE_LINES < self._room:
                # A wider window needs fewer lines. The view stays at the end of the widget, not of the text.
                self._room = len(self._strips) + SPARE_LINES
                self.styles.height = self._room

    def notify_style_update(self) -> None:
        """Repaints after the colours have changed."""
        super().notify_style_update()
        if self._width:
            self._read_anew()

    def _read_anew(self) -> None:
        self._from(_START)
        self._read()

    def _from(self, block: "_Place") -> None:
        self._block = self._item = block
        self._numbers = None

    def _read(self) -> None:
        """Parses the source from the newest block or list item on; everything above is unchanged."""
        begin = self._item
        lines = self.source.splitlines(keepends=True)[begin.line :]
        tokens = parser().parse("".join(lines))
        if self._numbers is not None and not _goes_on(self._numbers, tokens):
            self._from(self._block)
            self._read()
            return
        numbers = None if self._numbers is None else replace(self._numbers)
        strips = self._strips[: begin.strip]
        # The meaning of a line can change until it ends: "2" becomes another item of the list above.
        whole = len(lines) if self.source.endswith("\n") else len(lines) - 1
        last = _last_block(tokens, whole)
        if last:
            strips += self._paint(rows_of(tokens[:last], top=not strips, numbers=numbers))
            numbers = None
            self._from(_Place(begin.line + _first_line(tokens[last]), len(strips)))
        newest = tokens[last:]
        if newest and newest[0].type == "ordered_list_open" and numbers is None:
            numbers = numbers_of(newest[1 : end_of(newest, 0)])
        if split := _last_item(newest, whole):
            # The empty line below a list comes after its last item.
            strips += self._paint(
                rows_of([*newest[:split], newest[-1]], top=not strips, numbers=numbers)[:-1]
            )
            self._item = _Place(begin.line + _first_line(newest[split]), len(strips))
            self._numbers = None if numbers is None else replace(numbers)
            newest = [newest[0], *newest[split:]]
        strips += self._paint(rows_of(newest, top=not strips, numbers=numbers))
        self._show(strips, begin.strip)

    def _show(self, strips: list[Strip], unchanged: int) -> None:
        """Repaints the lines that differ; triggers a layout if they do not all fit."""
        old, self._strips = self._strips, strips
        if len(strips) > self._room:
            self._room = len(strips) + SPARE_LINES
            self.styles.height = self._room
            return
        nothing = Strip([])
        pairs = enumerate(zip_longest(old[unchanged:], strips[unchanged:], fillvalue=nothing), unchanged)
        if differ := [at for at, (was, is_now) in pairs if was != is_now]:
            self.refresh(Region(0, differ[0], self._width, differ[-1] - differ[0] + 1))

    def on_click(self, event: events.Click) -> None:
        if copies(event):
            block = sum(map(is_head, self._strips[: event.y]))
            found = [t.content for t in parser().parse(self.source) if t.type in ("fence", "code_block")]
            self.post_message(CopyCode(found[block].rstrip()))

    # --- rendering --------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        if y < len(self._strips):
            return self._strips[y]
        # Not `_width`: what is painted before the first resize event is not painted again.
        return Strip.blank(self.content_size.width, self.rich_style)

    def _paint(self, rows: Iterable[Row]) -> list[Strip]:
        return [strip for row in rows for strip in self._lines_of(row)]

    def _lines_of(self, row: Row) -> list[Strip]:
        first, rest = self._marks(row.first), self._marks(row.rest)
        # A quotation also keeps one cell free at its right.
        quotes = sum(style == "quote" for _, style in row.first)
        width = max(1, self._width - first.cell_length - quotes)
        if row.kind == CODE:
            painted = self._code(row, width)
        elif row.kind == RULE:
            painted = self._wrapped(Content("─" * width), RULE, width)
        elif row.kind == TABLE:
            painted = self._table(row, width)
        else:
            painted = self._wrapped(row.content, row.kind, width)
        lines = [Strip.join([rest if at else first, strip]) for at, strip in enumerate(painted)]
        # Read once: each access combines the styles of all ancestors.
        ground = self.rich_style
        return [line.extend_cell_length(self._width, ground) for line in lines]

    def _marks(self, marks: tuple[tuple[str, str], ...]) -> Strip:
        return Strip([Segment(text, self.get_visual_style(style).rich_style) for text, style in marks])

    def _style(self, kind: str) -> Style:
        return self.get_visual_style(kind) if kind else self.visual_style

    def _wrapped(self, content: Content, kind: str, width: int) -> list[Strip]:
        style = self._style(kind)
        return Visual.to_strips(self, content, width, None, style, apply_selection=False, pad=True)

    def _cut(self, content: Content, kind: str, width: int) -> list[Strip]:
        """Returns lines that are not wrapped: cut at the right, unless the text scrolls sideways."""
        style = self._style(kind)
        widest = max(width, *(cell_len(line) for line in content.plain.split("\n")))
        strips = Visual.to_strips(self, content, widest, None, style, apply_selection=False, pad=True)
        return strips if self.sideways else [strip.crop(0, width) for strip in strips]

    def _table(self, row: Row, width: int) -> list[Strip]:
        lines = table_lines(row.cells, width)
        if not self.sideways:
            lines = [line.truncate(width, ellipsis=True) for line in lines]
        return self._cut(Content("\n").join(lines), "", width)

    def _code(self, row: Row, width: int) -> list[Strip]:
        code = Content(row.content.plain.expandtabs(TAB))
        if row.language and len(code.plain) <= STREAMED_HIGHLIGHT_LIMIT:
            code = highlight(code.plain, language=row.language, theme=HighlightTheme)
        edge = Strip([Segment(" ", self._style(CODE).rich_style)])
        inner = max(1, width - 1)
        head = self._cut(head_line(row.language, max(1, width - 2)), CODE_HEAD, inner)
        return [Strip.join([edge, strip]) for strip in (*head, *self._cut(code, CODE, inner))]


def _first_line(token: "Token") -> int:
    return token.map[0] if token.map is not None else 0


def _last_block(tokens: Sequence["Token"], whole: int) -> int:
    """Returns the index of the last block that starts in one of the `whole` lines; 0 if there is only one."""
    found = (at for at in range(len(tokens) - 1, 0, -1) if _opens(tokens[at], 0, whole))
    return next(found, 0)


def _last_item(block: Sequence["Token"], whole: int) -> int:
    """Returns the index of the last such list item; 0 if it is the only one, or if `block` is not one
    list."""
    if not block or not block[0].type.endswith("_list_open") or any(t.level == 0 for t in block[1:-1]):
        return 0
    last = next((at for at in range(len(block) - 1, 0, -1) if _opens(block[at], 1, whole)), 0)
    return last if last > 1 else 0


def _opens(token: "Token", level: int, whole: int) -> bool:
    return token.level == level and token.nesting >= 0 and token.map is not None and token.map[0] < whole


def _goes_on(numbers: Numbers, tokens: Sequence["Token"]) -> bool:
    """Whether `tokens` begin with more items of an ordered list, with numbers no wider than before."""
    if not tokens or tokens[0].type != "ordered_list_open":
        return False
    more = sum(token.type == "list_item_open" and token.level == 1 for token in tokens[: end_of(tokens, 0)])
    return width_of(numbers.next + more - 1) <= numbers.width
