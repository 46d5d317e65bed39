"""The Documents view: what the library of a room contains, and what can be done with it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from atlas_desktop.locale import _, ngettext
from atlas_desktop.phrases import place_text
from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.base import View
from atlas_desktop.tui.documents.actions import DocumentActions
from atlas_desktop.tui.documents.reader import ReaderScreen
from atlas_desktop.tui.documents.rows import (
    AskAbout,
    AttachHere,
    Details,
    Library,
    Link,
    Row,
    RowLook,
    UseHere,
    details_of,
    read_library,
    row_text,
    rows_of,
    title_text,
)
from atlas_desktop.tui.markdown_text import ReadingText
from atlas_desktop.tui.notes.adding import add_to_note, of_document
from atlas_desktop.tui.provenance.sources import Chosen
from atlas_desktop.tui.textual_workarounds import SparingScreen
from atlas_desktop.tui.widgets import CleanInput, KeyLine, fit
from memory.attachments import NewAttachment
from memory.documents.entities import Document, DocumentHit, DocumentQuery
from memory.errors import RoomClosed

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp

PAGE = 100
"""Rows that are added to the list at a time."""
_HITS = 40
_MARK = 3
"""Cells of the mark before a row; a click there selects it."""
_PAUSE_S = 0.35
"""How long the typed words must stay the same before the text of the documents is searched."""
_TYPED = ("back", "list", "read")
"""Actions that work while the field has the focus; all other keys are typed there."""
_OF_DOCUMENTS = ("ask", "select", "use_here")
_OF_ROWS: dict[str, Callable[[Row], bool]] = {
    "unwatch": lambda row: row.folder is not None,
    "note": lambda row: row.document is not None,
    "edit": lambda row: row.document is not None and not row.document.path,
}

Result = Chosen | AskAbout | UseHere | AttachHere


class DocumentList(OptionList):
    """The rows of the library."""

    # The keys of a list would hide those of the screen in the footer.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "screen.documents_read", _("Read")),
        Binding("right", "screen.documents_details", _("Details")),
    ]
    pressed_at: int | None = None
    """The row under the cursor when the mouse was pressed."""
    pressed_mark = False
    """Whether the mouse was pressed on the mark before a row, or with Ctrl."""

    def on_mouse_down(self, event: events.MouseDown) -> None:
        offset = event.get_content_offset(self)
        self.pressed_at = self.highlighted
        self.pressed_mark = event.ctrl or (offset is not None and offset.x < _MARK)


class LinkList(OptionList):
    """The outline of a document, and the conversations about it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", _("Open")),
        Binding("left", "screen.documents_back", _("List")),
    ]


