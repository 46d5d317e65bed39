"""Notes in a conversation: the Notes view, notes about messages."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from atlas_desktop.tui.chat.conversation_view import ConversationView

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.notes.screen import NotesScreen, Result, Visit


class NotesController:
    """Opens the Notes view, at the note that was shown there last."""

    def __init__(
        self, app: "BaseApp", view: ConversationView, *, left: "Callable[[Result | None], None]"
    ) -> None:
        """`left` does what the view was closed with."""
        self._app = app
        self._view = view
        self._left = left
        self._last: Visit | None = None

    def show(self, visit: "Visit | None" = None) -> None:
        from atlas_desktop.tui.notes.screen import NotesScreen

        screen = NotesScreen(self._app, visit or self._last)

        def left(wanted: "Result | None") -> None:
            self._leave(screen, wanted)

        self._app.push_screen(screen, left)

    def _leave(self, screen: "NotesScreen", wanted: "Result | None") -> None:
        self._last = screen.visited
        self._left(wanted)
