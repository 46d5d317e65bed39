"""The text of a note: its editor with undo and completion of links, and its preview."""

import asyncio
import time
from bisect import bisect_left
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from textual import events
from textual.binding import Binding
from textual.content import Content, Span
from textual.dom import DOMNode
from textual.geometry import Offset
from textual.message import Message
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget
from textual.widgets import OptionList, TextArea

from atlas_desktop.locale import N_, _
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.chat.markdown import Growing
from atlas_desktop.tui.chat.prompt import PASTED_AT_A_TIME
from atlas_desktop.tui.markdown_text import WIDEST, Row, parser, rows_of
from atlas_desktop.tui.notes.adding import has_links, link_spans, marked, opened_link, written
from atlas_desktop.tui.widgets import ChoiceMenu, WritingArea
from memory.notes.entities import LinkKind, LinkTarget, NoteLink
from memory.notes.markup import front_matter

KINDS = {
    LinkKind.NOTE: N_("note"),
    LinkKind.SESSION: N_("conversation"),
    LinkKind.MESSAGE: N_("message"),
    LinkKind.MEMORY: N_("memory"),
    LinkKind.DOCUMENT: N_("document"),
}
_UNDO_STEPS = 500
_EDITS = {
    key: binding.action
    for binding in (*TextArea.BINDINGS, *WritingArea.BINDINGS)
    if isinstance(binding, Binding)
    for key in binding.key.split(",")
    if key not in ("f6", "f7")
}
"""The keys that move the cursor or change the text; the function keys show other screens."""
_LONGEST = 60


class LinkMenu(ChoiceMenu[LinkTarget]):
    """The possible targets of the link that is being typed."""

    DEFAULT_CSS = """
    LinkMenu {
        overlay: screen;
        constrain: inside inflect;
        width: 60;
        max-width: 90%;
    }
    """

    @dataclass
    class Picked(Message):
        """A target was clicked."""

        target: LinkTarget

    def __init__(self) -> None:
        super().__init__(id="link-menu")

    def offer(self, targets: Sequence[LinkTarget], below: Offset | None = None) -> None:
        """Shows targets below a place of the screen; closes without any."""
        if below is not None:
            self.absolute_offset = below + Offset(0, 1)
        self.put(targets, _offered)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Picked(self.choices[event.option_index]))


def _offered(target: LinkTarget) -> Content:
    title = clean_line(target.title)[:_LONGEST]
    name = f"{clean_line(target.alias)[:_LONGEST]} → {title}" if target.alias else title
    return Content.assemble((name, "bold"), "  ", (_(KINDS[target.kind]), "dim"))


