"""The screens that open over the conversation, the return to what was chosen in them, and notes about it."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from atlas_desktop.locale import _
from atlas_desktop.tui.chat.conversation_view import ConversationView
from atlas_desktop.tui.chat.messages import MountedMessages
from atlas_desktop.tui.documents.rows import AskAbout
from atlas_desktop.tui.keymap import how_to
from atlas_desktop.tui.notes.adding import Visit
from atlas_desktop.tui.provenance.sources import Chosen
from memory.documents.entities import DocumentKind, DocumentMatch
from memory.entities import Message, RoomKind
from memory.errors import RoomClosed
from memory.memories.entities import Memory
from memory.search.entities import SessionHit
from memory.skills.entities import Skill
from memory.tasks.entities import NewTask, Task

if TYPE_CHECKING:
    from atlas_desktop.services.finder import Found
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.chat.sessions import SessionsController
    from atlas_desktop.tui.documents.screen import Result
    from atlas_desktop.tui.notes.screen import NotesScreen
    from atlas_desktop.tui.notes.screen import Result as NotesResult

_NOTES = "notes-change"


class NavigationController:
    """Opens the history, the memories, the insights and the dialogs of import and export."""

    def __init__(
        self,
        app: "BaseApp",
        view: ConversationView,
        sessions: "SessionsController",
        *,
        ask: Callable[[AskAbout], None],
        show_note: Callable[[Visit], None],
        show_task: Callable[[str], None],
        left: "Callable[[Chosen | AskAbout | None], None]",
    ) -> None:
        """`ask` shows a new conversation about documents, `show_note` the Notes view,
        `show_task` the board at a task by its id; `left` handles the result of the reader."""
        self._app = app
        self._view = view
        self._sessions = sessions
        self._ask = ask
        self._show_note = show_note
        self._show_task = show_task
        self._left = left

    def show_history(self, words: str = "") -> None:
        """Opens the history browser; with a text it searches for that."""
        from atlas_desktop.tui.history.screen import HistoryScreen

        self._app.push_screen(HistoryScreen(self._app, words), self._history_left)

    def show_insights(self) -> None:
        from atlas_desktop.tui.insights.screen import InsightsScreen

        self._app.push_screen(InsightsScreen(self._app))

    def _history_left(self, chosen: "Chosen | AskAbout | Visit | None") -> None:
        if isinstance(chosen, AskAbout):
            self._ask(chosen)
        elif isinstance(chosen, Visit):
            self._show_note(chosen)
        elif chosen is not None:
            self._app.attempt(self._show_found(chosen), group="open", exclusive=True)

    async def _show_found(self, chosen: "Chosen") -> None:
        if chosen.session_id != self._view.current.id:
            await self._sessions.open(chosen.session_id)
        found = chosen.message_id
        if found is not None and not await self._view.transcript.show_found(found):
            # It is on a different branch from the one shown.
            await self._sessions.go_to(chosen.session_id, found)
            self._app.say(
                _(
                    "This message is on another branch, which is shown now: what you write continues it. "
                    "{key} shows all branches.",
                    key=how_to("message.branches", self._app.keys),
                )
            )

    def show_memories(self) -> None:
        from atlas_desktop.tui.memories.screen import MemoryScreen

        self._app.push_screen(MemoryScreen(self._app), self.place_chosen)

    def show_skills(self) -> None:
        from atlas_desktop.tui.memories.entries import SKILLS
        from atlas_desktop.tui.memories.screen import MemoryScreen

        self._app.push_screen(MemoryScreen(self._app, tab=SKILLS), self.place_chosen)

    async def show_memory(self, memory_id: str) -> None:
        """Opens the memory browser at a memory."""
        from atlas_desktop.tui.memories.entries import tab_of
        from atlas_desktop.tui.memories.screen import MemoryScreen

        (memory,) = await self._view.room.store.memories.get_many([memory_id]) or (None,)
        if memory is not None:
            screen = MemoryScreen(self._app, tab=tab_of(memory), marked=memory_id)
            self._app.push_screen(screen, self.place_chosen)

    def open_found(self, found: "Found") -> None:
        """Opens what the finder found."""
        match found:
            case SessionHit():
                message = None if found.message is None else found.message.id
                self.place_chosen(Chosen(found.session.id, message))
            case DocumentMatch(kind=DocumentKind.NOTE):
                at = 0 if found.chunk is None else found.chunk.begin
                self._show_note(Visit(found.room, found.document.id, at))
            case DocumentMatch():
                self._show_document(found)
            case Skill():
                self._show_skill(found)
            case Task():
                self._show_task(found.id)
            case Memory():
                self._app.attempt(self.show_memory(found.id), group="open", exclusive=True)

    def _show_document(self, found: DocumentMatch) -> None:
        from atlas_desktop.tui.documents.reader import ReaderScreen

        room = self._app.desk.at(found.room)
        passage = None if found.chunk is None else (found.chunk.begin, found.chunk.end)
        self._app.push_screen(ReaderScreen(self._app, room, found.document.id, passage=passage), self._left)

    def _show_skill(self, skill: Skill) -> None:
        from atlas_desktop.tui.memories.entries import SKILLS, SkillView
        from atlas_desktop.tui.memories.screen import MemoryScreen

        screen = MemoryScreen(self._app, tab=SKILLS, marked=SkillView(skill).id)
        self._app.push_screen(screen, self.place_chosen)

    def place_chosen(self, chosen: "Chosen | None") -> None:
        """Goes to what was chosen in the memory browser or in an explanation (`WhyScreen`)."""
        if chosen is not None:
            self._app.attempt(self._show_found(chosen), group="open", exclusive=True)

    def export(self, path: str = "") -> None:
        """Opens the export of the conversation that is shown, or of the one marked in the list; `path` fills
        in the file."""
        from atlas_desktop.tui.transfer import ExportDialog

        if (target := self._sessions.target) is not None:
            self._app.push_screen(ExportDialog([target], path.strip()))

    def import_conversations(self, path: str = "") -> None:
        """Opens the import window; `path` fills in the file."""
        from atlas_desktop.tui.transfer import ImportDialog

        self._app.push_screen(ImportDialog(path.strip()))


class TasksController:
    """Opens the board of tasks, and starts tasks in the room of the conversation that is shown."""

    def __init__(
        self, app: "BaseApp", view: ConversationView, *, left: "Callable[[Result | None], None]"
    ) -> None:
        """`left` handles the result of the board."""
        self._app = app
        self._view = view
        self._left = left

    def show(self, words: str = "", *, marked: str = "") -> None:
        """Opens the board; `words` are the brief of a task to start first."""
        self._app.attempt(partial(self._show, words, marked), group="open", exclusive=True)

    async def _show(self, words: str, marked: str) -> None:
        from atlas_desktop.tui.tasks.screen import TasksScreen

        room, shown = self._view.room, self._view.current
        session = shown.session
        project = shown.project if session is None else session.project
        if words.strip():
            new = NewTask(words, project=project, session=None if session is None else session.id)
            task = await room.tasks.create(new)
            marked = task.id
            await room.tasks.start(task.id)
            self._app.say(_("The task continues in the background."))
        screen = TasksScreen(
            self._app,
            room,
            marked=marked,
            project=project,
            session=None if session is None else session.id,
        )
        self._app.push_screen(screen, self._left)


class NotesController:
    """Opens the Notes view at the note that was shown there last; makes notes of messages."""

    def __init__(
        self, app: "BaseApp", view: ConversationView, *, left: "Callable[[NotesResult | None], None]"
    ) -> None:
        """`left` handles the result of the view."""
        self._app = app
        self._view = view
        self._left = left
        self._last: Visit | None = None

    # --- messages -----------------------------------------------------------------------------------

    def add(self) -> None:
        """Makes a note of the selected message, or the newest one, or adds it to one."""
        if (message := self._meant) is not None:
            self._app.attempt(partial(self._add, message), group=_NOTES, exclusive=True)

    async def _add(self, message: Message) -> None:
        from atlas_desktop.tui.notes.adding import add_to_note, of_message

        session = self._view.current.session
        source = of_message(message, session.title if session is not None else "", self._app)
        if await add_to_note(self._app, self._view.room, source) is not None:
            await self._mark()

    def show_linking(self) -> None:
        """Opens a note that links to the message."""
        if (message := self._meant) is not None:
            self._app.attempt(partial(self._show_linking, message), group=_NOTES, exclusive=True)

    async def _show_linking(self, message: Message) -> None:
        from atlas_desktop.tui.notes.adding import choose_linking

        room = self._view.room
        chosen = await choose_linking(self._app, room, message.id)
        if chosen is not None:
            self.show_note(room.store.room, chosen)

    @property
    def _meant(self) -> Message | None:
        return MountedMessages.of(self._view.transcript).meant()

    def mark(self) -> None:
        """Marks the mounted messages that a note links to."""
        if self._view.current.id is not None and not self._app.leaving:
            self._app.attempt(self._mark, group="notes-marks", exclusive=True)

    async def _mark(self) -> None:
        blocks = self._view.transcript.blocks
        try:
            linked = await self._view.room.store.notes.linked([one.message.id for one in blocks])
        except RoomClosed:
            # The marks disappear with the room.
            return
        for block in blocks:
            block.noted = block.message.id in linked

    # --- the view -----------------------------------------------------------------------------------

    def show_note(self, room: "RoomKind", note_id: str) -> None:
        self.show(Visit(room, note_id))

    def show(self, visit: "Visit | None" = None) -> None:
        from atlas_desktop.tui.notes.screen import NotesScreen

        screen = NotesScreen(self._app, visit or self._last)

        def left(wanted: "NotesResult | None") -> None:
            self._leave(screen, wanted)

        self._app.push_screen(screen, left)

    def _leave(self, screen: "NotesScreen", wanted: "NotesResult | None") -> None:
        self._last = screen.visited
        self._left(wanted)
        self.mark()
