"""Attachments of a conversation, and documents that it is about."""

import asyncio
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from atlas_desktop.locale import _, ngettext
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.chat.conversation import Conversation
from atlas_desktop.tui.chat.conversation_view import ConversationView
from atlas_desktop.tui.documents.rows import AskAbout, AttachHere, UseHere, title_text
from memory.attachments import NewAttachment
from memory.entities import RoomKind
from memory.errors import DocumentNotFound, SessionNotFound
from memory.jobs.runner import Stage

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.chat.composer import ComposerController
    from atlas_desktop.tui.chat.navigation import NavigationController
    from atlas_desktop.tui.chat.sessions import SessionsController
    from atlas_desktop.tui.chat.turns import JobMoved
    from atlas_desktop.tui.documents.screen import DocumentsScreen, Result
    from memory.documents.entities import Document, StoredCitation


GROUP = "tools"
LONGEST_NAME = 28
_CROSS = "×"


@dataclass(frozen=True, slots=True)
class Chip:
    """An attached file: `ref` identifies it; `state` is how much of it is read."""

    ref: str
    name: str
    state: str = ""


class Chips(Widget):
    """A line of attached files; hidden while there are none."""

    DEFAULT_CSS = """
    Chips {
        height: auto;
        max-height: 3;
        margin: 0 2;
        color: $quiet;
        display: none;
        &.-some { display: block; }
    }
    """

    @dataclass
    class Removed(Message):
        """The user clicked on the cross behind a name."""

        ref: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._chips: tuple[Chip, ...] = ()
        self._read = ""
        self._head = _("Attached") + " "

    def show(self, chips: Sequence[Chip], read: str = "") -> None:
        """Shows the files; `read` says how much of them was read in the newest turn."""
        self._chips, self._read = tuple(chips), read
        self.set_class(bool(chips), "-some")
        self.refresh(layout=True)

    def render(self) -> Content:
        parts: list[tuple[str, str] | str] = [(self._head, "bold")]
        for chip in self._chips:
            name = clean_line(chip.name)
            if cell_len(name) > LONGEST_NAME:
                name = name[: LONGEST_NAME - 1].rstrip() + "…"
            state = f" · {chip.state}" if chip.state else ""
            parts += [
                (f" {name}", "$foreground on $panel"),
                (f"{state} ", "on $panel"),
                (f"{_CROSS} ", "$error on $panel"),
                " ",
            ]
        line = Content.assemble(*parts)
        return line if not self._read else Content.assemble(line, "\n", (clean_line(self._read), "italic"))

    def on_click(self, event: events.Click) -> None:
        """Finds the cross by its position, so that no file name can be taken for an action."""
        event.stop()
        offset = event.get_content_offset(self)
        if offset is None or offset.y:
            return
        place = cell_len(self._head)
        for chip in self._chips:
            name = clean_line(chip.name)
            shown = name if cell_len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1].rstrip() + "…"
            state = f" · {chip.state}" if chip.state else ""
            end = place + cell_len(f" {shown}{state} {_CROSS} ")
            if end - 3 <= offset.x < end:
                self.post_message(self.Removed(chip.ref))
                return
            place = end + 1


