"""What is sent while the room or the memory mode changes waits: it must not go where it was not meant to."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from atlas_desktop.tui.screens.chat_part import ChatPart
from memory.entities import MemoryMode, RoomKind

if TYPE_CHECKING:
    from atlas_desktop.tui.screens.chat_part import Act


class Holding(ChatPart):
    """Mixed into the conversation screen by those that send and those that change."""

    _refused = False
    _held_back: tuple[str, ...] = ()

    if TYPE_CHECKING:

        def submit(self, text: str) -> None: ...

    @property
    def holds(self) -> bool:
        """Whether a change is under way, so that nothing may be said."""
        return bool(self.changing)

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

    def change(self, act: "Act", what: str, *, group: str, asked_for: bool) -> None:
        """Starts what may change where words go. What is sent meanwhile is said when that is over.

        When it was `asked_for` and nothing has changed (refused, failed), that is in the prompt again. What
        is empty for a command: what that starts is a change of its own.

        Nothing cancels it: Textual calls a worker that was cancelled before its first step running for ever.
        """
        token = object()
        self.changing[token] = what
        self.atlas.attempt(partial(self._carry_out, token, act, asked_for=asked_for), group=group)

    async def _carry_out(
        self, token: object, act: Callable[[], Awaitable[object]], *, asked_for: bool
    ) -> None:
        before = self._standing
        try:
            await act()
        finally:
            del self.changing[token]
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
            # A command among them may begin a change for which the rest waits again.
            self.submit(text)
