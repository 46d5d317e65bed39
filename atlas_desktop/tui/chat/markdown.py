"""Markdown from a model, rendered without anything harmful."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.highlight import HighlightTheme, highlight
from textual.message import Message
from textual.reactive import Reactive
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownFence

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean
from atlas_desktop.tui.textual_workarounds import freeing_blocks
from memory.documents.entities import StoredCitation

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token


@dataclass(frozen=True, slots=True)
class Code:
    """A code block; `language` is what the fence says, empty if it says nothing."""

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


def language_of(info: str) -> str:
    """Returns the language named by a fence; empty if it names none."""
    return info.split(maxsplit=1)[0] if info.strip() else ""


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
    """Returns the index of the citation that a number stands for, behind (or before) the words `said`.

    One number may be cited for several sentences, verified for some of them. None if nothing has that number.
    """
    own = [at for at, one in enumerate(citations) if one.marker == marker]
    letters = _letters(said)
    for at in own:
        # What is not verified is quoted as the reply says it.
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


def linked(children: Sequence["Token"], citations: Sequence[StoredCitation]) -> list["Token"]:
    """Returns the parts of a paragraph, in which the numbers of citations are links. Code has none."""
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
            # Of two numbers in a row, both belong to the words in front. A first one belongs to those behind.
            claim = said if _letters(said) else claim or _MARKERS.split(child.content[at:], maxsplit=1)[0]
            said = ""
            made += [_plain(before), *_links(match[1], claim, citations)]
        said += child.content[at:]
        made.append(_plain(child.content[at:]))
    return made


def _links(numbers: str, claim: str, citations: Sequence[StoredCitation]) -> list["Token"]:
    """Returns the numbers in their brackets: one that nothing is cited for is plain text."""
    parts = _NUMBERS.split(numbers)
    parts[0], parts[-1] = "[", "]"
    if len(parts) == 3 and (only := meant(int(parts[1]), claim, citations)) is not None:
        return _link(f"[{parts[1]}]", only, citations)
    made: list[Token] = []
    for part in parts:
        known = meant(int(part), claim, citations) if part.isdecimal() else None
        made += [_plain(part)] if known is None else _link(part, known, citations)
    return made


def _link(text: str, at: int, citations: Sequence[StoredCitation]) -> list["Token"]:
    from markdown_it.token import Token

    opened = Token("link_open", "a", 1, attrs={"href": f"{_SCHEME}{at}"})
    closed = Token("link_close", "a", -1)
    if citations[at].verified:
        return [opened, _plain(text), closed]
    # Many fonts have no italic form of the sign.
    words = [Token("em_open", "em", 1), _plain(text), Token("em_close", "em", -1), _plain(UNVERIFIED)]
    return [opened, *words, closed]


def _plain(text: str) -> "Token":
    from markdown_it.token import Token

    return Token("text", "", 0, content=text)


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
