"""What the user sent before, in all conversations of a room, to be found and sent again."""

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.calendar import short
from atlas_desktop.tui.overlays import Covering
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


class EarlierPromptsScreen(Covering, ModalScreen[str | None]):
    """Dismissed with the text that is chosen, or None."""

    DEFAULT_CSS = """
    EarlierPromptsScreen {
        align: center middle;
        background: $background 70%;
        .box {
            width: 90; max-width: 96%; height: 80%; padding: 1 2;
            background: $surface; border: round $primary;
            border-title-color: $primary; border-title-style: bold; border-subtitle-color: $quiet;
        }
        OptionList {
            height: 1fr; border: none; padding: 0; background: $surface; margin-top: 1;
            scrollbar-size-vertical: 1; text-wrap: nowrap; text-overflow: ellipsis;
        }
        .none { color: $quiet; height: auto; margin-top: 1; display: none; }
    }
    """
    AUTO_FOCUS = "#find"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False),
        Binding("up", "move('cursor_up')", show=False, priority=True),
        Binding("down", "move('cursor_down')", show=False, priority=True),
        Binding("pageup", "move('page_up')", show=False, priority=True),
        Binding("pagedown", "move('page_down')", show=False, priority=True),
    ]

    def __init__(self, app: "BaseApp", room: "RoomServices") -> None:
        super().__init__()
        self.atlas = app
        self._room = room
        self._found: list[Message] = []
        self._list = OptionList(markup=False)
        self._list.can_focus = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Earlier messages of yours")
            box.border_subtitle = _("Enter puts it into the prompt · Esc cancels")
            yield CleanInput(placeholder=_("Type to search"), id="find")
            yield self._list
            yield Static(_("No matches."), classes="none", markup=False)

    def on_mount(self) -> None:
        self._seek("")

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._seek(event.value)

    def _seek(self, words: str) -> None:
        self.atlas.attempt(partial(self._search, words), group="prompts-search", exclusive=True)

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
        self._list.clear_options()
        self._list.add_options(
            [
                Option(
                    Content.assemble(
                        (f"{short(one.created_at, now)}  ", "$quiet"), clean_line(one.content[:_LONGEST])
                    )
                )
                for one in found
            ]
        )
        self._list.highlighted = 0 if found else None
        self.query_one(".none", Static).display = not found

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        at = self._list.highlighted
        if at is not None:
            self.dismiss(self._found[at].content)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._found[event.option_index].content)

    def action_move(self, how: str) -> None:
        getattr(self._list, f"action_{how}")()

    def action_cancel(self) -> None:
        self.dismiss(None)
