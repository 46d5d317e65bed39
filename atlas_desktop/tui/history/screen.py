"""The history browser: search conversations, documents and notes, and organise conversations."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static
from textual.worker import WorkerCancelled, WorkerFailed

from atlas_desktop.locale import N_, _, ngettext, number
from atlas_desktop.services.search import FindingService
from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.base import View
from atlas_desktop.tui.documents.reader import ReaderScreen
from atlas_desktop.tui.documents.rows import AskAbout
from atlas_desktop.tui.history.actions import (
    BIN,
    MORE,
    QUICK,
    FilterChips,
    HistoryActions,
    SavedScreen,
    chosen_filter,
    holds,
    toggled,
)
from atlas_desktop.tui.history.list import HistoryList, HistorySearch
from atlas_desktop.tui.history.rows import around, document_preview, preview
from atlas_desktop.tui.keymap import shown_keys
from atlas_desktop.tui.markdown_text import ReadingText, Text
from atlas_desktop.tui.notes.adding import Visit
from atlas_desktop.tui.provenance.sources import Chosen
from atlas_desktop.tui.textual_workarounds import Ground, SparingScreen
from atlas_desktop.tui.widgets import ChangeBar, CleanInput, KeyLine, Undo
from memory.documents.entities import DocumentKind, DocumentMatch
from memory.errors import MessageNotFound, RoomClosed, SessionNotFound
from memory.search.entities import ItemKind, Order, Page, SessionHit

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp
    from memory.entities import Message
_HISTORY_TEXTS = {
    "none_found": N_("No matches. Try fewer or different words, or ~ and a question to search by meaning."),
    "none_binned": N_("The bin is empty."),
    "none": N_("No conversations. Archived and deleted ones are under Archived and Bin above."),
    "no_documents": N_("No documents match. {key} shows the library, where you can add some."),
    "no_notes": N_("No notes match. {key} shows all notes."),
}

_PREVIEW_S = 0.03


_TYPED = ("open", "back", "save", "undo", "room")
"""Actions that work while the field has the focus; all other keys are typed there."""
_IN_BIN = ("restore",)
_NOT_IN_BIN = (
    "tag",
    "star",
    "important",
    "pin",
    "archive",
    "project",
    "private",
    "merge",
    "export",
)


Result = Chosen | AskAbout | Visit


class _Pane(Ground, Container):
    """A part of the screen that shows only what is in it."""


class HistoryScreen(View, SparingScreen[Result | None]):
    """Dismissed with what to open or to ask about, or None. `query` is the first query."""

    CSS_PATH = "history.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012
    where = Where.HISTORY
    shown_by = "show_history"
    AUTO_FOCUS = "#query"
    # Handled before the field gets the key: what is typed right after it already belongs to the list.
    BINDINGS = [  # noqa: RUF012
        *bindings(Where.HISTORY),
        *bindings(Where.VIEWS, hidden=True),
        Binding("down,pagedown", "history_list", _("To the list"), priority=True, system=True),
    ]

    def __init__(self, app: "BaseApp", query: str = "") -> None:
        super().__init__(app.size.width)
        self.atlas = app
        self._first_query = query
        self._list = HistoryList(app.now(), id="found")
        self.search = HistorySearch(
            FindingService(app.desk), app.attempt, show=self._show, add=self._add, explain=self._explain
        )
        self.search.text = query
        self.changes = HistoryActions(app, self._list, reload=self.reload, offer=self._offer)
        self._preview_text = ReadingText(id="preview")
        self._keys = KeyLine()

    def compose(self) -> ComposeResult:
        yield Static("", id="title", markup=False)
        yield CleanInput(
            self._first_query,
            placeholder=_("Keywords, tag:work, after:2024-05, kind:document, ~by meaning …"),
            id="query",
            select_on_focus=False,
        )
        yield FilterChips(id="chips")
        yield Static("", id="fault", markup=False)
        with _Pane(id="columns"):
            with _Pane(id="left"):
                yield self._list
                yield Static("", id="none", markup=False)
            with VerticalScroll(id="preview-box", can_focus=False):
                yield self._preview_text
        yield ChangeBar(id="change")
        yield self._keys

    def on_mount(self) -> None:
        self._tell_chips()
        if not self._first_query:
            # A field created with a query posts its own change event.
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

    @property
    def binned(self) -> bool:
        """Whether the bin is shown."""
        return self.search.binned

    def back(self) -> None:
        self.action_history_back()

    # --- display ---------------------------------------------------------------------------------

    def _show(self, page: Page[SessionHit], first: int, cursor: int) -> None:
        if not self.standing:
            return
        query = self.search.asked.query
        by_time = not query.question and self.search.order is Order.RECENT and not self.binned
        with self.app.batch_update():
            self._list.show(
                dict(enumerate(page.hits, first)),
                page.total,
                self.atlas.now(),
                documents=(*self.search.documents.hits, *self.search.notes.hits),
                cursor=cursor,
                grouped=by_time,
                pins=query.where is None,
                binned=self.binned,
            )
            there = bool(self._list.total)
            self._list.display = there
            empty = self.query_one("#none", Static)
            empty.display = not there
            if not there:
                empty.update(Content(self._nothing()))
            self._explain("")
            self.tell()

    def _nothing(self) -> str:
        if not self.search.wants(ItemKind.MESSAGE):
            for kind, view in ((ItemKind.DOCUMENT, "documents"), (ItemKind.NOTE, "notes")):
                if self.search.wants(kind):
                    key = shown_keys(f"{view}.show", self.atlas.keys)
                    return _(_HISTORY_TEXTS[f"no_{view}"], key=key)
        looked = bool(self.search.asked.text.strip())
        return _(_HISTORY_TEXTS["none_found" if looked else "none_binned" if self.binned else "none"])

    def _add(self, page: Page[SessionHit], first: int) -> None:
        if not self.standing:
            return
        if page.hits:
            self._list.put(dict(enumerate(page.hits, first)), max(page.total, self._list.conversations))
        self.tell()

    def _offer(self, text: str, undo: Undo | None) -> None:
        self.query_one(ChangeBar).offer(text, undo)
        self.tell()

    def seek(self) -> None:
        """Searches for the typed text."""
        self._list.clear_selection()
        self.search.seek(self.text)

    def reload(self) -> None:
        """Reads the visible rows again after a change; the cursor stays on its conversation, or else its
        row."""
        self.search.reload(self._list.cursor, self._list.marked)

    @property
    def standing(self) -> bool:
        """Whether the widgets are still there: a screen that closes loses them first."""
        return self._preview_text.is_attached and self._keys.is_attached

    def tell(self) -> None:
        """Updates the title line and the footer."""
        if not self.standing:
            return
        parts = [(_("Bin") if self.binned else _("History"))]
        count = self._list.conversations
        if self.search.page.more:
            parts.append(ngettext("more than 1 conversation", "more than {count} conversations", count))
        elif self.search.wants(ItemKind.MESSAGE):
            parts.append(ngettext("1 conversation", "{count} conversations", count))
        parts += self._told_texts()
        if self.search.asked.query.question:
            parts.append(_("nearest first"))
        elif self.search.order is Order.BEST:
            parts.append(_("best first"))
        if self.binned and (days := self.atlas.desk.settings.retention.bin_days):
            parts.append(
                ngettext("deleted permanently after 1 day", "deleted permanently after {count} days", days)
            )
        line = Content(" · ".join(parts))
        if self.atlas.desk.rooms.private is not None:
            line = Content.assemble(line, " · ", (_("private room unlocked"), "bold $warning"))
        if chosen := len(self._list.selected):
            line = Content.assemble(
                line, " · ", (ngettext("1 selected", "{count} selected", chosen), "bold $accent")
            )
        self.query_one("#title", Static).update(line, layout=False)
        self.refresh_bindings()

    def _told_texts(self) -> list[str]:
        """Returns how many documents and notes were found; 0 is mentioned only if the query excludes
        messages."""
        told = []
        for kind, found in ((ItemKind.DOCUMENT, self.search.documents), (ItemKind.NOTE, self.search.notes)):
            alone = self.search.wants(kind) and not self.search.wants(ItemKind.MESSAGE)
            if found.total or alone:
                words = _number_text(kind, found)
                if len(found.hits) < found.total:
                    words += " " + _("({count} shown)", count=number(len(found.hits)))
                told.append(words)
        return told

    def _explain(self, text: str) -> None:
        if not self.standing:
            return
        fault = self.query_one("#fault", Static)
        if text or fault.display:
            fault.display = text != ""
            fault.update(Content(text))

    def on_history_list_wanted(self, event: HistoryList.Wanted) -> None:
        self.search.read_from(event.first)

    def on_history_list_moved(self) -> None:
        self.atlas.attempt(self._preview, group="history-preview", exclusive=True)
        self.refresh_bindings()

    async def _preview(self) -> None:
        # A key that is held down passes rows faster than they can be read.
        await asyncio.sleep(_PREVIEW_S)
        hit, document = self._list.marked, self._list.document
        now = self.atlas.now()
        told: Text = Content("") if document is None else document_preview(document, now)
        if hit is not None:
            try:
                messages = await self._around(hit)
                told = partial(preview, hit, messages, now, binned=self.binned)
            except (SessionNotFound, MessageNotFound, RoomClosed):
                self.reload()
                return
        if self.standing:
            self._preview_text.show(told)
            box = self.query_one("#preview-box", VerticalScroll)
            box.display = self._list.total > 0
            box.scroll_home(animate=False)

    async def _around(self, hit: SessionHit) -> "list[Message]":
        return await around(self.atlas.desk.at(hit.session.room).branches, hit)

    def forget_private(self) -> bool:
        self._list.clear_selection()
        self._list.show({}, 0, self.atlas.now())
        self._preview_text.show(Content(""))
        self.query_one(ChangeBar).take()
        self.app.call_later(self.search.reload)
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
        """Opens the best match, even if Enter comes before it is found."""
        while self.search.busy:
            try:
                await self.search.wait()
            except (WorkerCancelled, WorkerFailed):
                continue
        self.action_history_open()

    def action_history_list(self) -> None:
        """Moves the focus from the field to the list."""
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
        """Adds or removes a quick filter, or shows or leaves the bin."""
        if name == BIN:
            self.search.binned = not self.binned
            self._tell_chips()
            self.seek()
        else:
            self.put(toggled(self.text, QUICK[name]))

    def put(self, text: str) -> None:
        """Puts a query into the field."""
        self.field.value = text
        self.field.cursor_position = len(text)

    # --- actions: navigation ---------------------------------------------------------------------

    def action_history_open(self) -> None:
        if (document := self._list.document) is not None:
            if document.kind is DocumentKind.NOTE:
                at = 0 if document.chunk is None else document.chunk.begin
                self.dismiss(Visit(document.room, document.document.id, at))
            else:
                self._open_document(document)
            return
        hit = self._list.marked
        if hit is None:
            return
        if self.binned:
            self.atlas.say(_("In the bin. Press r to restore it."))
            return
        self.dismiss(Chosen(hit.session.id, None if hit.message is None else hit.message.id))

    def _open_document(self, hit: DocumentMatch) -> None:
        """Opens the reader at the passage."""
        room = self.atlas.desk.at(hit.room)
        passage = None if hit.chunk is None else (hit.chunk.begin, hit.chunk.end)
        reader = ReaderScreen(self.atlas, room, hit.document.id, passage=passage)
        self.app.push_screen(reader, self._reader_left)

    def _reader_left(self, wanted: AskAbout | None) -> None:
        if wanted is not None:
            self.dismiss(wanted)

    def action_history_back(self) -> None:
        """Clears the selection, then the query, then leaves the bin, then closes the screen."""
        if self._list.selected:
            self._list.clear_selection()
            self.tell()
        elif self.text:
            self.put("")
            self.field.focus()
        elif self.binned:
            self.filter(BIN)
        else:
            self.dismiss(None)

    def action_history_search(self) -> None:
        self.field.focus()

    def action_history_order(self) -> None:
        self.search.change_order()

    def action_history_bin(self) -> None:
        self.filter(BIN)

    def action_history_only_starred(self) -> None:
        self.filter("starred")

    def action_history_only_important(self) -> None:
        self.filter("important")

    def action_history_only_pinned(self) -> None:
        self.filter("pinned")

    def action_history_only_archived(self) -> None:
        self.filter("archived")

    def action_history_only_week(self) -> None:
        self.filter("week")

    def action_history_only_code(self) -> None:
        self.filter("code")

    def action_history_only_documents(self) -> None:
        self.filter("documents")

    def action_history_only_notes(self) -> None:
        self.filter("notes")

    def action_history_filters(self) -> None:
        self.changes.do(self._choose_filter())

    async def _choose_filter(self) -> None:
        term = await chosen_filter(self.atlas)
        if term:
            self.put(f"{term} {self.text}".strip() if term.startswith("@") else f"{self.text} {term}".strip())

    def action_history_save(self) -> None:
        self.changes.do(self._save())

    async def _save(self) -> None:
        room = self.atlas.desk.open_rooms[0]
        found = await self.atlas.push_screen_wait(SavedScreen(self.atlas, room, self.text))
        if found is not None:
            self.put(found.query)

    def action_history_room(self) -> None:
        """Closes the private room, or opens it and lists its conversations too."""
        if (chat := self.atlas.chat) is not None:
            chat.close_or_open_private(self.search.reload)

    # --- actions: selecting ----------------------------------------------------------------------

    def action_history_select(self) -> None:
        hit = self._list.marked
        if hit is not None:
            self._list.select([hit], selected=hit.session.id not in self._list.selected)
            self.tell()

    def action_history_extend_up(self) -> None:
        self._extend(-1)

    def action_history_extend_down(self) -> None:
        self._extend(+1)

    def _extend(self, by: int) -> None:
        before = self._list.marked
        self._list.go(self._list.cursor + by)
        self._list.select([hit for hit in (before, self._list.marked) if hit is not None])
        self.tell()

    def action_history_all(self) -> None:
        self.changes.do(self._select_all())

    async def _select_all(self) -> None:
        found = await self.search.all_found()
        if len(self._list.selected) == len(found):
            self._list.clear_selection()
        else:
            self._list.select(found)
        self.tell()

    # --- actions: changes ------------------------------------------------------------------------

    def action_history_rename(self) -> None:
        self.changes.rename()

    def action_history_tag(self) -> None:
        self.changes.tag()

    def action_history_star(self) -> None:
        self.changes.star()

    def action_history_important(self) -> None:
        self.changes.important()

    def action_history_pin(self) -> None:
        self.changes.pin()

    def action_history_archive(self) -> None:
        self.changes.archive()

    def action_history_project(self) -> None:
        self.changes.put_into_project()

    def action_history_private(self) -> None:
        self.changes.move()

    def action_history_merge(self) -> None:
        self.changes.merge()

    def action_history_export(self) -> None:
        self.changes.export()

    def action_export(self) -> None:
        """Exports them from the palette, which offers the action of the conversation under its name."""
        self.changes.export()

    def action_history_delete(self) -> None:
        """Moves conversations to the bin; permanently deletes those in the bin."""
        if not self.changes.chosen:
            return
        if self.binned:
            self.changes.erase()
        else:
            self.changes.delete()

    def action_history_restore(self) -> None:
        self.changes.restore()

    def action_history_undo(self) -> None:
        if (undo := self.query_one(ChangeBar).take()) is not None:
            self.changes.take_back(undo)

    def on_change_bar_undone(self) -> None:
        self.action_history_undo()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "export":
            return not self.binned and bool(self.changes.chosen)
        deed = action.removeprefix("history_")
        if deed == action:
            return super().check_action(action, parameters)
        if deed == "room":
            return self.atlas.chat is not None and self.atlas.chat.check_action("close_private", ())
        if deed == "list":
            return self.field.has_focus and bool(self._list.total)
        if self.field.has_focus and deed not in _TYPED:
            return False
        if deed == "undo":
            return self.query_one(ChangeBar).offered is not None
        if deed in _IN_BIN:
            return self.binned and bool(self.changes.chosen)
        if deed == "rename":
            return not self.binned and self._list.marked is not None
        if deed in _NOT_IN_BIN:
            return not self.binned and bool(self.changes.chosen)
        if deed == "delete":
            return bool(self.changes.chosen)
        if deed == "select":
            return self._list.marked is not None
        return deed not in ("all", "extend_up", "extend_down") or bool(self._list.conversations)


def _number_text(kind: ItemKind, found: Page[DocumentMatch]) -> str:
    if kind is ItemKind.NOTE:
        if found.more:
            return ngettext("more than 1 note", "more than {count} notes", found.total)
        return ngettext("{count} note", "{count} notes", found.total)
    if found.more:
        return ngettext("more than 1 document", "more than {count} documents", found.total)
    return ngettext("{count} document", "{count} documents", found.total)
