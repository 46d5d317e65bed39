"""Explains a reply or a memory: memories used and left out, and the prompt by tier and in full."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from atlas_desktop.services.context import tier_line
from atlas_desktop.tui.overlays import Covering
from atlas_desktop.tui.provenance.inspector import LongText
from atlas_desktop.tui.provenance.sources import Chosen, Known, Lead, Reasons, excerpt, reasons_of
from atlas_desktop.words.catalogue import texts, tr
from atlas_desktop.words.formats import formats

if TYPE_CHECKING:
    from atlas_desktop.services.provenance import Item, Why
    from atlas_desktop.tui.base import BaseApp


class LinkRow(Static, can_focus=True):
    """A line that Enter opens, if it leads somewhere; otherwise Tab skips it."""

    DEFAULT_CSS = """
    LinkRow {
        height: auto; margin-bottom: 1; padding-left: 1; border-left: outer $border-blurred;
        &:hover { background: $boost; }
        &:focus { border-left: thick $primary; background: $boost; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "open", tr("why.open"))]

    class Opened(Message):
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


class WhyScreen(Covering, ModalScreen[Chosen | None]):
    """Dismissed with what to open, or None. A memory opens in another such screen on top."""

    DEFAULT_CSS = """
    WhyScreen {
        align: center middle;
        background: $background 70%;
        .box {
            width: 100; max-width: 96%; height: auto; max-height: 92%; padding: 1 2 0 2;
            scrollbar-size-vertical: 1;
            background: $surface; border: round $primary;
            border-title-color: $primary; border-title-style: bold; border-subtitle-color: $quiet;
        }
        .heading { color: $accent; text-style: bold; margin-top: 1; height: auto; }
        .words { height: auto; }
        .quiet { color: $quiet; height: auto; }
        #as-sent { height: auto; max-height: 20; color: $quiet; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,w,q", "close", tr("why.close"))]

    def __init__(self, app: "BaseApp", reasons: Reasons) -> None:
        super().__init__()
        self.atlas = app
        self._reasons = reasons
        self._why = reasons.why
        self._tiers = [tier for tier in reasons.tiers if tier.tokens]

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="box") as box:
            box.border_title = tr(f"why.title.{self._why.kind}")
            box.border_subtitle = tr("why.closes" if self._leads_anywhere else "why.only_closes")
            yield from self._parts()

    @property
    def _leads_anywhere(self) -> bool:
        of_lists = (lead for _, leads in self._reasons.lists for lead in leads)
        return any(lead.to is not None for lead in (*of_lists, *self._reasons.items.values()))

    def _parts(self) -> Iterator[Widget]:
        why = self._why
        yield Static(Content(excerpt(why.text)), classes="quiet", markup=False)
        if why.hidden:
            yield Static(Content(tr(f"why.hidden.{why.hidden}")), classes="words", markup=False)
        if why.memory is not None and not why.sources:
            # What no message stands behind was made in one of these ways, or its messages are gone.
            yield Static(Content(tr(f"why.made.{why.memory.origin}")), classes="words", markup=False)
        if why.kind == "reply":
            yield from self._of_reply(why)
        for heading, leads in self._reasons.lists:
            yield _heading(heading)
            for lead in leads:
                yield LinkRow(_words(lead), lead.to)
        yield from self._as_sent()

    def _of_reply(self, why: "Why") -> Iterator[Widget]:
        yield _heading(tr("why.tiers"))
        most = max((tier.tokens for tier in self._tiers), default=1)
        total = formats().number(sum(tier.tokens for tier in self._tiers))
        lines = [tier_line(tier, most) for tier in self._tiers]
        lines.append(f"{tr('why.tokens', tokens=total)} {tr('why.shown', count=why.shown)}")
        yield Static(Content("\n".join(lines)), classes="words", markup=False)
        yield _heading(tr("why.told"))
        if not why.told:
            nothing = "why.told_page" if why.profile else "why.told_nothing"
            yield Static(Content(tr(nothing)), classes="quiet", markup=False)
        for item in why.told:
            yield self._item(item)
        if why.left_out:
            yield _heading(tr("why.left_out"))
            for item in why.left_out:
                yield self._item(item)

    def _as_sent(self) -> Iterator[Widget]:
        if self._reasons.prompt:
            yield _heading(tr("why.prompt"))
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


def bar(part: float) -> str:
    """Draws a score between 0 and 1 as a small bar."""
    filled = max(0, min(_BAR, round(part * _BAR)))
    return "█" * filled + "░" * (_BAR - filled)


def _words(lead: Lead) -> Content:
    return Content.assemble(lead.text, (f"\n{lead.origin}" if lead.origin else "", "$quiet"))


def _considered(item: "Item", lead: Lead) -> Content:
    one = item.considered
    fits = tr("why.score", score=round(100 * one.score))
    parts = {_reason(name): part for name, part in one.parts.items() if abs(part) >= _LEAST}
    wide = max(map(cell_len, parts), default=0)
    return Content.assemble(
        (f"{tr(f'why.kind.{one.kind}')}: ", "bold"),
        lead.text,
        (f"\n{lead.origin}" if lead.origin else "", "$quiet"),
        (f"\n{tr(f'why.fate.{one.fate}')} · {fits}", "$quiet"),
        *(f"\n{set_cell_size(name, wide)}  {bar(part)}" for name, part in parts.items()),
    )


def _reason(name: str) -> str:
    """Returns the name of a part of a score."""
    key = f"part.{name}"
    return tr(f"why.{key}") if key in texts("why") else name
