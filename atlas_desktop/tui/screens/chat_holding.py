"""What is sent while the room or the memory mode changes waits: it must not go where it was not meant to."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from atlas_desktop.tui.screens.chat_part import ChatPart
from memory.entities import MemoryMode, RoomKind

if TYPE_CHECKING:
    from textual.worker import Worker

Start = Callable[[Callable[[], Coroutine[Any, Any, None]]], "Worker[None]"]


class Holding(ChatPart):
    """Mixed into the conversation screen by those that send and those that change."""

    _refused = False
    _held_back: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether a change is under way, so that nothing may be said."""
        # One that is cancelled before it has begun never tells that it has ended.
        return any(not worker.is_finished for worker in self.changing.values())

    @property
    def _begun_off_record(self) -> bool:
        """Whether the program has opened no vault: there is no other room to go to."""
        room = self.atlas.desk.room
        return room is not None and room.store.room is RoomKind.OFF_RECORD

    @property
    def _standing(self) -> tuple[RoomKind, MemoryMode | None]:
        """Where what is said now goes, and what is made of it."""
        session = self.current.session
        room = self.atlas.room_of(self.current).store.room
        return room, session.memory_mode if session else self.current.mode

    def change(self, start: Start, act: Callable[[], Awaitable[object]], *, asked_for: bool) -> None:
        """Starts what may change where words go. What is sent meanwhile is said when that is over.

        When it was `asked_for` and nothing has changed (refused, failed), that is in the prompt again.
        """
        token = object()
        self.changing[token] = start(partial(self._carry_out, token, act, asked_for=asked_for))

    async def _carry_out(
        self, token: object, act: Callable[[], Awaitable[object]], *, asked_for: bool
    ) -> None:
        before = self._standing
        try:
            await act()
        finally:
            self.changing.pop(token, None)
            self._refused |= asked_for and self._standing == before
            if not self.holds:
                self._let_go()

    def hold_back(self, text: str) -> None:
        self._held_back += (text,)

    def _let_go(self) -> None:
        texts, self._held_back = self._held_back, ()
        refused, self._refused = self._refused, False
        if not texts or not self.is_mounted:
            return
        if refused:
            self.prompt.put("\n\n".join(filter(str.strip, (*texts, self.prompt.text))))
            return
        for text in texts:
            self.send_text(text)
