"""The history browser: everything that was said, found as one types, looked at, and put in order."""

import asyncio
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static
from textual.worker import WorkerCancelled, WorkerFailed

from atlas_desktop.services.search import FindingService
from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.compositing import SparingScreen
from atlas_desktop.tui.history_reading import around
from atlas_desktop.tui.history_rows import preview
from atlas_desktop.tui.origins import Chosen
from atlas_desktop.tui.screens.history_actions import HistoryActions
from atlas_desktop.tui.screens.history_seeking import Seeking
from atlas_desktop.tui.screens.view import View
from atlas_desktop.tui.widgets.change_bar import ChangeBar
from atlas_desktop.tui.widgets.filter_chips import BIN, MORE, QUICK, FilterChips, holds, toggled
from atlas_desktop.tui.widgets.history_list import HistoryList
from atlas_desktop.tui.widgets.inputs import CleanInput
from atlas_desktop.tui.widgets.keyline import KeyLine
from atlas_desktop.words.catalogue import tr
from memory.errors import MessageNotFound, RoomClosed, SessionNotFound
from memory.search.entities import Order, Page, SessionHit

if TYPE_CHECKING:
    from atlas_desktop.tui.app import AtlasApp
    from memory.entities import Message

_PREVIEW_S = 0.03


class HistoryScreen(HistoryActions, Seeking, View, SparingScreen[Chosen | None]):
    """Dismissed with what is to be opened, or None. `query` is what is looked for at first."""

    CSS_PATH = "history.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012
    where = Where.HISTORY
    shown_by = "show_history"
    AUTO_FOCUS = "#query"
    # Before the field is given the key: what is typed right after it belongs to the list already.
    BINDINGS = [  # noqa: RUF012
        *bindings(Where.HISTORY),
        *bindings(Where.VIEWS, hidden=True),
        Binding("down,pagedown", "history_list", tr("history.key.list"), priority=True, system=True),
    ]

    def __init__(self, app: "AtlasApp", query: str = "") -> None:
        super().__init__(app.size.width)
        self.atlas = app
        self._first_query = query
        self._finding = FindingService(app.desk)
        self._fetching: set[int] = set()
        self.sought = query
        self._list = HistoryList(app.now(), id="found")
        self._preview_text = Static("", id="preview", markup=False)
        self._keys = KeyLine()

    def compose(self) -> ComposeResult:
        yield Static("", id="title", markup=False)
        yield CleanInput(self._first_query, placeholder=tr("history.ask"), id="query", select_on_focus=False)
        yield FilterChips(id="chips")
        yield Static("", id="fault", markup=False)
        with Container(id="columns"):
            with Container(id="left"):
                yield self._list
                yield Static("", id="none", markup=False)
            with VerticalScroll(id="preview-box", can_focus=False):
                yield self._preview_text
        yield ChangeBar(id="change")
        yield self._keys

    def on_mount(self) -> None:
        self._tell_chips()
        if not self._first_query:
            # A field that comes with words says so by itself.
            self.seek()

    @property
    def listing(self) -> HistoryList:
        return self._list

    @property
    def field(self) -> Input:
        return self.query_one("#query", Input)

    @property
    def text(self) -> str:
        return self.field.value

    def leave(self, chosen: Chosen | None) -> None:
        self.dismiss(chosen)

    def back(self) -> None:
        self.action_history_back()

    # --- what is shown ---------------------------------------------------------------------------

    def _show(self, page: Page[SessionHit], first: int, cursor: int) -> None:
        if not self.standing:
            return
        self.shown += 1
        self._fetching.clear()
        self._page = page
        query = self._asked.query
        by_time = not query.question and self._order is Order.RECENT and not self.binned
        with self.app.batch_update():
            self._list.show(
                dict(enumerate(page.hits, first)),
                page.total,
                self.atlas.now(),
                cursor=cursor,
                grouped=by_time,
                pins=query.where is None,
                binned=self.binned,
            )
            self._list.display = bool(page.total)
            empty = self.query_one("#none", Static)
            empty.display = not page.total
            if not page.total:
                looked = bool(self._asked.text.strip())
                word = "none_found" if looked else "none_binned" if self.binned else "none"
                empty.update(Content(tr(f"history.{word}")))
            self._explain("")
            self.tell()

    @property
    def standing(self) -> bool:
        """Whether there still is something to write on: a screen that is left loses its parts first."""
        return self._preview_text.is_attached and self._keys.is_attached

    def tell(self) -> None:
        """The line at the top, and what can be done."""
        if not self.standing:
            return
        parts = [tr("history.bin" if self.binned else "history.title")]
        parts.append(tr("history.more" if self._page.more else "history.count", count=self._list.total))
        if self._asked.query.question:
            parts.append(tr("history.nearest"))
        elif self._order is Order.BEST:
            parts.append(tr("history.best"))
        if self.binned:
            parts.append(tr("history.bin_days"))
        line = Content(" · ".join(parts))
        if self.atlas.desk.rooms.private is not None:
            line = Content.assemble(line, " · ", (tr("history.unlocked"), "bold $warning"))
        if chosen := len(self._list.selected):
            line = Content.assemble(line, " · ", (tr("history.selected", count=chosen), "bold $accent"))
        self.query_one("#title", Static).update(line, layout=False)
        self.refresh_bindings()

    def _explain(self, text: str) -> None:
        if not self.standing:
            return
        fault = self.query_one("#fault", Static)
        if text or fault.display:
            fault.display = text != ""
            fault.update(Content(text))

    def on_history_list_moved(self) -> None:
        self.atlas.attempt(self._preview, group="history-preview", exclusive=True)
        self.refresh_bindings()

    async def _preview(self) -> None:
        # A key that is held down passes rows by faster than they can be read.
        await asyncio.sleep(_PREVIEW_S)
        hit = self._list.marked
        told = Content("")
        if hit is not None:
            try:
                told = preview(hit, await self._around(hit), self.atlas.now(), binned=self.binned)
            except (SessionNotFound, MessageNotFound, RoomClosed):
                self.reload()
                return
        if self.standing:
            self._preview_text.update(told)
            box = self.query_one("#preview-box", VerticalScroll)
            box.display = self._list.total > 0
            box.scroll_home(animate=False)

    async def _around(self, hit: SessionHit) -> "list[Message]":
        return await around(self.atlas.desk.at(hit.session.room).branches, hit)

    def forget_private(self) -> bool:
        self._list.clear_selection()
        self._list.show({}, 0, self.atlas.now())
        self._preview_text.update(Content(""))
        self.query_one(ChangeBar).take()
        self.app.call_later(self.reload, keep=False)
        return True

    # --- the field and the filters ---------------------------------------------------------------

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._tell_chips()
        self.seek()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.atlas.attempt(self._open_first, group="history-open", exclusive=True)

    async def _open_first(self) -> None:
        """Opens what fits what is typed, also when Enter comes before it is found."""
        while self._seeking is not None and self.seeking:
            try:
                await self._seeking.wait()
            except (WorkerCancelled, WorkerFailed):
                continue
        self.action_history_open()

    def action_history_list(self) -> None:
        """Leads from the field into the list."""
        self.set_focus(self._list)

    def on_history_list_left(self) -> None:
        self.field.focus()

    def on_descendant_focus(self) -> None:
        self._tell_chips()
        self.refresh_bindings()

    def on_history_list_opened(self) -> None:
        self.action_history_open()

    def on_history_list_marked(self, event: HistoryList.Marked) -> None:
        self._list.go(event.row)
        self.action_history_select()

    def _tell_chips(self) -> None:
        on = {name for name, term in QUICK.items() if holds(self.text, term)}
        self.query_one(FilterChips).tell({*on, BIN} if self.binned else on, keys=not self.field.has_focus)

    def on_filter_chips_pressed(self, event: FilterChips.Pressed) -> None:
        if event.name == MORE:
            self.action_history_filters()
        else:
            self.filter(event.name)

    def filter(self, name: str) -> None:
        """Adds a quick filter to what is typed, or takes it out; or shows the bin, or leaves it."""
        if name == BIN:
            self.binned = not self.binned
            self._tell_chips()
            self.seek()
        else:
            self.put(toggled(self.text, QUICK[name]))

    def put(self, text: str) -> None:
        """Puts a query into the field; the cursor stays where it is."""
        self.field.value = text
        self.field.cursor_position = len(text)
