"""The part of the conversation screen that shows and steers what the model is given."""

from typing import TYPE_CHECKING

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.calendar import long
from atlas_desktop.tui.screens.chat_part import ChatPart
from atlas_desktop.tui.turn_events import Compacted
from atlas_desktop.tui.widgets.message import Remark
from atlas_desktop.words.catalogue import tr
from atlas_desktop.words.formats import formats
from models.errors import ModelsError
from models.messages import Role

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from memory.entities import Message, Session

WARM = "warm"
_NEAR_THE_END = 8


class ContextActions(ChatPart):
    """Mixed into the conversation screen."""

    def action_show_context(self) -> None:
        self.atlas.attempt(self._show_context, group="context", exclusive=True)

    async def _show_context(self) -> None:
        from atlas_desktop.tui.screens.inspector import InspectorScreen

        room, session_id = self.atlas.room, self.current.id
        assert session_id is not None
        reply = self.atlas.desk.turn_options().params.max_tokens
        view = await room.chat.context.view(session_id, reply=reply)
        if view is not None:
            standing = await room.sessions.standing_summaries(session_id)
            await self.app.push_screen(InspectorScreen(self.atlas, view, standing))

    def action_summarise(self) -> None:
        self.atlas.attempt(self._summarise, group="context", exclusive=True)

    async def _summarise(self) -> None:
        assert self.current.id is not None
        made = await self.atlas.room.epochs.summarise_now(self.current.id)
        if made is not None and made.after < made.before:
            self.post_message(Compacted(made))
        else:
            self.atlas.say(tr("chat.nothing_to_summarise"))

    def action_split(self, words: str = "") -> None:
        """Says a text in parts that fit; without one, the newest message, which was too long."""
        self.atlas.attempt(self._split(words), group="split", exclusive=True)

    async def _split(self, words: str) -> None:
        shown = self.current
        whole = None if words else await self._newest_said()
        if not words and whole is None:
            self.atlas.say(tr("chat.nothing_said"))
            return
        parts = await self.turns.in_parts(shown, words if whole is None else whole.content)
        if whole is not None and len(parts) < 2:
            self.atlas.say(tr("chat.fits"))
        elif shown is self.current and not shown.busy:
            # The first part of what did not fit takes its place.
            self.turns.send_parts(shown, parts, edits=whole.id if whole else None)
            self.tell()

    async def _newest_said(self) -> "Message | None":
        """The person's newest message."""
        if self.current.id is None:
            return None
        branch = await self.atlas.room_of(self.current).branches.open(self.current.id, newest=_NEAR_THE_END)
        return next((m for m in reversed(branch.newest) if m.role is Role.USER), None)

    async def on_compacted(self, event: Compacted) -> None:
        """One line with what the summary saved; the details are a key away."""
        made = event.compaction
        if made.session_id == self.current.id and not self.atlas.leaving:
            number = formats().number
            text = tr("chat.summarised", before=number(made.before), after=number(made.after))
            await self.transcript.note(Remark(text))

    async def resumed(self, session: "Session") -> None:
        """Says what a session was about that is taken up again, and has the model read it meanwhile."""
        room = self.atlas.desk.at(session.room)
        found = await room.continuity.reminder(session)
        if found is not None and self.current.id == session.id:
            when = long(found.last, self.atlas.now())
            about = clean_line(found.text)
            await self.transcript.note(Remark(tr("chat.last_time", when=when, about=about)))
        self.atlas.attempt(self._warm(room, session.id), group=WARM, exclusive=True)

    async def _warm(self, room: "RoomServices", session_id: str) -> None:
        try:
            await room.epochs.warm(session_id)
        except ModelsError:
            # The next turn meets the same and says so, once the person's words are stored.
            return
