"""Explains a reply or a memory, and shows what the model was given and will be given next."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message as Event
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import OptionList, Static, TextArea
from textual.widgets.option_list import Option

from atlas_desktop.locale import N_, _, formats, ngettext, number
from atlas_desktop.phrases import hidden_text, outcome_text, part_text
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.context import meter, next_prompt, recalled_since_gone, tier_line
from atlas_desktop.tui.provenance.sources import Chosen, Known, Lead, Reasons, excerpt, reasons_of
from atlas_desktop.tui.widgets import Window
from models.messages import Role

if TYPE_CHECKING:
    from atlas_desktop.services.provenance import Item, Why
    from atlas_desktop.tui.base import BaseApp
    from memory.context.entities import Summary
    from memory.context.epochs import ContextView
    from memory.entities import Message


_BOX = """
{name} {{
    .box {{ width: 96; height: 92%; padding: 1 1 0 2; }}
    .hint {{ color: $quiet; height: auto; }}
    .heading {{ color: $accent; text-style: bold; margin-top: 1; }}
    #beginning {{ height: auto; max-height: 60%; }}
    VerticalScroll {{ height: 1fr; scrollbar-size-vertical: 1; padding-right: 1; }}
    OptionList {{ height: auto; max-height: 12; border: none; padding: 0; background: $surface; }}
    TextArea {{ height: 1fr; min-height: 4; margin-bottom: 1; border: round $border-blurred; }}
    TextArea:focus {{ border: round $border; }}
}}
"""


class WholeScreen(Window[None]):
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


class InspectorScreen(Window[None]):
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


class SummaryScreen(Window[str | None]):
    """A summary next to the messages it replaces. Dismissed with its new text, or None if it is unchanged."""

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


_TITLE_TEXTS = {
    "reply": N_("Why this reply?"),
    "memory": N_("Why this memory?"),
    "message": N_("Related to this"),
}
_MADE_TEXTS = {
    "person": N_("You added it yourself."),
    "consolidation": N_("It was merged from similar memories."),
    "pattern": N_("The messages it came from are no longer here."),
    "model": N_("The messages it came from are no longer here."),
}
_KIND_TEXTS = {"memory": N_("Memory"), "message": N_("Message"), "summary": N_("Summary")}


class LinkRow(Static, can_focus=True):
    """A line that Enter opens, if it leads somewhere; otherwise Tab skips it."""

    DEFAULT_CSS = """
    LinkRow {
        height: auto; margin-bottom: 1; padding-left: 1; border-left: outer $border-blurred;
        &:hover { background: $boost; }
        &:focus { border-left: thick $primary; background: $boost; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "open", _("Open"))]

    class Opened(Event):
        """The user opens what the line leads to."""

        def __init__(self, to: Chosen | Known) -> None:
            super().__init__()
            self.to = to

    def __init__(self, words: Content, to: Chosen | Known | None) -> None:
        super().__init__(words, markup=False)
        self.can_focus = to is not None
        self._to = to

    def action_open(self) -> None:
        if self._to is not None:
            self.post_message(self.Opened(self._to))

    def on_click(self, _event: events.Click) -> None:
        self.action_open()


_BAR = 10
_LEAST = 0.005


