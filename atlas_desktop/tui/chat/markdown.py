"""Markdown from a model, rendered without anything harmful."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.highlight import HighlightTheme, highlight
from textual.reactive import Reactive
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownFence

from atlas_desktop.services.cleaning import clean
from atlas_desktop.tui.chat.citation_marks import linked
from atlas_desktop.tui.chat.code_blocks import CodeHead, language_of
from atlas_desktop.tui.textual_workarounds import freeing_blocks
from memory.documents.entities import StoredCitation

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

UNSCROLLED: Reactive[Size] = Reactive(Size(0, 0), layout=False)
"""For widgets that never scroll themselves. Otherwise Textual lays out the whole screen a second time
whenever one of them grows."""
TAB = 8
HIGHLIGHT_LIMIT = 12_000
"""Characters of a code block above which it is shown without colours, so that drawing stays fast."""


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
            if href and clean(href) != said:
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
    return _made()


def _made() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.core.ruler.push("harmless", _make_harmless)
    return made


class CitingParser:
    """Makes the parsers for one reply, in which the numbers of `citations` are links."""

    def __init__(self) -> None:
        self.citations: Sequence[StoredCitation] = ()

    def __call__(self) -> "MarkdownIt":
        if not self.citations:
            return parser()
        made, citations = _made(), self.citations

        def link(state: "StateCore") -> None:
            # After everything harmful is gone: no other link is left.
            for token in state.tokens:
                if token.children:
                    token.children = linked(token.children, citations)

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
    """Markdown without hidden HTML or control characters. The only links are the numbers of `citations`."""

    virtual_size = UNSCROLLED
    BLOCKS = {  # noqa: RUF012
        **Markdown.BLOCKS,
        **freeing_blocks(),
        "fence": CodeBlock,
        "code_block": CodeBlock,
    }

    def __init__(self, text: str = "", citations: Sequence[StoredCitation] = ()) -> None:
        # Not a method of this widget: the two would hold each other.
        self._citing = CitingParser()
        self._citing.citations = citations
        super().__init__(clean(text) or None, parser_factory=self._citing, open_links=False)

    @property
    def citations(self) -> Sequence[StoredCitation]:
        """What the links lead to. A change shows with the next update of the text."""
        return self._citing.citations

    @citations.setter
    def citations(self, citations: Sequence[StoredCitation]) -> None:
        self._citing.citations = citations
