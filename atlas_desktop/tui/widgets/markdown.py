"""Markdown from a model, made harmless, and drawn at a steady pace while it streams."""

import asyncio
import contextlib
import time
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from textual.content import Content
from textual.geometry import Size
from textual.highlight import HighlightTheme, highlight
from textual.reactive import Reactive
from textual.widgets import Markdown
from textual.widgets._markdown import MarkdownParagraph  # exported nowhere else
from textual.widgets.markdown import MarkdownFence

from atlas_desktop.services.cleaning import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

LONGEST_FRAME_S = 0.5
"""How long to wait for a frame that may never be painted."""
SPARE_LINES = 4
UNSCROLLED: Reactive[Size] = Reactive(Size(0, 0), layout=False)
"""For widgets that never scroll by themselves: otherwise Textual lays the whole screen out a second time
whenever one of them has grown."""
REST = 4
"""Times as long as a frame took until the next one begins: the model runs on the same processor."""
HIGHLIGHT_LIMIT = 12_000
STREAMED_HIGHLIGHT_LIMIT = 1_500
"""Characters of a code block above which it is shown without colours, so that drawing stays quick; a block
that is still growing is coloured anew with every frame."""


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
            token.children = _plain_links(token.children)


@cache
def parser() -> "MarkdownIt":
    """CommonMark with tables and strike-through. HTML is shown as it is written, never left out."""
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.core.ruler.push("harmless", _make_harmless)
    return made


class Paragraph(MarkdownParagraph):
    """A paragraph that grows in place.

    Laying out a screen anew takes many times as long as painting a few lines, so while a reply streams its
    last paragraph is given a few lines to spare, and the screen is laid out only when those are full.
    """

    virtual_size = UNSCROLLED

    def set_content(self, content: Content) -> None:
        self._content = content
        width = self.content_size.width
        markdown = self._markdown
        if not (width and isinstance(markdown, SafeMarkdown) and markdown.streaming):
            self.update(content)
            return
        self.update(content, layout=False)
        needed = self.get_content_height(self.size, self.app.size, width)
        if needed > self.content_size.height:
            markdown.spare(self)
            self.styles.min_height = needed + SPARE_LINES

    def close_up(self) -> None:
        """Gives back the lines to spare."""
        self.styles.min_height = None


class CodeBlock(MarkdownFence):
    """A code block whose language is never guessed: guessing runs every lexer there is."""

    def __init__(self, markdown: Markdown, token: "Token", code: str) -> None:
        streaming = isinstance(markdown, SafeMarkdown) and markdown.streaming
        self._limit = STREAMED_HIGHLIGHT_LIMIT if streaming else HIGHLIGHT_LIMIT
        if isinstance(markdown, SafeMarkdown) and len(code) > self._limit:
            markdown.plain_code = True
        super().__init__(markdown, token, code)

    def highlight(  # type: ignore[override]  # called on the instance only, whose limit it needs
        self,
        code: str,
        language: str,
        ansi: bool = False,  # noqa: ARG002, FBT001, FBT002
        dark: bool = False,  # noqa: ARG002, FBT001, FBT002
    ) -> Content:
        name = language.split(maxsplit=1)[0] if language.strip() else ""
        if not name or len(code) > self._limit:
            return Content(code.rstrip("\n"))
        return highlight(code, language=name, theme=HighlightTheme)


def load_highlighter() -> None:
    """Imports what the first code block needs. For a thread: it takes a while."""
    highlight("pass", language="python", theme=HighlightTheme)


class SafeMarkdown(Markdown):
    """Markdown without links to click, HTML to hide in, or control characters.

    While `streaming`, long code blocks are shown without colours, and `plain_code` tells that there are some.
    """

    virtual_size = UNSCROLLED
    BLOCKS = {  # noqa: RUF012
        **Markdown.BLOCKS,
        "paragraph_open": Paragraph,
        "fence": CodeBlock,
        "code_block": CodeBlock,
    }

    def __init__(self, text: str = "") -> None:
        super().__init__(clean(text) or None, parser_factory=parser, open_links=False)
        self.streaming = False
        self.plain_code = False
        self._roomy: Paragraph | None = None

    def spare(self, paragraph: Paragraph | None) -> None:
        """Only `paragraph` has lines to spare from now on."""
        if self._roomy is not None and self._roomy is not paragraph:
            self._roomy.close_up()
        self._roomy = paragraph

    async def grow(self, text: str) -> None:
        """Appends while streaming."""
        await self.append(text)
        if self._roomy is not None and self.children and self.children[-1] is not self._roomy:
            self.spare(None)


class PacedStream:
    """Appends to a `SafeMarkdown` at most `frame_rate` times a second and for at most a fifth of the time.

    What arrives between two frames is drawn together, so a fast model costs no more than a slow one, and keys
    are answered between frames however long the reply has grown. A frame lasts from the new text until the
    screen has been laid out and painted.
    """

    def __init__(self, target: SafeMarkdown, frame_rate: int) -> None:
        self._target = target
        self._frame = 1 / frame_rate
        self._pending: list[str] = []
        self._news = asyncio.Event()
        self._closed = False
        self._task = asyncio.create_task(self._run())

    def write(self, text: str) -> None:
        self._pending.append(text)
        self._news.set()

    async def close(self) -> None:
        """Draws what is left and ends."""
        self._closed = True
        self._news.set()
        await self._task

    def abandon(self) -> None:
        """Ends without drawing: the widget is gone."""
        self._task.cancel()

    async def _painted(self) -> None:
        painted = asyncio.Event()
        if self._target.call_after_refresh(painted.set):
            # Nothing is painted any more when the widget goes away meanwhile.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(painted.wait(), LONGEST_FRAME_S)

    async def _run(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            text = "".join(self._pending)
            self._pending.clear()
            began = time.monotonic()
            if text:
                await self._target.grow(text)
                await self._painted()
            if self._closed and not self._pending:
                return
            spent = time.monotonic() - began
            rest = max(self._frame - spent, REST * spent)
            await asyncio.sleep(0 if self._closed else rest)
