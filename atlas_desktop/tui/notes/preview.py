"""The preview of a note: its Markdown, drawn line by line."""

import asyncio
import time
from bisect import bisect_left
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from textual import events
from textual.content import Content, Span
from textual.message import Message
from textual.strip import Strip
from textual.style import Style

from atlas_desktop.tui.chat.markdown import parser
from atlas_desktop.tui.chat.streaming_markdown import Growing, Row, rows_of
from atlas_desktop.tui.notes.adding import has_links, link_spans, marked
from memory.notes.entities import NoteLink
from memory.notes.markup import front_matter

_AT_A_TIME_S = 0.004
"""How long rows are drawn before keys are looked at again."""
_LINK = "note_link"

Run = Callable[[Callable[[], Coroutine[Any, Any, None]]], object]
"""Runs work in the background; newer work replaces work that is still running."""


class NotePreview(Growing):
    """Shows links under the current title of what they lead to; links that lead nowhere look different."""

    COMPONENT_CLASSES = {"link", "nowhere"}  # noqa: RUF012
    DEFAULT_CSS = """
    NotePreview {
        & > .link { color: $text-accent; text-style: underline; }
        & > .nowhere { color: $text-error; text-style: dim; }
    }
    """

    @dataclass
    class LinkClicked(Message):
        """A link was clicked."""

        link: NoteLink

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run
        self._text = ""
        self._links: Sequence[NoteLink] = ()
        self._rows: Sequence[Row] | None = None

    def show(self, text: str, links: Sequence[NoteLink]) -> None:
        """Shows a text; the positions of its links are those of this text."""
        self._text, self._links, self._rows = text, links, None
        self._read_anew()

    def _read_anew(self) -> None:
        if self._width:
            self._run(self._draw)

    async def _draw(self) -> None:
        text, links, width = self._text, self._links, self._width
        if self._rows is None:
            self._rows = await asyncio.to_thread(_rows_of, text, links)
        strips: list[Strip] = []
        since = time.perf_counter()
        for row in self._rows:
            strips += self._lines_of(row)
            if time.perf_counter() - since < _AT_A_TIME_S:
                continue
            await asyncio.sleep(0)
            since = time.perf_counter()
            if text is not self._text or width != self._width or not self.is_attached:
                return
        self._strips = strips
        self._room = len(strips)
        self.styles.height = max(self._room, 1)
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        if (number := event.style.meta.get(_LINK)) is not None and number < len(self._links):
            # The base class copies code that is clicked.
            event.prevent_default()
            event.stop()
            self.post_message(self.LinkClicked(self._links[number]))


def _rows_of(text: str, links: Sequence[NoteLink]) -> list[Row]:
    """Returns the rows of a text without its front matter. Takes a tenth of a second for 200 KB."""
    begin = front_matter(text)[1]
    source = marked(text, links)[begin:] if begin else marked(text, links)
    rows = rows_of(parser().parse(source), source.splitlines(keepends=True))
    return [replace(row, content=with_links(row.content, links)) for row in rows]


def with_links(content: Content, links: Sequence[NoteLink]) -> Content:
    """Returns the text of a row with its marked links drawn as links."""
    if not has_links(content.plain):
        return content
    text, found, removed = link_spans(content.plain)
    spans = [
        Span(one.start - bisect_left(removed, one.start), one.end - bisect_left(removed, one.end), one.style)
        for one in content.spans
    ]
    for begin, end, number in found:
        leads = number < len(links) and links[number].to is not None
        spans.append(Span(begin, end, ".link" if leads else ".nowhere"))
        spans.append(Span(begin, end, Style.from_meta({_LINK: number})))
    return Content(text, spans=spans)
