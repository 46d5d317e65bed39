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

from atlas_desktop.locale import N_, _, formats, ngettext
from atlas_desktop.phrases.provenance import hidden_text, outcome_text, part_text
from atlas_desktop.services.context import tier_line
from atlas_desktop.tui.overlays import Covering
from atlas_desktop.tui.provenance.inspector import LongText
from atlas_desktop.tui.provenance.sources import Chosen, Known, Lead, Reasons, excerpt, reasons_of

if TYPE_CHECKING:
    from atlas_desktop.services.provenance import Item, Why
    from atlas_desktop.tui.base import BaseApp
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
            nothing = _("Nothing apart from your profile.") if why.profile else _("Nothing was recalled.")
            yield Static(Content(nothing), classes="quiet", markup=False)
        for item in why.told:
            yield self._item(item)
        if why.left_out:
            yield _heading(_("Found but left out"))
            for item in why.left_out:
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


def bar(part: float) -> str:
    """Draws a score between 0 and 1 as a small bar."""
    filled = max(0, min(_BAR, round(part * _BAR)))
    return "█" * filled + "░" * (_BAR - filled)


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
        *(f"\n{set_cell_size(name, wide)}  {bar(part)}" for name, part in parts.items()),
    )
