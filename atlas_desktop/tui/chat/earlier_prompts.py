"""What the user sent before, in all conversations of a room, to be found and sent again."""

from functools import partial
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.calendar import short
from atlas_desktop.tui.dialogs.choices import SearchedListScreen
from atlas_desktop.tui.widgets.inputs import CleanInput
from memory.clock import LocalZone
from memory.entities import Message
from memory.errors import QueryUnclear, RoomClosed
from memory.search.entities import All, Condition, Order, Query, SaidBy, Words
from memory.search.language import parse
from models.messages import Role

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp

MOST = 100
_LONGEST = 300


async def sent_before(
    room: "RoomServices", where: Condition | None = None, *, limit: int = MOST
) -> list[Message]:
    """Returns messages of the user that match, each text once, latest first."""
    mine = SaidBy(Role.USER)
    parts = where.parts if isinstance(where, All) else () if where is None else (where,)
    page = await room.store.find.messages(
        Query(All((*parts, mine)) if parts else mine), limit=limit, order=Order.RECENT
    )
    found: dict[str, Message] = {}
    for hit in page.hits:
        if text := hit.message.content.strip():
            found.setdefault(text, hit.message)
    return list(found.values())


class EarlierPromptsScreen(SearchedListScreen):
    """Dismissed with the text that is chosen, or None."""

    def __init__(self, app: "BaseApp", room: "RoomServices") -> None:
        super().__init__()
        self.atlas = app
        self._room = room
        self._found: list[Message] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Earlier messages of yours")
            box.border_subtitle = _("Enter puts it into the prompt · Esc cancels")
            yield CleanInput(placeholder=_("Type to search"), id="find")
            yield self._list
            yield Static(_("No matches."), classes="none", markup=False)

    def seek(self, typed: str) -> None:
        self.atlas.attempt(partial(self._search, typed), group="prompts-search", exclusive=True)

    async def _search(self, words: str) -> None:
        try:
            where = parse(words, self.atlas.now().astimezone(LocalZone()), typing=True).where
        except QueryUnclear:
            # Half a condition: what is typed is looked for as it is.
            where = Words(" ".join(words.replace(":", " ").split()))
        try:
            found = await sent_before(self._room, where)
        except RoomClosed:
            # The window closes together with the room.
            return
        if not self._list.is_attached:
            return
        self._found = found
        now = self.atlas.now()
        self.fill(
            [
                Content.assemble(
                    (f"{short(one.created_at, now)}  ", "$quiet"), clean_line(one.content[:_LONGEST])
                )
                for one in found
            ]
        )
        self.query_one(".none", Static).display = not found

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        at = self._list.highlighted
        if at is not None:
            self.dismiss(self._found[at].content)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._found[event.option_index].content)