class WhyScreen(Window[Chosen | None]):
    """Dismissed with what to open, or None. A memory opens in another such screen on top."""

    DEFAULT_CSS = """
    WhyScreen {
        .box { width: 100; max-height: 92%; padding: 1 2 0 2; scrollbar-size-vertical: 1; }
        .heading { color: $accent; text-style: bold; margin-top: 1; height: auto; }
        .words { height: auto; }
        .quiet { color: $quiet; height: auto; }
        #as-sent { height: auto; color: $quiet; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,w,q", "close", _("Close"))]

    def __init__(self, app: "BaseApp", reasons: Reasons) -> None:
        super().__init__()
        self.atlas = app
        self._reasons = reasons
        self._why = reasons.why
        self._tiers = [tier for tier in reasons.tiers if tier.tokens]

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="box") as box:
            box.border_title = _(_TITLE_TEXTS[self._why.kind])
            box.border_subtitle = (
                _("Tab selects · Enter opens · Esc closes") if self._leads_anywhere else _("Esc closes")
            )
            yield from self._parts()

    @property
    def _leads_anywhere(self) -> bool:
        of_lists = (lead for _unused, leads in self._reasons.lists for lead in leads)
        return any(lead.to is not None for lead in (*of_lists, *self._reasons.items.values()))

    def _parts(self) -> Iterator[Widget]:
        why = self._why
        yield Static(Content(excerpt(why.text)), classes="quiet", markup=False)
        if why.hidden:
            yield Static(Content(hidden_text(why.hidden)), classes="words", markup=False)
        if why.memory is not None and not why.sources:
            # A memory without messages was made in one of these ways, or its messages were deleted.
            yield Static(Content(_(_MADE_TEXTS[why.memory.origin])), classes="words", markup=False)
        if why.kind == "reply":
            yield from self._of_reply(why)
        for heading, leads in self._reasons.lists:
            yield _heading(heading)
            for lead in leads:
                yield LinkRow(_words(lead), lead.to)
        if why.left_out:
            yield _heading(_("Found but left out"))
        for item in why.left_out:
            yield self._item(item)
        yield from self._as_sent()

    def _of_reply(self, why: "Why") -> Iterator[Widget]:
        yield _heading(_("What the model saw"))
        most = max((tier.tokens for tier in self._tiers), default=1)
        total = formats().number(sum(tier.tokens for tier in self._tiers))
        lines = [tier_line(tier, most) for tier in self._tiers]
        lines.append(
            _("{tokens} tokens in total (a token is about ¾ of a word).", tokens=total)
            + " "
            + ngettext(
                "{count} earlier message was included word for word.",
                "{count} earlier messages were included word for word.",
                why.shown,
            )
        )
        yield Static(Content("\n".join(lines)), classes="words", markup=False)
        yield _heading(_("Recalled from memory"))
        if not why.told:
            if any(map(recalled_since_gone, self._tiers)):
                nothing = _("What was recalled is no longer in this room.")
            elif why.profile:
                nothing = _("Nothing apart from your profile.")
            else:
                nothing = _("Nothing was recalled.")
            yield Static(Content(nothing), classes="quiet", markup=False)
        for item in why.told:
            yield self._item(item)

    def _as_sent(self) -> Iterator[Widget]:
        if self._reasons.prompt:
            yield _heading(_("The exact prompt"))
            text = "\n\n".join(f"[{message.role}]\n{message.content}" for message in self._reasons.prompt)
            yield LongText(text, id="as-sent")

    def _item(self, item: "Item") -> LinkRow:
        lead = self._reasons.items[item.considered.id]
        return LinkRow(_considered(item, lead), lead.to)

    def on_link_row_opened(self, event: LinkRow.Opened) -> None:
        event.stop()
        if isinstance(event.to, Chosen):
            self.dismiss(event.to)
        else:
            self.atlas.attempt(self._open_memory(event.to), group="why", exclusive=True)

    async def _open_memory(self, known: Known) -> None:
        room, why = self._reasons.room, self._why
        reasons = await reasons_of(room, known.memory_id, self.atlas.now())
        told = {item.considered.id for item in why.told} | {one.id for one in why.profile}
        if why.kind == "reply" and why.message is not None and known.memory_id in told:
            await room.recall.usefulness.opened(known.memory_id, why.message)
        if self.app.screen is self:
            self.app.push_screen(WhyScreen(self.atlas, reasons), self._left)

    def _left(self, chosen: Chosen | None) -> None:
        if chosen is not None:
            self.dismiss(chosen)

    def action_close(self) -> None:
        self.dismiss(None)


def _heading(text: str) -> Static:
    return Static(Content(text), classes="heading", markup=False)


def bar(part: float) -> Content:
    """Draws a score between 0 and 1 as a small bar."""
    filled = max(0, min(_BAR, round(part * _BAR)))
    return Content.assemble(("━" * filled, "$primary"), ("─" * (_BAR - filled), "$quiet"))


def _words(lead: Lead) -> Content:
    return Content.assemble(lead.text, (f"\n{lead.origin}" if lead.origin else "", "$quiet"))


def _considered(item: "Item", lead: Lead) -> Content:
    one = item.considered
    fits = _("score {score}/100", score=round(100 * one.score))
    parts = {part_text(name): part for name, part in one.parts.items() if abs(part) >= _LEAST}
    wide = max(map(cell_len, parts), default=0)
    return Content.assemble(
        (f"{_(_KIND_TEXTS[one.kind])}: ", "bold"),
        lead.text,
        (f"\n{lead.origin}" if lead.origin else "", "$quiet"),
        (f"\n{outcome_text(one.outcome)} · {fits}", "$quiet"),
        *(text for name, part in parts.items() for text in (f"\n{set_cell_size(name, wide)}  ", bar(part))),
    )
