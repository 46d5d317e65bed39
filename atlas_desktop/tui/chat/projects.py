"""The project of the conversation with its defaults, and the page of a project."""

from functools import partial
from typing import TYPE_CHECKING

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.chat.conversation import Conversation
from atlas_desktop.tui.chat.conversation_view import ConversationView

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.chat.attachments import DocumentsController
    from atlas_desktop.tui.chat.navigation import NavigationController, TasksController
    from atlas_desktop.tui.chat.sessions import SessionsController
    from atlas_desktop.tui.projects.screen import Opened


class ProjectsController:
    """Puts the conversation into projects, and opens what was chosen on the page of one."""

    def __init__(
        self,
        app: "BaseApp",
        view: ConversationView,
        *,
        sessions: "SessionsController",
        navigation: "NavigationController",
        documents: "DocumentsController",
        tasks: "TasksController",
    ) -> None:
        self._app = app
        self._view = view
        self._sessions = sessions
        self._navigation = navigation
        self._documents = documents
        self._tasks = tasks

    # --- the project of the conversation ----------------------------------------------------------

    def choose(self, words: str = "") -> None:
        """Moves the conversation to a project, which is created if needed (`none`: to no project). Without a
        name it shows the projects."""
        self._app.attempt(self._choose(words), group="project", exclusive=True)

    async def _choose(self, words: str) -> None:
        from atlas_desktop.services.projects import LONGEST, tidy_name
        from atlas_desktop.tui.history.actions import ProjectsScreen, project_words

        room = self._view.room
        if words:
            try:
                name = "" if words.casefold() == "none" else tidy_name(words)
            except ValueError:
                self._app.say(_("Enter 1 to {longest} characters.", longest=LONGEST))
                return
            if name and not await self._known_or_wanted(room, name):
                return
        else:
            screen = ProjectsScreen(self._app, room, self._sessions.project)
            chosen = await self._app.push_screen_wait(screen)
            if screen.page is not None:
                self._show(room, screen.page.id)
                return
            if chosen is None and not screen.out:
                return
            name = chosen.name if chosen is not None else ""
        told = await self._put_into(room, name)
        self._app.say(" ".join(filter(None, (project_words(self._sessions.project), told))))

    async def _known_or_wanted(self, room: "RoomServices", name: str) -> bool:
        """Whether there is such a project, or the user wants a new one: a typing error makes none."""
        from atlas_desktop.tui.dialogs.questions import ConfirmScreen
        from memory.errors import ProjectNotFound

        try:
            await room.projects.get(name)
        except ProjectNotFound:
            question = ConfirmScreen(
                _("Create a project?"),
                _("There is no project called “{name}” yet.", name=clean_line(name)),
                agree=_("Create"),
                refuse=_("Cancel"),
            )
            agreed: bool = await self._app.push_screen_wait(question)
            return agreed
        return True

    async def _put_into(self, room: "RoomServices", name: str) -> str:
        """Moves the conversation; returns a notice about the defaults of its new project."""
        from memory.errors import ProjectNotFound
        from memory.organising import MarksPatch

        shown = self._view.current
        if shown.session is not None:
            await room.organising.apply([shown.session.id], MarksPatch(project=name))
            await self._sessions.changed([shown.session.id])
            return ""
        if name:
            try:
                name = (await room.projects.get(name)).name
            except ProjectNotFound:
                await room.projects.create(name)
        shown.project = name or None
        told = await self._take_defaults(room, shown)
        self._view.refresh()
        return told

    async def _take_defaults(self, room: "RoomServices", fresh: Conversation) -> str:
        """Applies the defaults of its project to a conversation that has not begun, in place of those of the
        previous project; what the user has changed since stays. Returns a notice about them."""
        from atlas_desktop.phrases import defaults_line

        before = fresh.defaults
        if before is not None:
            if fresh.mode is before.memory_mode:
                fresh.mode = None
            if before.persona is not None and fresh.system == before.persona.system_prompt:
                fresh.system = None
        fresh.defaults = None
        if fresh.project is None:
            return ""
        defaults = await room.projects.defaults(fresh.project)
        if not defaults.any:
            return ""
        fresh.defaults = defaults
        fresh.mode = fresh.mode or defaults.memory_mode
        if defaults.persona is not None and fresh.system is None:
            fresh.system = defaults.persona.system_prompt
        model = defaults.model or (defaults.persona.model if defaults.persona is not None else None)
        if model and model != self._app.model_id:
            self._app.desk.chosen_model = self._app.desk.check_model(model)
            await self._app.change_model_soon()
        return defaults_line(fresh.project, defaults)

    # --- the page of a project --------------------------------------------------------------------

    def show_page(self) -> None:
        """Shows the page of the project of the conversation that is marked or shown; the list of projects if
        it has none."""
        self._app.attempt(self._show_page(), group="project", exclusive=True)

    async def _show_page(self) -> None:
        from memory.errors import ProjectNotFound

        room, name = self._view.room, self._sessions.project
        if (target := self._sessions.target) is not None:
            room, session = await self._app.desk.rooms.find(target)
            name = session.project
        if name is None:
            await self._choose("")
            return
        try:
            project = await room.projects.get(name)
        except ProjectNotFound:
            # The name was chosen for a conversation that has not begun, and the project deleted since.
            await self._choose("")
            return
        self._show(room, project.id)

    def _show(self, room: "RoomServices", project_id: str) -> None:
        from atlas_desktop.tui.projects.screen import ProjectScreen

        self._app.push_screen(ProjectScreen(self._app, room, project_id), partial(self._left, room))

    def _left(self, room: "RoomServices", opened: "Opened | None") -> None:
        from atlas_desktop.tui.projects.screen import DOCUMENTS, NOTES, SESSIONS, TASKS
        from atlas_desktop.tui.provenance.sources import Chosen

        if opened is None:
            return
        if opened.tab == SESSIONS:
            self._navigation.place_chosen(Chosen(opened.id, None))
        elif room is not self._view.room:
            # The other views show the room of the conversation that is shown.
            self._app.say(_("This is in another room. Open a conversation of that room first."))
        elif not opened.tab:
            self._app.attempt(self._begin(opened.project), group="project", exclusive=True)
        elif opened.tab == DOCUMENTS:
            self._documents.show(opened.id)
        elif opened.tab == NOTES:
            self._documents.show_note(opened.id)
        elif opened.tab == TASKS:
            self._tasks.show(marked=opened.id)
        else:
            self._app.attempt(self._navigation.show_memory(opened.id), group="open", exclusive=True)

    async def _begin(self, project: str) -> None:
        from atlas_desktop.tui.history.actions import project_words
        from memory.entities import RoomKind

        kind = self._view.room_kind
        await self._sessions.show_new(private=kind is RoomKind.PRIVATE)
        told = await self._put_into(self._view.room, project)
        self._app.say(" ".join(filter(None, (project_words(project), told))))
