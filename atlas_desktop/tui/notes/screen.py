"""The Notes view: the list of notes, the editor of one, and its connections."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static, TextArea

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.base import View
from atlas_desktop.tui.documents.reader import ReaderScreen
from atlas_desktop.tui.documents.rows import AskAbout
from atlas_desktop.tui.notes.actions import (
    Hits,
    NoteActions,
    NoteBar,
    NoteList,
    Row,
    Shelf,
    chosen_tag,
    entry_of,
    name_text,
    nothing_text,
    read_hits,
    read_shelves,
    rooms_of,
    rows_of,
    text_words,
    title_text,
)
from atlas_desktop.tui.notes.adding import Visit
from atlas_desktop.tui.notes.connections import (
    Connection,
    ConnectionList,
    LinkMaker,
    connections_of,
    proposals_of,
)
from atlas_desktop.tui.notes.editor import LinkMenu, NoteEditor, NotePreview
from atlas_desktop.tui.provenance.screen import WhyScreen
from atlas_desktop.tui.provenance.sources import Chosen, reasons_of
from atlas_desktop.tui.textual_workarounds import SparingScreen
from atlas_desktop.tui.widgets import CleanInput, KeyLine, fit
from memory.entities import RoomKind
from memory.errors import NoteNotFound, RoomClosed
from memory.notes.entities import LinkKind, Note, NoteEntry, NoteLink

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp

_OFFERED = 12
_LONG = 20_000
"""Characters of a note above which its preview is drawn only in pauses."""
_PREVIEW_S = 1.5
_PROPOSING_S = 0.3
"""How long a note is shown before links are suggested for it."""
_PAUSE_S = 0.35
"""How long the typed words must stay the same before the texts are searched."""
_TYPED = ("back", "list")
"""Actions that work while the field has the focus; all other keys are typed there."""
_WRITING = ("back", "preview", "links", "follow", "save")
"""Actions that work while the editor has the focus."""
_NOT_IN_BIN = ("new", "import", "tags", "rename", "project", "move", "versions")
_ONLY_IN_BIN = ("restore",)
_OF_NOTE = ("open", "rename", "delete", "project", "move", "versions", "preview", "links", "restore")

Result = Chosen | AskAbout


@dataclass(frozen=True, slots=True)
class Opening:
    """A note to show, with the cursor at a position; `write` gives the editor the focus."""

    room: "RoomServices"
    note: str
    at: int | None = None
    write: bool = False


class NotesScreen(View, SparingScreen[Result | None]):
    """Dismissed with what to open, or None. `visit` is the note that it shows first."""

    CSS_PATH = "notes.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-middle"), (170, "-wide")]  # noqa: RUF012
    where = Where.NOTES
    shown_by = "show_notes"
    AUTO_FOCUS = "NoteList"
    BINDINGS = [  # noqa: RUF012
        *bindings(Where.NOTES),
        *bindings(Where.VIEWS, hidden=True),
        Binding("down,pagedown", "notes_list", _("To the list"), priority=True, show=False, system=True),
    ]

    def __init__(self, app: "BaseApp", visit: Visit | None = None) -> None:
        super().__init__(app.size.width)
        self.atlas = app
        self._keeping = app.notes
        self._visit = visit
        self._shelves: list[Shelf] = []
        self._loaded = False
        self._binned = False
        self._hits: Sequence[Hits] = ()
        self._room: RoomServices | None = None
        """The room of the note that is shown."""
        self._note: Note | None = None
        self._stored = ""
        """The text of the note as it was last stored or read."""
        self._opening: Opening | None = None
        """The note that is being read."""
        self.visited: Visit | None = visit
        """The note that was shown when the screen was closed."""
        self._way: list[Visit] = []
        """The notes that links were followed from."""
        self._connected: object = None
        self._timer: Timer | None = None
        self._preview_timer: Timer | None = None
        self._title = Static("", id="title", markup=False)
        self._name_line = Static("", id="name", markup=False)
        self._state = ""
        self._list = NoteList(app.now)
        self._field = CleanInput(
            placeholder=_("Filter by title, #tag and text"), id="query", select_on_focus=False
        )
        self._menu = LinkMenu()
        self.editor = NoteEditor(self._menu, id="editor")
        self._preview = NotePreview(self._run_preview)
        self._links = ConnectionList()
        self._bar = NoteBar(id="undo")
        self._linking = LinkMaker(
            app, self.editor, note=lambda: self._note, save=self._save_typed, reread=self._reread
        )
        self.changes = NoteActions(
            app,
            marked=lambda: self.marked,
            show=self._show_new,
            reload=self.reload,
            reread=self._reread,
            bar=self._bar,
        )

    def compose(self) -> ComposeResult:
        yield self._title
        with Container(id="columns"):
            with Vertical(id="left"):
                yield self._field
                yield self._list
                yield Static("", id="none", markup=False)
                yield self._bar
            with Container(id="right"):
                with Vertical(id="page"):
                    yield self._name_line
                    with Horizontal(id="texts"):
                        yield self.editor
                        with VerticalScroll(id="preview-box"):
                            yield self._preview
                yield self._links
        yield self._menu
        yield KeyLine()

    def on_mount(self) -> None:
        self._keeping.stored, self._keeping.take = self._kept, self._take_typed
        fit(self, self.query_one("#left"), self._draw)
        self.reload()

    def on_unmount(self) -> None:
        self._keeping.unlisten(self._kept)

    # --- what is acted on -----------------------------------------------------------------------------

    @property
    def marked(self) -> Row | None:
        """The row of the note that is shown, or that is under the cursor of the list."""
        row = self._list.marked
        if row is not None and row.heading:
            return None
        if self._note is not None and self._room is not None and not self._list.has_focus:
            return Row(f"note {self._note.id}", self._room, entry_of(self._note))
        return row

    @property
    def _words(self) -> str:
        return self._field.value.strip()

    @property
    def standing(self) -> bool:
        """Whether the widgets are still there: a screen that closes loses them first."""
        return self._list.is_attached and self._name_line.is_attached and self.editor.is_attached

    @property
    def visit(self) -> Visit | None:
        """The note that is shown."""
        if self._note is None or self._room is None:
            return None
        return Visit(self._room.store.room, self._note.id, self.editor.position)

    # --- reading --------------------------------------------------------------------------------------

    def reload(self) -> None:
        """Reads the list again; a newer request replaces one that is running."""
        if self in self.app.screen_stack:
            self.atlas.attempt(self._load, group="notes", exclusive=True)

    async def _load(self) -> None:
        try:
            self._shelves = await read_shelves(rooms_of(self.atlas), binned=self._binned)
        except RoomClosed:
            # The screen closes together with its room.
            if self in self.app.screen_stack:
                raise
            return
        self._loaded = True
        visit, self._visit = self._visit, None
        self._draw()
        if visit is not None:
            self._go(visit, write=False)

    def _reread(self) -> None:
        """Reads the list and the shown note again after a change, or that which is about to be shown."""
        self.reload()
        if self._opening is not None:
            self._begin(self._opening)
        elif self._note is not None and self._room is not None:
            self._open(self._room, self._note.id, at=self.editor.position, write=self.editor.has_focus)

    def on_screen_resume(self) -> None:
        if self._loaded and self._ended is None:
            # A note may have been extended on the screen that was over this one.
            self._reread()

    # --- the list -------------------------------------------------------------------------------------

    def _draw(self) -> None:
        """Shows the rows; the cursor stays on its row, or goes to that of the note that is about to be
        shown."""
        if not self.standing or not self._loaded:
            return
        # The list itself has no width while it is empty, and neither has one while the note covers it.
        width = self.query_one("#left").size.width
        opening = "" if self._opening is None else f"note {self._opening.note}"
        with self.app.batch_update():
            rows = rows_of(self._shelves, self._words, self._hits)
            if not rows and not self._words and self._list.has_focus:
                # Textual would give the focus of a hidden list to the field, where n is only a letter.
                self.set_focus(None)
            self._list.show(rows, width, cursor=opening)
            empty = self.query_one("#none", Static)
            empty.display = not self._list.rows
            empty.update(nothing_text(self._words, binned=self._binned))
        self._tell()
        if not self._list.rows and not self._words:
            self._leave_note()
            self._show_nothing()

    def _tell(self) -> None:
        """Updates the title line and the footer."""
        if not self.standing:
            return
        self._title.update(title_text(self._shelves, binned=self._binned), layout=False)
        self.refresh_bindings()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_list is not self._list:
            self.refresh_bindings()
            return
        if event.option_index >= self._list.option_count - 1:
            self._list.show_more()
        if event.option_index != self._list.highlighted:
            # The cursor has moved on since.
            return
        row = self._list.rows[event.option_index]
        if row.room is not None and row.note is not None and not self._is_shown(row.room, row.note.id):
            if self._opening is not None and (self._opening.write or self._opening.note == row.note.id):
                # Enter was pressed before this was told, or a new note is about to be written.
                return
            if self.editor.has_focus:
                # The list was read again: somebody who writes keeps the note.
                return
            self._way.clear()
            self._open(row.room, row.note.id, at=None if row.hit is None else row.hit.chunk.begin)
        self.refresh_bindings()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option_list is self._links:
            self._follow(self._links.rows[event.option_index])
        elif event.option_index == self._list.pressed_at:
            # The first click shows the note, the second opens it.
            self.action_notes_open()

    # --- search ---------------------------------------------------------------------------------------

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._hits = ()
        self._draw()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_PAUSE_S, self._search)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._timer is not None:
            self._timer.stop()
        self._search()
        self._list.focus()

    def _search(self) -> None:
        if self in self.app.screen_stack and text_words(self._words) and not self._binned:
            self.atlas.attempt(self._search_text, group="notes-search", exclusive=True)

    async def _search_text(self) -> None:
        words = self._words
        try:
            hits = await read_hits(rooms_of(self.atlas), words)
        except RoomClosed:
            if self in self.app.screen_stack:
                raise
            return
        if self.standing and words == self._words:
            self._hits = hits
            self._draw()

    def action_notes_search(self) -> None:
        self._show_list()
        self._field.focus()

    def action_notes_list(self) -> None:
        """Moves the focus from the field to the list."""
        self._list.focus()

    # --- the note -------------------------------------------------------------------------------------

    def _is_shown(self, room: "RoomServices", note_id: str) -> bool:
        return self._note is not None and self._note.id == note_id and self._room is room

    def _open(
        self, room: "RoomServices", note_id: str, *, at: int | None = None, write: bool = False
    ) -> None:
        """Shows a note, with the cursor at a position; `write` gives the editor the focus."""
        self._begin(Opening(room, note_id, at, write))

    def _begin(self, opening: Opening) -> None:
        if self in self.app.screen_stack:
            self._opening = opening
            if self.editor.has_focus and not self._is_shown(opening.room, opening.note):
                # The next keys are meant for the other note.
                self.set_focus(self._list)
            self.atlas.attempt(partial(self._load_note, opening), group="notes-open", exclusive=True)

    async def _load_note(self, opening: Opening) -> None:
        room, note_id = opening.room, opening.note
        self._leave_note()
        try:
            note = await self._keeping.read(room, note_id)
        except (RoomClosed, NoteNotFound):
            if self in self.app.screen_stack and self._is_shown(room, note_id):
                self._show_nothing()
            return
        finally:
            if self._opening is opening:
                self._opening = None
        if not self.standing:
            return
        # Somebody may have gone on typing meanwhile, in this note or in the one before.
        self._leave_note()
        typed = self._keeping.text_of(room, note_id)
        text = note.text if typed is None else typed
        fresh = not self._is_shown(room, note_id) or self.editor.text != text
        self._room, self._note, self._stored = room, note, note.text
        if fresh:
            self.editor.put(text)
            self.query_one("#preview-box", VerticalScroll).scroll_home(animate=False)
        self.query_one("#right").remove_class("-empty")
        if opening.at is not None:
            self.editor.go_to(opening.at)
        self._connected = None
        self._tell_note()
        if opening.write:
            self._write()

    def _leave_note(self) -> None:
        """Has the text of the editor stored, before the editor shows something else."""
        self._take_typed()
        self._keeping.keep_soon()

    def _take_typed(self) -> None:
        """Takes the text of the editor if it is not stored: its last change may not have been reported
        yet."""
        if self._note is not None and self._room is not None and self.editor.is_attached:
            text = self.editor.text
            if text != self._stored and text != self._keeping.text_of(self._room, self._note.id):
                self._keeping.typed(self._room, self._note.id, lambda: text)

    def forget_private(self) -> bool:
        self._shelves = [one for one in self._shelves if one.room.store.room is not RoomKind.PRIVATE]
        self._hits = [one for one in self._hits if one.room.store.room is not RoomKind.PRIVATE]
        self._way = [one for one in self._way if one.room is not RoomKind.PRIVATE]
        if self._room is not None and self._room.store.room is RoomKind.PRIVATE:
            self._show_nothing()
        self._draw()
        return True

    def _show_nothing(self) -> None:
        self._note = self._room = None
        self._stored = ""
        self.editor.put("")
        self._links.clear()
        self._preview.show("", ())
        self._name_line.update("")
        right = self.query_one("#right")
        right.add_class("-empty")
        if self.editor.has_focus or self._links.has_focus:
            self._show_list()

    def _show_new(self, room: "RoomServices", note_id: str) -> None:
        self._way.clear()
        self.remove_class("-preview")
        self._open(room, note_id, write=True)
        # A filter would hide its row.
        self._field.value = ""

    def _tell_note(self, *, typing: bool = False) -> None:
        """Shows what is known of the note: its name, its preview, its connections.

        While the user is `typing`, the preview of a long note waits for a pause.
        """
        self._tell_name()
        if self._preview_timer is not None:
            self._preview_timer.stop()
        if typing and self._note is not None and len(self._note.text) > _LONG:
            self._preview_timer = self.set_timer(_PREVIEW_S, self._draw_preview)
        else:
            self._draw_preview()
        if self._note is not None and self._room is not None:
            known = (self._note.id, self._note.links, self._note.backlinks)
            if known != self._connected:
                self._connected = known
                work = partial(self._load_connections, self._note, self._room)
                self.atlas.attempt(work, group="notes-connections", exclusive=True)
        self.refresh_bindings()

    def _tell_name(self) -> None:
        """Updates the line above the text."""
        note, room = self._note, self._room
        if note is None or room is None or not self._name_line.is_attached:
            return
        self._state = self._saved
        self._name_line.update(name_text(note, room.store.room, self._state), layout=False)

    @property
    def _saved(self) -> str:
        """Whether the text is stored, in words."""
        if self._note is None or self._room is None:
            return ""
        if self._note.deleted_at is not None:
            return _("in the bin")
        if self._keeping.text_of(self._room, self._note.id) is None:
            return _("saved")
        return _("not saved yet") if self._keeping.failing else "…"

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self._note is None or self._room is None:
            return
        waiting = self._keeping.waiting
        self._keeping.typed(self._room, self._note.id, self.editor.reader())
        if not waiting:
            self._tell_name()
        self.editor.look_for_link()

    def _kept(self, room: "RoomServices", note: Note) -> None:
        """Shows what is known of a note that has just been stored."""
        if not self.standing:
            return
        self._show_entry(room, entry_of(note))
        if self._is_shown(room, note.id):
            self._note, self._stored = note, note.text
            self._tell_note(typing=True)

    def _show_entry(self, room: "RoomServices", entry: NoteEntry) -> None:
        """Updates the row of a note; it keeps its place until the list is read again."""
        self._shelves = [
            replace(shelf, notes=tuple(entry if one.id == entry.id else one for one in shelf.notes))
            if shelf.room is room
            else shelf
            for shelf in self._shelves
        ]
        self._list.update_note(room, entry)

    # --- preview --------------------------------------------------------------------------------------

    def _run_preview(self, work: Any) -> None:
        self.atlas.attempt(work, group="notes-preview", exclusive=True)

    def _draw_preview(self) -> None:
        if self._note is not None and self.query_one("#preview-box").display:
            self._preview.show(self._note.text, self._note.links)

    def action_notes_preview(self) -> None:
        """Shows the preview in place of the editor, or the editor again."""
        box, shown = self.query_one("#preview-box", VerticalScroll), not self.has_class("-preview")
        if shown:
            self.set_focus(box)
        elif box.has_focus:
            self.set_focus(self.editor)
        if self.has_class("-narrow"):
            self.add_class("-note")
        self.set_class(shown, "-preview")
        self.call_after_refresh(self._draw_preview)

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw_preview)

    def on_note_preview_link_clicked(self, event: NotePreview.LinkClicked) -> None:
        event.stop()
        self._follow_link(event.link)

    # --- links ----------------------------------------------------------------------------------------

    async def _load_connections(self, note: Note, room: "RoomServices") -> None:
        try:
            found = await connections_of(note, room)
        except RoomClosed:
            if self in self.app.screen_stack:
                raise
            return
        self._show_connections(note, found)
        await asyncio.sleep(_PROPOSING_S)
        try:
            proposed = await proposals_of(note, room)
        except RoomClosed:
            if self in self.app.screen_stack:
                raise
            return
        self._show_connections(note, [*found, *proposed])

    def _show_connections(self, note: Note, found: list[Connection]) -> None:
        if self.standing and self._note is not None and self._note.id == note.id:
            self._links.show(found)

    @property
    def _linkable(self) -> Connection | None:
        """The row under the cursor of the connections, if it can be made a link."""
        row = self._links.marked if self._links.has_focus else None
        return row if row is not None and row.can_link else None

    def action_notes_link(self) -> None:
        """Makes a link of the suggestion or the mention under the cursor."""
        row, note, room = self._linkable, self._note, self._room
        if row is None or note is None or room is None:
            return
        self.atlas.attempt(partial(self._linking.link, row, room, note), group="notes-change", exclusive=True)

    def _follow_link(self, link: NoteLink) -> None:
        if link.to is None:
            self._offer_note(link.text)
        else:
            self._follow(Connection(Content(""), link.kind, link.to))

    def _offer_note(self, name: str) -> None:
        """Asks whether to write the note that a link names."""
        self.changes.new(clean_line(name))

    def _follow(self, row: Connection) -> None:
        """Opens what a row leads to."""
        if row.name:
            self._offer_note(row.name)
        if row.to is None or self._room is None or row.kind is None:
            return
        room = self._room
        match row.kind:
            case LinkKind.NOTE:
                if (here := self.visit) is not None:
                    self._way.append(here)
                self._open(room, row.to, at=row.at or 0, write=True)
            case LinkKind.SESSION:
                self.dismiss(Chosen(row.to, None))
            case LinkKind.MESSAGE:
                self.atlas.attempt(partial(self._open_message, room, row.to), group="notes-follow")
            case LinkKind.MEMORY:
                self.atlas.attempt(partial(self._open_memory, room, row.to), group="notes-follow")
            case LinkKind.DOCUMENT:
                self.app.push_screen(ReaderScreen(self.atlas, room, row.to), self._left)

    async def _open_message(self, room: "RoomServices", message_id: str) -> None:
        found = next(one for one in await room.store.variants(message_id) if one.id == message_id)
        self.dismiss(Chosen(found.session_id, found.id))

    async def _open_memory(self, room: "RoomServices", memory_id: str) -> None:
        reasons = await reasons_of(room, memory_id, self.atlas.now())
        if self.app.screen is self:
            self.app.push_screen(WhyScreen(self.atlas, reasons), self._left)

    def _left(self, wanted: Result | None) -> None:
        if wanted is not None:
            self.dismiss(wanted)

    def _go(self, visit: Visit, *, write: bool) -> None:
        """Shows a note that was shown before, if it still exists."""
        for shelf in self._shelves:
            if shelf.room.store.room is visit.room:
                if not write:
                    with self.prevent(OptionList.OptionHighlighted):
                        self._list.go_to(f"note {visit.note}")
                self._open(shelf.room, visit.note, at=visit.at, write=write)

    def action_notes_follow(self) -> None:
        """Opens the link under the cursor of the editor."""
        at = self.editor.position
        links = [] if self._note is None else self._note.links
        link = next((one for one in links if one.begin <= at <= one.end), None)
        if link is None:
            self.atlas.say(_("There is no link under the cursor."))
        else:
            self._follow_link(link)

    # --- completion -----------------------------------------------------------------------------------

    def on_note_editor_naming(self, event: NoteEditor.Naming) -> None:
        event.stop()
        if event.typed is None:
            self.atlas.workers.cancel_group(self.atlas, "notes-complete")
            self._menu.offer(())
        else:
            work = partial(self._complete, event.typed)
            self.atlas.attempt(work, group="notes-complete", exclusive=True)

    async def _complete(self, typed: str) -> None:
        if self._room is None:
            return
        try:
            found = await self._room.notes.targets(typed, limit=_OFFERED)
        except RoomClosed:
            if self in self.app.screen_stack:
                raise
            return
        if self.standing and self.editor.has_focus:
            here = None if self._note is None else self._note.id
            self._menu.offer([one for one in found if one.id != here], self.editor.cursor_screen_offset)

    def on_link_menu_picked(self, event: LinkMenu.Picked) -> None:
        event.stop()
        self.editor.complete(event.target)
        self.editor.focus()

    # --- navigation -----------------------------------------------------------------------------------

    def _write(self) -> None:
        # The focus first: when a widget is hidden, Textual moves its focus, even if that is elsewhere by
        # then.
        self.set_focus(self.query_one("#preview-box") if self.has_class("-preview") else self.editor)
        self.add_class("-note")
        self.remove_class("-links")
        self.refresh_bindings()

    def _show_list(self) -> None:
        self.set_focus(self._list)
        self.remove_class("-note", "-links")

    def action_notes_open(self) -> None:
        """Goes to the editor of the note under the cursor."""
        row = self._list.marked
        if row is None or row.note is None or row.room is None:
            return
        position = None if row.hit is None else row.hit.chunk.begin
        if self._is_shown(row.room, row.note.id) and position is None:
            self._write()
        else:
            self._open(row.room, row.note.id, at=position, write=True)

    def action_notes_links(self) -> None:
        """Goes to the connections of the note; a narrow screen shows only them."""
        if self._note is None:
            return
        self.set_focus(self._links)
        self.add_class("-links")
        if self._links.highlighted is None:
            self._links.action_first()
        self.refresh_bindings()

    @property
    def _on_page(self) -> bool:
        """Whether the editor, the preview or the connections have the focus."""
        focused = self.focused
        return focused is not None and self.query_one("#right") in focused.ancestors

    def back(self) -> None:
        self.action_notes_back()

    def action_notes_back(self) -> None:
        """Goes back one step: from the links, a followed link, the note, the search or the bin; then closes
        the screen."""
        if self._links.has_focus and self.has_class("-note"):
            self._write()
        elif self._on_page and self._way:
            self._go(self._way.pop(), write=True)
        elif self._on_page:
            self._leave_note()
            self._show_list()
        elif self._field.value:
            self._field.value = ""
            self._list.focus()
        elif self._field.has_focus and self._list.display:
            self._list.focus()
        elif self._binned:
            self.action_notes_bin()
        else:
            self.dismiss(None)

    def dismiss(self, result: Result | None = None) -> Any:
        """Closes the screen; what is typed is stored."""
        self.visited = self.visit
        self._leave_note()
        return super().dismiss(result)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if event.widget is self._list or event.widget is self._field:
            self.remove_class("-note", "-links")
        elif event.widget is self.editor:
            self.add_class("-note")
            self.remove_class("-links")
        self.refresh_bindings()

    # --- actions --------------------------------------------------------------------------------------

    def action_notes_new(self) -> None:
        self.changes.new()

    def action_notes_import(self) -> None:
        self.changes.take_folder()

    def action_notes_save(self) -> None:
        """Stores the text now; it is also stored automatically."""
        self.atlas.attempt(self._save, group="notes-save")

    async def _save(self) -> None:
        await self._save_typed()
        self.atlas.say(_("Saved."))

    async def _save_typed(self) -> None:
        self._take_typed()
        await self._keeping.keep_all()

    def action_notes_rename(self) -> None:
        self.changes.rename()

    def action_notes_delete(self) -> None:
        self.changes.delete(binned=self._binned)

    def action_notes_restore(self) -> None:
        self.changes.restore()

    def action_notes_undo(self) -> None:
        self.changes.undo()

    def action_notes_bin(self) -> None:
        """Shows the notes in the bin, or the others again."""
        self._leave_note()
        self._binned = not self._binned
        self._hits = ()
        self._list.highlighted = None
        self.reload()

    def action_notes_project(self) -> None:
        self.changes.file()

    def action_notes_move(self) -> None:
        self.changes.move()

    def action_notes_versions(self) -> None:
        self.changes.versions()

    def action_notes_tags(self) -> None:
        """Shows the tags; the chosen one filters the list."""
        self.atlas.attempt(self._choose_tag, group="notes-change", exclusive=True)

    async def _choose_tag(self) -> None:
        chosen = await chosen_tag(self.atlas)
        if chosen is not None:
            self._field.value = f"#{chosen}"
            self._list.focus()

    def on_note_bar_undone(self) -> None:
        self.changes.undo()

    # --- availability ---------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        deed = action.removeprefix("notes_")
        if deed == action:
            return super().check_action(action, parameters)
        if deed == "list":
            return self._field.has_focus and bool(self._list.rows)
        if self._field.has_focus:
            return deed in _TYPED
        if self.editor.has_focus:
            return deed in _WRITING
        return self._allowed(deed)

    def _allowed(self, deed: str) -> bool:
        """Whether an action is available while nothing is typed."""
        if self._opening is not None and self._opening.write:
            # The next keys are meant for the editor.
            return deed == "back"
        if deed in (_NOT_IN_BIN if self._binned else _ONLY_IN_BIN):
            return False
        match deed:
            case "follow" | "save":
                return False
            case "open":
                return self._list.has_focus and self.marked is not None
            case "undo":
                return self._bar.offered is not None
            case "link":
                return self._linkable is not None
            case "move":
                return self._can_move
        return deed not in _OF_NOTE or self.marked is not None

    @property
    def _can_move(self) -> bool:
        row, chat = self.marked, self.atlas.chat
        if row is None or row.room is None or chat is None:
            return False
        return row.room.store.room is not RoomKind.OFF_RECORD
