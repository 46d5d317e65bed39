"""What the model reads of a conversation: inspecting, summarising, splitting and reading it in advance."""

from typing import TYPE_CHECKING

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.calendar import long
from atlas_desktop.tui.chat.conversation_view import ConversationView
from atlas_desktop.words.catalogue import tr
from atlas_desktop.words.formats import formats
from models.errors import ModelsError
from models.messages import Role

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from memory.context.epochs import Compaction
    from memory.entities import Message, Session

WARM = "warm"
_NEAR_THE_END = 8


class ContextController:
    """Shows and changes what the model reads."""

    def __init__(self, app: "BaseApp", view: ConversationView) -> None:
        self._app = app
        self._view = view

    def show(self) -> None:
        self._app.attempt(self._show_context, group="context", exclusive=True)

    async def _show_context(self) -> None:
        from atlas_desktop.tui.provenance.inspector import InspectorScreen

        room, session_id = self._view.room, self._view.current.id
        assert session_id is not None
        reply = self._app.desk.turn_options().params.max_tokens
        view = await room.chat.context.view(session_id, reply=reply)
        if view is not None:
            standing = await room.sessions.standing_summaries(session_id)
            await self._app.push_screen(InspectorScreen(self._app, view, standing))

    def summarise(self) -> None:
        self._app.attempt(self._summarise, group="context", exclusive=True)

    async def _summarise(self) -> None:
        assert self._view.current.id is not None
        made = await self._view.room.epochs.summarise_now(self._view.current.id)
        if made is not None and made.after < made.before:
            await self.compacted(made)
        else:
            self._app.say(tr("chat.nothing_to_summarise"))

    def split(self, words: str = "") -> None:
        """Sends a text in parts that fit; without a text, the newest message, which was too long."""
        self._app.attempt(self._split(words), group="split", exclusive=True)

    async def _split(self, words: str) -> None:
        shown = self._view.current
        whole = None if words else await self._newest_said()
        if not words and whole is None:
            self._app.say(tr("chat.nothing_said"))
            return
        parts = await self._app.turns.in_parts(shown, words if whole is None else whole.content)
        if whole is not None and len(parts) < 2:
            self._app.say(tr("chat.fits"))
        elif shown is self._view.current and not shown.busy:
            # The first part replaces the message that did not fit.
            self._app.turns.send_parts(shown, parts, edits=whole.id if whole else None)
            self._view.refresh()

    async def _newest_said(self) -> "Message | None":
        """Returns the user's newest message."""
        if self._view.current.id is None:
            return None
        branch = await self._view.room.branches.open(self._view.current.id, newest=_NEAR_THE_END)
        return next((m for m in reversed(branch.newest) if m.role is Role.USER), None)

    async def compacted(self, made: "Compaction") -> None:
        """Adds one line that says how many tokens a summary has saved."""
        if made.session_id == self._view.current.id and not self._app.leaving:
            number = formats().number
            text = tr("chat.summarised", before=number(made.before), after=number(made.after))
            await self._view.note(text)

    async def resumed(self, session: "Session") -> None:
        """Reminds the user what a resumed session was about, and lets the model read it in advance."""
        room = self._app.desk.at(session.room)
        found = await room.continuity.reminder(session)
        if found is not None and self._view.current.id == session.id:
            when = long(found.last, self._app.now())
            about = clean_line(found.text)
            await self._view.note(tr("chat.last_time", when=when, about=about))
        self._app.attempt(self._warm(room, session.id), group=WARM, exclusive=True)

    async def _warm(self, room: "RoomServices", session_id: str) -> None:
        try:
            await room.epochs.warm(session_id)
        except ModelsError:
            # The next turn fails the same way and reports it after it has stored the message.
            return