class AttachmentsController:
    """Attaches files to the conversation that is shown, and shows them as chips above the prompt."""

    def __init__(self, app: "BaseApp", view: ConversationView, chips: Chips) -> None:
        self._app = app
        self._view = view
        self._chips = chips
        self._read = ""

    # --- files ------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Shows the attachments of the conversation."""
        if not self._app.leaving:
            self._app.attempt(self._show_chips, group="chips", exclusive=True)

    def show_read(self, text: str) -> None:
        """Shows how much of the files was read in the newest turn."""
        self._read = text
        self.refresh()

    async def _show_chips(self) -> None:
        shown = self._view.current
        chips: list[Chip] = []
        if shown.id is not None:
            try:
                stored = await self._view.room.attachments.attached(shown.id)
            except SessionNotFound:
                return  # It was moved or forgotten meanwhile: what is shown next is read again.
            chips = [Chip(one.id, one.name, _size(len(one.text))) for one in stored]
            chips += [
                Chip(one.id, title_text(one), _("document"))
                for one in await self._view.room.store.documents.bound(shown.id)
            ]
        known = {chip.name for chip in chips}
        waiting = [one for one in shown.attached if one.name not in known]
        chips += [Chip(one.name, one.name, _("read with next message")) for one in waiting]
        chips += [Chip(one.id, title_text(one), _("used with next message")) for one in shown.documents]
        if shown is self._view.current and self._view.is_there:
            if not chips:
                self._read = ""
            self._chips.show(chips, self._read)

    def attach(self, words: str = "") -> None:
        """Attaches the file at a path; asks for the path if none is given."""
        self._app.attempt(self._attach_path(words), group=GROUP)

    async def _attach_path(self, words: str) -> None:
        from atlas_desktop.services.attachments import read_attachment, typed_path
        from atlas_desktop.tui.paths import PathPicker

        shown = self._view.current
        if not words:
            hint = _("Text, Markdown, code, or a PDF with text. It stays on this computer.")
            given = await self._app.push_screen_wait(PathPicker(_("Attach a file"), hint=hint))
            if not given:
                return
            words = given
        path = typed_path(words)
        if (document := await self._in_library(shown, path)) is not None:
            await self.bind(shown, [document])
            self._app.say(_("Used here: {title}.", title=title_text(document)))
        else:
            await self.take_in(shown, await read_attachment(path))

    async def _in_library(self, shown: Conversation, path: str) -> "Document | None":
        """Returns the document of a path, if the library has it and it was read."""
        try:
            location = await asyncio.to_thread(lambda: str(Path(path).expanduser().absolute()))
            found = await self._app.room_of(shown).store.documents.get(location)
        except (DocumentNotFound, RuntimeError):
            # It is not in the library. A home that does not exist (`~name`) is reported when the file is
            # read.
            return None
        return found if found.chunks else None

    async def bind(self, shown: Conversation, documents: "Sequence[Document]") -> None:
        """Links documents of the room to a conversation: now, or with its first message."""
        if shown.id is None:
            there = {one.id for one in shown.documents}
            shown.documents += [one for one in documents if one.id not in there]
        else:
            await self._app.room_of(shown).store.documents.bind(shown.id, [one.id for one in documents])
        self.refresh()

    async def take_in(self, shown: Conversation, new: NewAttachment) -> None:
        """Attaches a file to the conversation that was shown when the user asked, because reading it takes a
        while."""
        if shown.id is None:
            shown.attached.append(new)
        else:
            await self._app.room_of(shown).attachments.attach(shown.id, new)
        self._app.say(_("Attached: {name} ({size}).", name=clean_line(new.name), size=_size(len(new.text))))
        self.refresh()

    def attach_session(self, session_id: str) -> None:
        """Attaches the text of another conversation as a file."""
        self._app.attempt(self._attach_session(session_id), group=GROUP)

    async def _attach_session(self, session_id: str) -> None:
        shown = self._view.current
        room, session = await self._app.desk.rooms.find(session_id)
        if session.room not in (RoomKind.OPEN, self._app.room_of(shown).store.room):
            # Private content is not attached to a conversation that is not private.
            return
        view = await room.sessions.view(session_id)
        said = [f"{m.speaker or m.role}: {m.content}" for m in view.messages if m.content.strip()]
        text = "\n\n".join(said)
        if text:
            name = f"{clean_line(view.session.title) or _('Untitled')}.md"
            await self.take_in(shown, NewAttachment(name, "text/markdown", len(text.encode()), text))

    def attach_note(self, note_id: str) -> None:
        """Attaches the text of a note of the room as a file."""
        self._app.attempt(self._attach_note(note_id), group=GROUP)

    async def _attach_note(self, note_id: str) -> None:
        shown = self._view.current
        note = await self._app.room_of(shown).notes.get(note_id)
        name = f"{clean_line(note.title) or _('Untitled')}.md"
        await self.take_in(shown, NewAttachment(name, "text/markdown", len(note.text.encode()), note.text))

    def attach_from(self, session_id: str, attachment_id: str) -> None:
        """Attaches a file of another conversation of the room."""
        self._app.attempt(self._attach_from(session_id, attachment_id), group=GROUP)

    async def _attach_from(self, session_id: str, attachment_id: str) -> None:
        shown = self._view.current
        for one in await self._app.room_of(shown).attachments.attached(session_id):
            if one.id == attachment_id:
                await self.take_in(shown, NewAttachment(one.name, one.media_type, one.size, one.text))
                return
        self._app.warn(_("The file is no longer attached there."))

    def offer_to_attach(self, path: Path, *, send: Callable[[], None] | None = None) -> None:
        """Asks what to do with the path of a file that was pasted, or typed as a message: `send` sends it."""
        self._app.attempt(self._offer_to_attach(path, send), group=GROUP, exclusive=True)

    async def _offer_to_attach(self, path: Path, send: Callable[[], None] | None) -> None:
        from atlas_desktop.tui.dialogs.questions import Choice, PickScreen

        choices = [
            Choice("attach", _("Attach the file"), _("The model reads it in this conversation.")),
            Choice("paste", _("Paste the path as text") if send is None else _("Send the path as a message")),
        ]
        chosen = await self._app.push_screen_wait(PickScreen(path.name, choices))
        if chosen == "attach":
            if send is not None:
                self._view.prompt.put("")
            await self._attach_path(shlex.quote(str(path)))
        elif chosen == "paste" and send is not None:
            send()
        elif chosen == "paste":
            self._view.prompt.insert(str(path))
        self._view.prompt.focus()

    def detach(self, words: str = "") -> None:
        """Removes an attachment; asks which one if none is named."""
        self._app.attempt(self._take_out(words), group=GROUP)

    async def _take_out(self, ref: str) -> None:
        shown = self._view.current
        if shown.busy:
            self._app.say_stop_first()
            return
        ref = ref or await self._which_attachment()
        waiting = [one for one in shown.attached if one.name.casefold() == ref.casefold()]
        if ref and (document := await self._document_named(shown, ref)) is not None:
            if document in shown.documents:
                shown.documents.remove(document)
            elif shown.id is not None:
                await self._app.room_of(shown).store.documents.unbind(shown.id, document.id)
            self._app.say(_("No longer used here: {title}.", title=title_text(document)))
        elif waiting:
            shown.attached.remove(waiting[0])
            self._app.say(_("Removed: {name}.", name=clean_line(waiting[0].name)))
        elif shown.id is not None and ref:
            gone = await self._app.room_of(shown).attachments.detach(shown.id, ref)
            self._read = ""
            self._app.say(_("Removed: {name}. The model no longer sees it.", name=clean_line(gone.name)))
        self.refresh()

    async def _document_named(self, shown: Conversation, ref: str) -> "Document | None":
        """Returns the document of a conversation that has this id or title."""
        found = list(shown.documents)
        if shown.id is not None:
            found += await self._app.room_of(shown).store.documents.bound(shown.id)
        return next((one for one in found if ref == one.id or ref.casefold() == one.title.casefold()), None)

    async def _which_attachment(self) -> str:
        from atlas_desktop.tui.dialogs.questions import Choice, PickScreen

        shown = self._view.current
        stored = await self._view.room.attachments.attached(shown.id) if shown.id is not None else []
        choices = [Choice(one.id, one.name, _size(len(one.text))) for one in stored]
        choices += [Choice(one.name, one.name, _size(len(one.text))) for one in shown.attached]
        bound = await self._view.room.store.documents.bound(shown.id) if shown.id is not None else []
        choices += [Choice(one.id, title_text(one), _("document")) for one in [*bound, *shown.documents]]
        if not choices:
            self._app.say(_("No attachments here."))
            return ""
        return await self._app.push_screen_wait(PickScreen(_("Remove which one?"), choices)) or ""


