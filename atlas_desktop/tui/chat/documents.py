"""Documents in a conversation: the library, questions about documents, and the passages that replies cite."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atlas_desktop.locale import _, ngettext
from atlas_desktop.tui.chat.conversation_view import ConversationView
from atlas_desktop.tui.documents.texts import AskAbout, AttachHere, UseHere, title_text
from memory.entities import RoomKind

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.chat.attachments import AttachmentsController
    from atlas_desktop.tui.chat.composer import ComposerController
    from atlas_desktop.tui.chat.navigation import NavigationController
    from atlas_desktop.tui.chat.sessions import SessionsController
    from atlas_desktop.tui.documents.screen import DocumentsScreen, Result
    from memory.documents.entities import Document, StoredCitation

GROUP = "tools"


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

    def job_moved(self) -> None:
        """Brings the Documents view up to date: documents that were read leave jobs in the background."""
        if self._library is not None:
            self._library.look_for_changes()

    def _library_left(self, wanted: "Result | None") -> None:
        self._library = None
        self.left(wanted)

    def ask(self, wanted: AskAbout) -> None:
        """Shows a new conversation about documents."""
        self._app.attempt(self._ask(wanted), group="open", exclusive=True)

    def left(self, wanted: "Result | None") -> None:
        """Does what a screen over the conversation was closed with."""
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
            self._app.warn(_("Documents can be asked about only in the room that they are in."))
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
        """Makes the conversation that is shown be about a document of its room, too."""
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
        from atlas_desktop.tui.documents.reader import ReaderScreen

        screen = ReaderScreen(
            self._app,
            self._view.room,
            citation.document,
            passage=(citation.begin, citation.end),
            quote=citation.quote,
            current=citation.current,
        )
        self._app.push_screen(screen, self.left)
