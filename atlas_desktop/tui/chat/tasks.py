"""Tasks in a conversation: the board, and tasks that are given with a command."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from atlas_desktop.locale import _
from atlas_desktop.tui.chat.conversation_view import ConversationView
from memory.tasks.entities import NewTask

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.documents.screen import Result


class TasksController:
    """Opens the board of tasks, and gives tasks in the room of the conversation that is shown."""

    def __init__(
        self, app: "BaseApp", view: ConversationView, *, left: "Callable[[Result | None], None]"
    ) -> None:
        """`left` does what the board was closed with."""
        self._app = app
        self._view = view
        self._left = left

    def show(self, words: str = "", *, marked: str = "") -> None:
        """Opens the board; `words` are a brief to be carried out first."""
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
            self._app.say(_("The task is carried on in the background."))
        screen = TasksScreen(
            self._app,
            room,
            marked=marked,
            project=project,
            session=None if session is None else session.id,
        )
        self._app.push_screen(screen, self._left)