def _size(characters: int) -> str:
    return ngettext("{count} character", "{count} characters", characters)


class DocumentsController:
    """Opens the Documents view and the reader, and does in the conversation what was chosen there."""

    def __init__(
        self,
        app: "BaseApp",
        view: ConversationView,
        *,
        composer: "ComposerController",
        sessions: "SessionsController",
        attachments: "AttachmentsController",
        navigation: "NavigationController",
    ) -> None:
        self._app = app
        self._view = view
        self._composer = composer
        self._sessions = sessions
        self._attachments = attachments
        self._navigation = navigation
        self._library: DocumentsScreen | None = None

    def show(self, marked: str = "") -> None:
        """Opens the Documents view, at a document if an id is given."""
        from atlas_desktop.tui.documents.screen import DocumentsScreen

        self._library = DocumentsScreen(self._app, marked=marked)
        self._app.push_screen(self._library, self._library_left)

    def job_moved(self, event: "JobMoved") -> bool:
        """Updates the Documents view: documents that were read leave jobs in the background. Returns whether
        documents may have been read."""
        from atlas_desktop.services.documents import library, search

        done = event.stage is Stage.DONE
        if self._library is not None and done and event.job.kind == library.KIND:
            self._library.reload()
        elif self._library is not None:
            self._library.look_for_changes()
        return done and event.job.kind in (library.KIND, search.KIND)

    def _library_left(self, wanted: "Result | None") -> None:
        self._library = None
        self.left(wanted)

    def ask(self, wanted: AskAbout) -> None:
        """Shows a new conversation about documents."""
        self._app.attempt(self._ask(wanted), group="open", exclusive=True)

    def left(self, wanted: "Result | None") -> None:
        """Handles the result of a screen over the conversation."""
        match wanted:
            case AskAbout():
                self.ask(wanted)
            case UseHere():
                self._app.attempt(self._use_here(wanted), group=GROUP)
            case AttachHere():
                self._attachments.attach()
            case _:
                self._navigation.place_chosen(wanted)

    async def _ask(self, wanted: AskAbout) -> None:
        """Shows a new conversation that is about the documents from its first message on."""
        await self._sessions.show_new(private=wanted.room is RoomKind.PRIVATE)
        if self._view.room_kind is not wanted.room:
            self._app.warn(_("You can ask about documents only in their own room."))
            return
        self._view.current.documents = list(wanted.documents)
        if wanted.quote:
            typed = self._view.prompt.text
            self._composer.put("\n\n".join(filter(None, [typed, wanted.quote, ""])) + "\n\n")
        self._view.prompt.focus()
        self._attachments.refresh()

    async def _use_here(self, wanted: UseHere) -> None:
        for new in wanted.attachments:
            await self._attachments.take_in(self._view.current, new)
        await self._bind(wanted.documents)

    def make(self) -> None:
        """Makes a document of the conversation that is shown, and opens it."""
        if self._view.current.id is not None:
            self._app.attempt(self._make(self._view.current.id), group=GROUP, exclusive=True)

    async def _make(self, session_id: str) -> None:
        from atlas_desktop.tui.documents.reader import ReaderScreen

        room = self._view.room
        made = await room.documents.from_session(session_id)
        self._app.push_screen(ReaderScreen(self._app, room, made.id), self.left)

    def use(self, document_id: str) -> None:
        """Adds a document of the room to those that the shown conversation is about."""
        self._app.attempt(self._use(document_id), group=GROUP)

    async def _use(self, document_id: str) -> None:
        await self._bind([await self._view.room.store.documents.get(document_id)])

    async def _bind(self, documents: "Sequence[Document]") -> None:
        if not documents:
            return
        await self._attachments.bind(self._view.current, documents)
        self._app.say(
            _("Used here: {title}.", title=title_text(documents[0]))
            if len(documents) == 1
            else ngettext("{count} document used here.", "{count} documents used here.", len(documents))
        )

    def show_note(self, note_id: str) -> None:
        """Opens a note in the reader."""
        from atlas_desktop.tui.documents.reader import ReaderScreen

        self._app.push_screen(ReaderScreen(self._app, self._view.room, note_id), self.left)

    def open_citation(self, citation: "StoredCitation") -> None:
        """Opens the reader at the passage of a citation."""
        self._app.attempt(partial(self._open_citation, citation), group="open", exclusive=True)

    async def _open_citation(self, citation: "StoredCitation") -> None:
        from atlas_desktop.tui.documents.reader import ReaderScreen

        # The document may have changed after the reply was shown.
        document = await self._view.room.documents.get(citation.document)
        screen = ReaderScreen(
            self._app,
            self._view.room,
            citation.document,
            passage=(citation.begin, citation.end),
            quote=citation.quote,
            current=document.sha256 == citation.sha256,
        )
        self._app.push_screen(screen, self.left)
