"""The part of the conversation screen that has to do with memories."""

from typing import TYPE_CHECKING

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.screens.chat_part import ChatPart
from atlas_desktop.tui.widgets.message import Remark
from atlas_desktop.words.catalogue import tr
from memory.entities import MemoryMode

if TYPE_CHECKING:
    from atlas_desktop.tui.origins import Chosen


class MemoryCommands(ChatPart):
    """Mixed into the conversation screen."""

    def action_show_memories(self) -> None:
        from atlas_desktop.tui.screens.memory import MemoryScreen

        self.app.push_screen(MemoryScreen(self.atlas), self.place_chosen)

    def place_chosen(self, chosen: "Chosen | None") -> None:
        """Goes to what was chosen in the memories or in a view of why."""
        if chosen is not None:
            self.atlas.attempt(self._show_chosen(chosen), group="open", exclusive=True)

    async def _show_chosen(self, chosen: "Chosen") -> None:
        if chosen.session_id != self.current.id:
            await self._open(chosen.session_id)
        if chosen.message_id is not None:
            await self.transcript.go_to(chosen.message_id)

    def action_remember(self, words: str = "") -> None:
        """Keeps what follows `/remember`."""
        session = self.current.session
        mode = session.memory_mode if session is not None else self.current.mode
        if not words:
            self.atlas.say(tr("chat.remember_how"))
        elif mode not in (None, MemoryMode.NORMAL):
            self.atlas.say(tr("chat.adds_nothing"))
        else:
            self.atlas.attempt(self._remember(words), group="remember")

    async def _remember(self, words: str) -> None:
        session = self.current.session
        project = None if session is None else session.project
        made = await self.atlas.room.learning.remember(
            words, project=project, session_id=None if session is None else session.id
        )
        await self.transcript.note(Remark(tr("chat.remembered", text=clean_line(made.text))))

    def action_pin_memory(self, ref: str = "") -> None:
        """Pins the memory that is named, else the one that was learned last."""
        self.atlas.attempt(self._pin_memory(ref), group="remember")

    async def _pin_memory(self, ref: str) -> None:
        made = await self.atlas.room.knowledge.pin_latest(ref)
        if made is None:
            self.atlas.say(tr("chat.nothing_learned"))
        else:
            await self.transcript.note(Remark(tr("chat.pinned", text=clean_line(made.text))))
