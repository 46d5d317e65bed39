"""Shows what the model was given, and what the next prompt will contain."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import OptionList, Static, TextArea
from textual.widgets.option_list import Option

from atlas_desktop.locale import _, ngettext, number
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.context import meter, next_prompt
from atlas_desktop.tui.overlays import Covering
from models.messages import Role

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp
    from memory.context.entities import Summary
    from memory.context.epochs import ContextView
    from memory.entities import Message


_BOX = """
{name} {{
    align: center middle;
    background: $background 70%;
    .box {{
        width: 96;
        max-width: 96%;
        height: 92%;
        padding: 1 1 0 2;
        background: $surface;
        border: round $primary;
        border-title-color: $primary;
        border-title-style: bold;
    }}
    .hint {{ color: $quiet; height: auto; }}
    .heading {{ color: $accent; text-style: bold; margin-top: 1; }}
    #beginning {{ height: auto; max-height: 60%; }}
    VerticalScroll {{ height: 1fr; scrollbar-size-vertical: 1; padding-right: 1; }}
    OptionList {{ height: auto; max-height: 12; border: none; padding: 0; background: $surface; }}
    TextArea {{ height: 1fr; min-height: 4; margin-bottom: 1; border: round $border-blurred; }}
    TextArea:focus {{ border: round $border; }}
}}
"""


class WholeScreen(Covering, ModalScreen[None]):
    """Shows one message in full."""

    DEFAULT_CSS = _BOX.format(name="WholeScreen")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,o", "close", _("Close"))]

    def __init__(self, message: "Message") -> None:
        super().__init__()
        self._message = message

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Full message")
            yield LongText(self._message.content, id="whole")
            keys = _(
                "{count} characters · arrow and page keys scroll · Esc closes",
                count=number(len(self._message.content)),
            )
            yield Static(keys, classes="hint", markup=False)

    def action_close(self) -> None:
        self.dismiss(None)


class InspectorScreen(Covering, ModalScreen[None]):
    """The meter, the summaries (Enter opens one), and the exact next prompt."""

    DEFAULT_CSS = _BOX.format(name="InspectorScreen")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,f5", "close", _("Close"))]

    def __init__(self, app: "BaseApp", view: "ContextView", summaries: Sequence["Summary"]) -> None:
        super().__init__()
        self.atlas = app
        self._view = view
        self._summaries = list(summaries)

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("What the model sees")
            box.border_subtitle = _("Esc closes")
            with VerticalScroll(id="beginning"):
                yield Static(Content(clean(meter(self._view))), id="meter", markup=False)
                if self._summaries:
                    yield Static(_("Summaries (Enter opens one)"), classes="heading", markup=False)
                    yield OptionList(*[_option(s) for s in self._summaries], id="summaries", markup=False)
            yield Static(_("The next prompt, before your message"), classes="heading", markup=False)
            yield LongText(next_prompt(self._view), id="prompt-text")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        chosen = self._summaries[event.option_index]
        self.app.push_screen(SummaryScreen(self.atlas, chosen), self._edited)

    def _edited(self, text: str | None) -> None:
        if text is not None:
            self.dismiss(None)

    def action_close(self) -> None:
        self.dismiss(None)


def _option(summary: "Summary") -> Option:
    marks = [ngettext("{count} message", "{count} messages", len(summary.covers))]
    marks += [_("without a model")] if summary.fallback else []
    marks += [_("edited by you")] if summary.edited else []
    first = Content.styled(", ".join(marks), "$quiet")
    return Option(Content.assemble(first, "\n", clean_line(summary.text)), id=summary.id)


def _who(message: "Message") -> str:
    return clean_line(message.speaker or "") or (_("You") if message.role is Role.USER else "Atlas")


class SummaryScreen(Covering, ModalScreen[str | None]):
    """A summary beside the messages it replaces. Dismissed with its new text, or None if it is unchanged."""

    DEFAULT_CSS = _BOX.format(name="SummaryScreen")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", _("Cancel")),
        Binding("ctrl+s", "save", _("Save"), priority=True),
    ]

    def __init__(self, app: "BaseApp", summary: "Summary") -> None:
        super().__init__()
        self.atlas = app
        self._summary = summary

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Summary")
            yield Static(
                _("You can edit this. Your text will not be overwritten."), classes="hint", markup=False
            )
            yield TextArea(clean(self._summary.text), id="summary-text", soft_wrap=True)
            yield Static(_("Covered messages"), classes="heading", markup=False)
            with VerticalScroll():
                yield Static("", id="covered", markup=False)
            yield Static(_("Ctrl+S saves · Esc cancels"), classes="hint", markup=False)

    def on_mount(self) -> None:
        self.atlas.attempt(self._show_covered, group="summary", exclusive=True)

    async def _show_covered(self) -> None:
        messages = await self.atlas.room.sessions.covered(self._summary)
        lines = [f"{_who(m)}: {' '.join(m.content.split())}" for m in messages]
        self.query_one("#covered", Static).update(Content(clean("\n\n".join(lines))))

    def action_save(self) -> None:
        self.atlas.attempt(self._save, group="summary", exclusive=True)

    async def _save(self) -> None:
        text = self.query_one(TextArea).text.strip()
        if not text or text == self._summary.text:
            self.dismiss(None)
            return
        await self.atlas.room.sessions.edit_summary(self._summary.id, text)
        self.dismiss(text)

    def action_cancel(self) -> None:
        self.dismiss(None)


TAB = 8
AT_A_TIME = 2_000
"""Lines wrapped at a time: the first can be read while the others are wrapped."""


class LongText(ScrollView, can_focus=True):
    """Shows a long text, cleaned. Arrow and page keys scroll it."""

    DEFAULT_CSS = """
    LongText { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; overflow-y: auto; }
    """

    def __init__(self, text: str, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._text = text
        self._lines: list[str] = []
        self._width = 0

    def on_resize(self, _event: events.Resize) -> None:
        # The scrollbar's column is reserved even before it appears.
        width = max(self.size.width - 1, 1)
        if width != self._width:
            self._width = width
            self.run_worker(self._break(width), exclusive=True)

    async def _break(self, width: int) -> None:
        text = await asyncio.to_thread(clean, self._text)
        lines, self._lines = broken(text, width), list[str]()
        while more := await asyncio.to_thread(lambda: list(islice(lines, AT_A_TIME))):
            self._lines += more
            self.virtual_size = Size(width, len(self._lines))
            self.refresh()

    def render_line(self, y: int) -> Strip:
        at = y + self.scroll_offset.y
        text = self._lines[at] if at < len(self._lines) else ""
        return Strip([Segment(text, self.rich_style)]).adjust_cell_length(self.size.width, self.rich_style)


def broken(text: str, width: int) -> Iterator[str]:
    """Yields the lines of a text, at most `width` cells each, broken at spaces if possible."""
    for line in text.split("\n"):
        rest, at = line.expandtabs(TAB), 0
        while len(rest) - at > 2 * width or cell_len(rest[at:]) > width:
            piece = chop_cells(rest[at : at + 2 * width], width)[0]
            space = piece.rfind(" ")
            cut = space + 1 if space > 0 else max(len(piece), 1)
            yield rest[at : at + cut].rstrip(" ")
            at += cut
        yield rest[at:]
