"""The details pane: the context of a conversation and what is remembered from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.chat.conversation_view import ConversationView
from atlas_desktop.words.catalogue import tr
from atlas_desktop.words.formats import formats
from memory.errors import RoomClosed
from models.errors import ModelsError

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp

_BAR = 30
_LEARNED = 30


@dataclass(frozen=True, slots=True)
class Details:
    """Tokens `used` of `limit` (0: not known) and those of each tier by name; the memories that were `told`
    for the newest reply, and how many passages besides; those that were `learned` in the conversation."""

    used: int = 0
    limit: int = 0
    tiers: tuple[tuple[str, int], ...] = ()
    told: tuple[str, ...] = ()
    passages: int = 0
    learned: tuple[str, ...] = ()


class DetailsPane(VerticalScroll, can_focus=False):
    """The pane on the right of the conversation; it covers it on a narrow terminal."""

    DEFAULT_CSS = """
    DetailsPane {
        display: none;
        width: 36;
        background: $surface;
        padding: 1 1 0 2;
        scrollbar-size-vertical: 1;
        & > Static { height: auto; }
    }
    """

    known = Details()

    def compose(self) -> ComposeResult:
        yield Static("", markup=False)

    def tell(self, known: Details) -> None:
        self.known = known
        self.query_one(Static).update(words_of(known))


def words_of(known: Details) -> Content:
    """Returns the details as text."""
    number = formats().number
    parts: list[str | Content | tuple[str, str]] = [(tr("chat.aside.context"), "bold $accent"), "\n"]
    if known.limit:
        share = known.used / known.limit
        filled = min(_BAR, max(round(_BAR * share), known.used > 0))
        used = tr("chat.aside.used", used=number(known.used), limit=number(known.limit), share=share)
        parts += [("█" * filled, "$primary"), ("░" * (_BAR - filled), "$quiet"), f"\n{used}\n"]
        parts += [(f"{name:<20}{number(tokens):>10}\n", "$quiet") for name, tokens in known.tiers]
    else:
        parts += [(f"{tr('chat.aside.nothing_said')}\n", "$quiet")]
    told = list(known.told)
    if known.passages:
        told.append(tr("chat.aside.passages", count=known.passages))
    parts += _listed("chat.aside.told", told)
    parts += _listed("chat.aside.learned", known.learned)
    parts += ["\n", (tr("chat.aside.more"), "$quiet")]
    return Content.assemble(*parts)


def _listed(heading: str, texts: Sequence[str]) -> list[str | Content | tuple[str, str]]:
    said = "".join(f"• {clean_line(text)}\n" for text in texts)
    nothing = (f"{tr('chat.aside.none')}\n", "$quiet")
    return ["\n", (tr(heading), "bold $accent"), "\n", said or nothing]


class DetailsController:
    """Fills the details pane while it is shown."""

    def __init__(self, app: "BaseApp", view: ConversationView, pane: DetailsPane) -> None:
        self._app = app
        self._view = view
        self._pane = pane

    def toggle(self) -> None:
        self._pane.toggle_class("-shown")
        self.refresh()

    def clear(self) -> None:
        """Removes everything about the conversation that is left, even while hidden: its room may close."""
        self._pane.tell(Details())

    def refresh(self) -> None:
        if self._pane.has_class("-shown") and not self._app.leaving:
            self._app.attempt(self._read, group="details", exclusive=True)

    async def _read(self) -> None:
        shown = self._view.current
        if shown.session is None:
            self._pane.tell(Details())
            return
        try:
            found = await self._details_of(self._app.room_of(shown), shown.session.id)
        except RoomClosed:
            if shown is self._view.current and not self._app.leaving:
                raise
            return
        if shown is self._view.current:
            self._pane.tell(found)

    async def _details_of(self, room: "RoomServices", session_id: str) -> Details:
        from atlas_desktop.services.context import tier_name
        from memory.context.decisions import Outcome
        from memory.memories.entities import MemoryFilter

        learned = await room.knowledge.select(MemoryFilter(session=session_id), limit=_LEARNED)
        head = (await room.store.get_session(session_id)).head_id
        looked = [] if head is None else await room.store.context.considered(head)
        told = [one for one in looked if one.fate is Outcome.TOLD]
        memories = await room.store.memories.get_many([one.id for one in told if one.kind == "memory"])
        used = limit = 0
        tiers: tuple[tuple[str, int], ...] = ()
        try:
            reply = self._app.desk.turn_options().params.max_tokens
            view = await room.chat.context.view(session_id, reply=reply)
        except ModelsError:
            # There is no context to measure without a model. The next turn reports the missing model.
            view = None
        if view is not None:
            used, limit = view.tokens, view.budget.limit
            tiers = tuple((tier_name(tier), tier.tokens) for tier in view.tiers if tier.tokens)
        return Details(
            used,
            limit,
            tiers,
            tuple(one.text for one in memories),
            sum(one.kind != "memory" for one in told),
            tuple(one.text for one in learned),
        )