class DocumentsScreen(View, SparingScreen[Result | None]):
    """Dismissed with what to do in the conversation, or None."""

    CSS_PATH = "documents.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012
    where = Where.DOCUMENTS
    shown_by = "show_documents"
    AUTO_FOCUS = "DocumentList"
    BINDINGS = [  # noqa: RUF012
        *bindings(Where.DOCUMENTS),
        *bindings(Where.VIEWS, hidden=True),
        Binding("down,pagedown", "documents_list", _("To the list"), priority=True, show=False, system=True),
    ]

    def __init__(self, app: "BaseApp", *, marked: str = "") -> None:
        """The cursor starts at the document `marked` (an id)."""
        super().__init__(app.size.width)
        self.atlas = app
        self._wanted = marked
        self._room = app.room
        self._library = Library()
        self._loaded = False
        self._hits: Sequence[DocumentHit] | None = None
        """What was found in the texts; None before they are searched for what is typed."""
        self._rows: list[Row] = []
        self._shown = 0
        """The number of rows that are in the list."""
        self._selected: dict[str, Document] = {}
        self._details = Details()
        self._timer: Timer | None = None
        self._version: int | None = None
        self._title = Static("", id="title", markup=False)
        self._progress = Static("", id="progress", markup=False)
        self._list = DocumentList(id="documents", markup=False)
        self._links = LinkList(id="links", markup=False)
        self._links.display = False
        self._facts = ReadingText(id="facts")
        self._field = CleanInput(
            placeholder=_("Filter by title and path; Enter searches the text"),
            id="query",
            select_on_focus=False,
        )
        self.changes = DocumentActions(
            app,
            self._room,
            marked=lambda: self.marked,
            chosen=lambda: self.chosen,
            reload=self.reload,
            tell_progress=self._tell_progress,
        )

    def compose(self) -> ComposeResult:
        yield self._title
        yield self._field
        yield self._progress
        with Container(id="columns"):
            with Container(id="left"):
                yield self._list
                yield Static("", id="none", markup=False)
            with Vertical(id="details"):
                with VerticalScroll(id="facts-box", can_focus=False):
                    yield self._facts
                yield self._links
        yield KeyLine()

    def on_mount(self) -> None:
        fit(self, self.query_one("#left"), self._draw)
        self.reload()

    # --- what is acted on ---------------------------------------------------------------------------

    @property
    def marked(self) -> Row | None:
        """The row under the cursor."""
        at = self._list.highlighted
        return None if at is None or at >= min(self._shown, len(self._rows)) else self._rows[at]

    @property
    def chosen(self) -> list[Document]:
        """The selected documents, or those of the row under the cursor."""
        if self._selected:
            return list(self._selected.values())
        row = self.marked
        if row is None:
            return []
        return [row.document] if row.document is not None else list(row.documents)

    @property
    def _words(self) -> str:
        return self._field.value.strip()

    @property
    def standing(self) -> bool:
        """Whether the widgets are still there: a screen that closes loses them first."""
        return self._list.is_attached and self._facts.is_attached and self._title.is_attached

    # --- reading ------------------------------------------------------------------------------------

    def reload(self, select: str = "") -> None:
        """Reads the library again, and selects a document if one is given. A newer request replaces one that
        is running."""
        if select:
            self._wanted = f"document {select}"
        if self in self.app.screen_stack:
            self.atlas.attempt(self._load, group="documents", exclusive=True)

    async def _load(self) -> None:
        try:
            changes = await self._room.store.documents.evidence.changes(self._version)
            self._version = changes.version
            self._library = await read_library(self._room)
        except RoomClosed:
            # The screen closes together with its room.
            if self in self.app.screen_stack:
                raise
            return
        self._loaded = True
        there = self._library.by_id
        self._selected = {key: there[key] for key in self._selected if key in there}
        self._draw()

    def look_for_changes(self) -> None:
        """Reads the library again if it has changed, for example because a watched folder has."""
        if self in self.app.screen_stack and self._loaded:
            self.atlas.attempt(self._reload_if_changed, group="documents-look", exclusive=True)

    async def _reload_if_changed(self) -> None:
        try:
            changes = await self._room.store.documents.evidence.changes(self._version)
        except RoomClosed:
            if self in self.app.screen_stack:
                raise
            return
        if changes.documents:
            self.reload()

    # --- display ------------------------------------------------------------------------------------

    def _draw(self) -> None:
        """Shows the rows; the cursor stays on its row."""
        if not self.standing or not self._loaded:
            return
        kept, at = self.marked, self._list.highlighted or 0
        self._rows = rows_of(self._library, self._words, self._hits or ())
        ids = [row.id for row in self._rows]
        to = ids.index(kept.id) if kept is not None and kept.id in ids else min(at, len(ids) - 1)
        if self._wanted in ids:
            to, self._wanted = ids.index(self._wanted), ""
        with self.app.batch_update():
            self._list.clear_options()
            self._shown = 0
            self._show_more(to)
            self._list.display = bool(self._rows)
            empty = self.query_one("#none", Static)
            empty.display = not self._rows
            empty.update(self._nothing())
            self.query_one("#details").set_class(not self._rows, "-empty")
            if self._rows:
                self._list.highlighted = self._first_open(to)
        self._tell()
        self._read_details()

    def _show_more(self, to: int = 0) -> None:
        """Adds rows to the list, at least up to that of the index `to`."""
        end = min(max(self._shown + PAGE, to + PAGE // 2), len(self._rows))
        look = self._look
        self._list.add_options([self._option(row, look) for row in self._rows[self._shown : end]])
        self._shown = end

    @property
    def _look(self) -> RowLook:
        # The list has no width of its own while it is empty.
        return RowLook(max(self.query_one("#left").size.width - 5, 30), self.atlas.now())

    def _option(self, row: Row, look: RowLook) -> Option:
        chosen = row.document is not None and row.hit is None and row.document.id in self._selected
        look = RowLook(look.width, look.now, chosen)
        return Option(row_text(row, look), id=row.id, disabled=bool(row.heading))

    def _first_open(self, at: int) -> int | None:
        """Returns the index of the row at or after a place that is not a heading."""
        order = [*range(max(at, 0), self._shown), *range(max(at, 0))]
        return next((i for i in order if i < self._shown and not self._rows[i].heading), None)

    def _nothing(self) -> Content:
        if self._words and self._hits is not None:
            return Content(_("No matches, in titles or texts."))
        if self._words:
            return Content(_("No matches. Enter searches the text of all documents for these words."))
        return Content(
            _(
                "No documents yet.\n\n"
                "Press a to add a file or everything below a folder, or w to watch a folder and follow its "
                "changes. Atlas reads text, Markdown, code, web pages, PDF, office files and more. The files "
                "stay where they are, and nothing leaves this computer.\n\n"
                "Then press q to ask about a document: the reply cites the passages it uses."
            )
        )

    def _tell(self) -> None:
        """Updates the title line and the footer."""
        if not self.standing:
            return
        count = len(self._library.documents)
        parts = [_("Documents"), ngettext("{count} document", "{count} documents", count)]
        if self._library.folders:
            parts.append(
                ngettext("{count} watched folder", "{count} watched folders", len(self._library.folders))
            )
        line = Content(" · ".join(parts))
        if self._selected:
            chosen = ngettext("{count} selected", "{count} selected", len(self._selected))
            line = Content.assemble(line, " · ", (chosen, "bold $accent"))
        self._title.update(line, layout=False)
        self.refresh_bindings()

    def _tell_progress(self, words: str) -> None:
        if self.standing:
            self._progress.update(Content(words))
            self._progress.set_class(bool(words), "-shown")

    # --- the right side -----------------------------------------------------------------------------

    def _read_details(self) -> None:
        if self in self.app.screen_stack:
            self.atlas.attempt(self._load_details, group="documents-details", exclusive=True)

    async def _load_details(self) -> None:
        row = self.marked
        try:
            found = Details() if row is None else await details_of(row, self._room, self.atlas.now())
        except RoomClosed:
            if self in self.app.screen_stack:
                raise
            return
        if not self.standing or row is not self.marked:
            return
        new_links = found.links != self._details.links
        self._details = found
        with self.app.batch_update():
            self._facts.show(found.facts)
            self.query_one("#facts-box", VerticalScroll).scroll_home(animate=False)
            if new_links:
                self._links.clear_options()
                self._links.add_options([_link_option(link) for link in found.links])
                self._links.display = bool(found.links)
        if new_links and self.has_class("-details"):
            # Someone went to the right side before it was read.
            self._focus_details()
        self.refresh_bindings()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_list is not self._list:
            return
        if event.option_index >= self._shown - 1 and self._shown < len(self._rows):
            self._show_more()
        self._read_details()
        self.refresh_bindings()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option_list is self._links:
            self._follow(self._details.links[event.option_index])
        elif self._list.pressed_mark:
            self.action_documents_select()
        elif event.option_index == self._list.pressed_at:
            # The first click shows what is known about the row, the second opens it.
            self.action_documents_read()

    def _follow(self, link: Link) -> None:
        row = self.marked
        if link.session is not None:
            self.dismiss(Chosen(link.session, None))
        elif link.position is not None and row is not None and row.document is not None:
            self._open_reader(row.document, (link.position, link.position))
        elif link.note is not None and (chat := self.atlas.chat) is not None:
            self.dismiss(None)
            chat.show_note(self._room.store.room, link.note)

    # --- search -------------------------------------------------------------------------------------

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._hits = None
        self._list.highlighted = None
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
        if self in self.app.screen_stack and self._words:
            self.atlas.attempt(self._search_text, group="documents-search", exclusive=True)

    async def _search_text(self) -> None:
        words = self._words
        try:
            found = await self._room.documents.search.answer(DocumentQuery(words, _HITS))
        except RoomClosed:
            if self in self.app.screen_stack:
                raise
            return
        if self.standing and words == self._words:
            self._hits = found.hits
            self._draw()

    def action_documents_search(self) -> None:
        self._field.focus()

    def action_documents_list(self) -> None:
        """Moves the focus from the field to the list."""
        self._list.focus()

    # --- actions: navigation ------------------------------------------------------------------------

    def action_documents_read(self) -> None:
        """Opens the content of the row: the reader, or a conversation with the attached text.

        On a folder, goes to the first document in it.
        """
        row = self.marked
        if row is None:
            return
        if row.document is not None:
            hit = row.hit
            self._open_reader(row.document, None if hit is None else (hit.chunk.begin, hit.chunk.end))
        elif row.attached is not None and len(row.attached.places) == 1:
            self.dismiss(Chosen(row.attached.places[0][0], None))
        elif row.documents:
            self._list.highlighted = self._first_open(self._rows.index(row) + 1)
        else:
            self.action_documents_details()

    def _open_reader(self, document: Document, passage: tuple[int, int] | None) -> None:
        self.app.push_screen(
            ReaderScreen(self.atlas, self._room, document.id, passage=passage), self._reader_left
        )

    def _reader_left(self, wanted: AskAbout | None) -> None:
        if wanted is not None:
            self.dismiss(wanted)

    def action_documents_details(self) -> None:
        """Goes to the right side; a narrow screen shows it in place of the list."""
        self.add_class("-details")
        self._focus_details()
        self.refresh_bindings()

    def _focus_details(self) -> None:
        target = self._links if self._links.display else self.query_one("#facts-box", VerticalScroll)
        target.can_focus = True
        target.focus()
        if self._links.display and self._links.highlighted is None:
            self._links.action_first()

    @property
    def _in_details(self) -> bool:
        focused = self.focused
        return focused is not None and self.query_one("#details") in focused.ancestors

    def back(self) -> None:
        self.action_documents_back()

    def action_documents_back(self) -> None:
        """Returns to the list, ends the search, ends the selection, then closes the screen."""
        if self.has_class("-details") or self._in_details:
            self.remove_class("-details")
            self._list.focus()
        elif self._field.value:
            self._field.value = ""
            self._list.focus()
        elif self._field.has_focus and self._list.display:
            self._list.focus()
        elif self._selected:
            self._selected.clear()
            self._draw()
        else:
            self.dismiss(None)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if event.widget is self._list or event.widget is self._field:
            self.remove_class("-details")
        self.refresh_bindings()

    # --- actions: documents -------------------------------------------------------------------------

    def action_documents_select(self) -> None:
        """Selects the document of the row, or takes it out of the selection."""
        row, at = self.marked, self._list.highlighted
        if row is None or row.document is None or at is None:
            return
        if self._selected.pop(row.document.id, None) is None:
            self._selected[row.document.id] = row.document
        look = self._look
        for index in (i for i in range(self._shown) if self._rows[i].document is row.document):
            self._list.replace_option_prompt_at_index(index, self._option(self._rows[index], look).prompt)
        self._tell()

    def action_documents_ask(self) -> None:
        if chosen := [one for one in self.chosen if one.chunks]:
            self.dismiss(AskAbout(tuple(chosen), self._room.store.room))
        else:
            self.atlas.say(_("Nothing was read from this document, so it cannot be asked about."))

    def action_documents_use_here(self) -> None:
        row = self.marked
        if row is not None and row.attached is not None and not self._selected:
            session, attachment = row.attached.places[0]
            self.atlas.attempt(self._use_attached(session, attachment), group="documents-change")
        elif chosen := [one for one in self.chosen if one.chunks]:
            self.dismiss(UseHere(tuple(chosen)))

    async def _use_attached(self, session: str, attachment: str) -> None:
        stored = await self._room.attachments.attached(session)
        found = next((one for one in stored if one.id == attachment), None)
        if found is not None:
            new = NewAttachment(found.name, found.media_type, found.size, found.text)
            self.dismiss(UseHere(attachments=(new,)))

    def action_documents_note(self) -> None:
        """Makes a note of the document or the passage, or adds it to one."""
        if (row := self.marked) is not None and row.document is not None:
            self.atlas.attempt(partial(self._add_to_note, row), group="documents-change")

    async def _add_to_note(self, row: Row) -> None:
        assert row.document is not None
        hit = row.hit
        place = "" if hit is None else place_text(hit.chunk.page, hit.chunk.lines)
        quote = "" if hit is None else hit.chunk.text
        source = of_document(row.document, title_text(row.document), place, quote)
        if await add_to_note(self.atlas, self._room, source) is not None:
            self._read_details()

    def action_documents_add(self) -> None:
        self.changes.add()

    def action_documents_attach(self) -> None:
        self.dismiss(AttachHere())

    def action_documents_watch(self) -> None:
        self.changes.watch()

    def action_documents_rescan(self) -> None:
        self.changes.rescan()

    def action_documents_unwatch(self) -> None:
        self.changes.unwatch()

    def action_documents_edit(self) -> None:
        self.changes.edit()

    def action_documents_summarise(self) -> None:
        self.changes.summarise()

    def action_documents_remove(self) -> None:
        self.changes.remove()

    # --- availability -------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        deed = action.removeprefix("documents_")
        if deed == action:
            return super().check_action(action, parameters)
        if deed == "list":
            return self._field.has_focus and bool(self._rows)
        if self._field.has_focus and deed not in _TYPED:
            return False
        row = self.marked
        if deed in _OF_ROWS:
            return row is not None and _OF_ROWS[deed](row)
        match deed:
            case "read":
                return not self._field.has_focus and row is not None
            case "details":
                return row is not None and not self._in_details
            case "remove":
                attached = row is not None and row.attached is not None
                return attached or bool(self._selected) or (row is not None and row.document is not None)
            case "use_here" if row is not None and row.attached is not None:
                return True
            case "rescan":
                return bool(self._library.folders)
            case "summarise":
                return any(one.chunks for one in self.chosen)
            case name if name in _OF_DOCUMENTS:
                return bool(self.chosen)
        return True


def _link_option(link: Link) -> Option:
    leads = link.position is not None or link.session is not None or link.note is not None
    return Option(Content.assemble("  " if leads else "", link.text), disabled=not leads)