class NoteEditor(WritingArea):
    """Tab indents, Esc leaves; Ctrl+Z undoes, Ctrl+Y redoes. After `[[` it completes names."""

    DEFAULT_CSS = """
    NoteEditor {
        width: 1fr;
        height: 1fr;
        border: none;
        padding: 0 1;
        background: $background;
        scrollbar-size-vertical: 1;
        &:focus { border: none; }
    }
    """

    @dataclass
    class Naming(Message):
        """The name of a link is being typed; None: no longer."""

        typed: str | None

    def __init__(self, menu: LinkMenu, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(
            id=id,
            soft_wrap=True,
            show_line_numbers=False,
            tab_behavior="indent",
            highlight_cursor_line=False,
            max_checkpoints=_UNDO_STEPS,
            placeholder=_("Write in Markdown. [[ links to notes, conversations and documents."),
        )
        self.menu = menu
        self._naming: str | None = None
        self._loads = 0
        """How many texts have been shown."""

    def watch(self, obj: DOMNode, attribute_name: str, callback: Any, init: bool = True) -> None:  # noqa: FBT001, FBT002
        """Follows the theme until the editor closes, because the application keeps a reference to its
        watchers."""
        if obj is self.app and attribute_name == "theme":
            self.app.theme_changed_signal.subscribe(self, lambda _theme: callback())
        else:
            super().watch(obj, attribute_name, callback, init)

    def on_unmount(self) -> None:
        self.app.theme_changed_signal.unsubscribe(self)

    @property
    def before_cursor(self) -> str:
        """The text before the cursor in its line."""
        row, column = self.cursor_location
        return self.document.get_line(row)[:column]

    @property
    def position(self) -> int:
        """The position of the cursor in the text, in characters."""
        row, column = self.cursor_location
        return sum(len(line) + 1 for line in self.document.lines[:row]) + column

    def _location(self, position: int) -> tuple[int, int]:
        row, lines = 0, self.document.lines
        while row < len(lines) - 1 and position > len(lines[row]):
            position -= len(lines[row]) + 1
            row += 1
        return row, min(max(position, 0), len(lines[row]))

    def go_to(self, position: int) -> None:
        """Moves the cursor to a position in the text, and shows it."""
        self.move_cursor(self._location(position), center=True)

    def put_in(self, begin: int, end: int, text: str) -> None:
        """Replaces a range of the text, given in characters; this can be undone."""
        self.replace(text, self._location(begin), self._location(end))

    def put(self, text: str) -> None:
        """Replaces the text. Earlier changes can no longer be undone; only later ones count as changes."""
        self.menu.offer(())
        self._naming = None
        self._loads += 1
        with self.prevent(TextArea.Changed):
            self.load_text(text)

    def reader(self) -> Callable[[], str | None]:
        """Returns a function that returns the text, or None once the editor shows another note."""
        loads = self._loads
        return lambda: self.text if loads == self._loads else None

    async def on_key(self, event: events.Key) -> None:
        # Textual calls the handler of the base class after this one, unless the default is prevented.
        if self.menu.is_open and self._chosen(event.key):
            event.stop()
            event.prevent_default()
        elif event.key == "escape":
            # The base class would give the focus to the next widget.
            event.prevent_default()
        elif (action := _EDITS.get(event.key)) is not None:
            # Textual runs bindings later than it inserts letters: keys typed fast would change places.
            event.stop()
            event.prevent_default()
            await self.run_action(action)

    def _chosen(self, key: str) -> bool:
        """Passes a key on to the list of names; returns whether it was meant for it."""
        match key:
            case "up" | "down":
                self.menu.step(-1 if key == "up" else 1)
            case "tab" | "enter":
                if (target := self.menu.picked) is not None:
                    self.complete(target)
            case "escape":
                self.menu.offer(())
            case _:
                return False
        return True

    def look_for_link(self) -> None:
        """Tells the screen whether the name of a link is being typed."""
        typed = opened_link(self.before_cursor) if self.has_focus else None
        if typed != self._naming:
            self._naming = typed
            self.post_message(self.Naming(typed))

    def on_text_area_selection_changed(self) -> None:
        if self._naming is not None:
            self.look_for_link()

    def complete(self, target: LinkTarget) -> None:
        """Replaces what is typed of a link by the link to a target."""
        typed = opened_link(self.before_cursor)
        if typed is None:
            return
        row, column = self.cursor_location
        rest = self.document.get_line(row)[column:]
        end = column + (2 if rest.startswith("]]") else 0)
        link = written(target, self.menu.choices)
        self.menu.offer(())
        result = self.replace(link, (row, column - len(typed) - 2), (row, end))
        self.move_cursor(result.end_location)

    async def on_paste(self, event: events.Paste) -> None:
        """Cleans pasted text, because it comes from outside; a long one is inserted in pieces."""
        event.prevent_default()
        event.stop()
        lines = event.text.replace("\r\n", "\n").replace("\r", "\n")
        text = await asyncio.to_thread(clean, lines)
        for at in range(0, len(text), PASTED_AT_A_TIME):
            result = self.replace(
                text[at : at + PASTED_AT_A_TIME], *self.selection, maintain_selection_offset=False
            )
            self.move_cursor(result.end_location)
            await asyncio.sleep(0)


_AT_A_TIME_S = 0.004
"""How long rows are drawn before keys are looked at again."""
_LINK = "note_link"

Run = Callable[[Callable[[], Coroutine[Any, Any, None]]], object]
"""Runs work in the background; newer work replaces work that is still running."""


class NotePreview(Growing):
    """Shows each link with the current title of its target; links without a target look different."""

    COMPONENT_CLASSES = {"link", "nowhere"}  # noqa: RUF012
    DEFAULT_CSS = """
    NotePreview {
        min-width: 100%;
        & > .link { color: $text-accent; text-style: underline; }
        & > .nowhere { color: $text-error; text-style: dim; }
    }
    """

    @dataclass
    class LinkClicked(Message):
        """A link was clicked."""

        link: NoteLink

    sideways = True

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run
        self._text = ""
        self._links: Sequence[NoteLink] = ()
        self._rows: Sequence[Row] | None = None

    def show(self, text: str, links: Sequence[NoteLink]) -> None:
        """Shows a text; the positions of its links are those of this text."""
        self._text, self._links, self._rows = text, links, None
        self._width = self._readable
        self._read_anew()

    @property
    def _readable(self) -> int:
        """The columns of text: those of the box around it, up to a readable width."""
        box = self.parent
        inside = box.scrollable_content_region.width if isinstance(box, Widget) else 0
        return max(min(inside - self.gutter.width, WIDEST), 0)

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
        self.styles.width = max((strip.cell_length for strip in strips), default=0) + self.gutter.width
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
    return [
        replace(
            row,
            content=with_links(row.content, links),
            cells=[[with_links(cell, links) for cell in cells] for cells in row.cells],
        )
        for row in rows_of(parser().parse(source))
    ]


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
