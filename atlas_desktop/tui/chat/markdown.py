"""Markdown from a model, made harmless."""

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.highlight import HighlightTheme, highlight
from textual.reactive import Reactive
from textual.widgets import Markdown
from textual.widgets._markdown import MarkdownBulletList, MarkdownOrderedList, MarkdownTable
from textual.widgets.markdown import MarkdownBlock, MarkdownFence

from atlas_desktop.services.cleaning import clean
from atlas_desktop.tui.chat.code_blocks import CodeHead, language_of
from atlas_desktop.tui.textual_workarounds import let_go

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

UNSCROLLED: Reactive[Size] = Reactive(Size(0, 0), layout=False)
"""For widgets that never scroll by themselves: otherwise Textual lays the whole screen out a second time
whenever one of them has grown."""
TAB = 8
HIGHLIGHT_LIMIT = 12_000
"""Characters of a code block above which it is shown without colours, so that drawing stays quick."""


def _plain_links(children: Iterable["Token"]) -> list["Token"]:
    """Links and images as text with the whole address behind it: nothing to click, nothing to fetch."""
    from markdown_it.token import Token

    kept: list[Token] = []
    opened: list[tuple[str, int]] = []
    for token in children:
        if token.type == "link_open":
            opened.append((str(token.attrs.get("href", "")), len(kept)))
        elif token.type == "link_close":
            href, start = opened.pop()
            said = "".join(t.content for t in kept[start:])
            if href and clean(href) != said:
                kept.append(Token("text", "", 0, content=f" ({clean(href)})"))
        elif token.type == "image":
            address = clean(str(token.attrs.get("src", "")))
            kept.append(Token("text", "", 0, content=f"[image: {clean(token.content)}] ({address})"))
        else:
            kept.append(token)
    return kept


def _make_harmless(state: "StateCore") -> None:
    """Cleans once more after parsing: entities and percent-escapes are decoded there, into anything."""
    for token in state.tokens:
        token.content = clean(token.content)
        token.info = clean(token.info)
        if token.children:
            for child in token.children:
                child.content = clean(child.content)
                if child.type == "softbreak":
                    # Whoever writes in a chat means the lines that they write: poems, addresses.
                    child.type = "hardbreak"
            token.children = _plain_links(token.children)


@cache
def parser() -> "MarkdownIt":
    """CommonMark with tables and strike-through. HTML is shown as it is written, never left out."""
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.core.ruler.push("harmless", _make_harmless)
    return made


class CodeBlock(MarkdownFence):
    """A code block whose language is never guessed: guessing runs every lexer there is."""

    def __init__(self, markdown: Markdown, token: "Token", code: str) -> None:
        # Textual measures a tab as one cell, and wraps what then does not fit.
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
    """Imports what the first code block needs. For a thread: it takes a while."""
    highlight("pass", language="python", theme=HighlightTheme)


def _let_go_of_parts(blocks: Iterable[MarkdownBlock]) -> None:
    """Items and cells are read by the list or table that they are of, and are never shown themselves."""
    for block in blocks:
        _let_go_of_parts(block._blocks)  # noqa: SLF001 - Textual has no other name for them
        let_go(block)


def _composed(items: Iterable[MarkdownBlock], made: ComposeResult) -> ComposeResult:
    """What a list is made of. Its items are read by then, which its making empties them of."""
    items = [*items]
    yield from made
    for item in items:
        let_go(item)


class BulletList(MarkdownBulletList):
    """A list with bullets, of which nothing is left when it is gone."""

    def compose(self) -> ComposeResult:
        return _composed(self._blocks, super().compose())


class OrderedList(MarkdownOrderedList):
    """A list with numbers, of which nothing is left when it is gone."""

    def compose(self) -> ComposeResult:
        return _composed(self._blocks, super().compose())


class Table(MarkdownTable):
    """A table of which nothing is left when it is gone."""

    def compose(self) -> ComposeResult:
        yield from super().compose()
        _let_go_of_parts(self._blocks)


class SafeMarkdown(Markdown):
    """Markdown without links to click, HTML to hide in, or control characters."""

    virtual_size = UNSCROLLED
    BLOCKS = {  # noqa: RUF012
        **Markdown.BLOCKS,
        "bullet_list_open": BulletList,
        "ordered_list_open": OrderedList,
        "table_open": Table,
        "fence": CodeBlock,
        "code_block": CodeBlock,
    }

    def __init__(self, text: str = "") -> None:
        super().__init__(clean(text) or None, parser_factory=parser, open_links=False)
