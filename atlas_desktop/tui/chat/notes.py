"""Notes in a conversation: the Notes view, notes about messages."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from atlas_desktop.tui.chat.conversation_view import ConversationView
from atlas_desktop.tui.chat.messages import MountedMessages
from atlas_desktop.tui.notes.adding import Visit
from memory.entities import Message, RoomKind
from memory.errors import RoomClosed

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.notes.screen import NotesScreen, Result

GROUP = "notes-change"


class NotesController:
    """Opens the Notes view at the note that was shown there last; makes notes of messages."""

    def __init__(
        self, app: "BaseApp", view: ConversationView, *, left: "Callable[[Result | None], None]"
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
            self._app.attempt(partial(self._add, message), group=GROUP, exclusive=True)

    async def _add(self, message: Message) -> None:
        from atlas_desktop.tui.notes.adding import add_to_note, of_message

        session = self._view.current.session
        source = of_message(message, session.title if session is not None else "", self._app)
        if await add_to_note(self._app, self._view.room, source) is not None:
            await self._mark()

    def show_linking(self) -> None:
        """Opens a note that links to the message."""
        if (message := self._meant) is not None:
            self._app.attempt(partial(self._show_linking, message), group=GROUP, exclusive=True)

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

        def left(wanted: "Result | None") -> None:
            self._leave(screen, wanted)

        self._app.push_screen(screen, left)

    def _leave(self, screen: "NotesScreen", wanted: "Result | None") -> None:
        self._last = screen.visited
        self._left(wanted)
        self.mark()
