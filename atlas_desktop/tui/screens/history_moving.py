"""The part of the history browser that moves conversations between the rooms, and opens the private one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atlas_desktop.tui.screens.history_marks import MarkActions
from atlas_desktop.words.catalogue import tr
from memory.entities import RoomKind

if TYPE_CHECKING:
    from memory.search.entities import SessionHit


class MoveActions(MarkActions):
    """Mixed into the history browser."""

    if TYPE_CHECKING:

        def reload(self, *, keep: bool = True) -> None: ...

        def _busy(self, hits: "Sequence[SessionHit]") -> bool: ...

        async def _agreed(self, word: str, title: str, text: str) -> bool: ...

        async def _changed(self, ids: Sequence[str], *, content: bool = False) -> None: ...

    def action_history_private(self) -> None:
        """Into the private room; what is in it already goes to the open one."""
        if not self._busy(self.chosen):
            self._do(self._move(self.chosen))

    async def _move(self, hits: "Sequence[SessionHit]") -> None:
        back = all(hit.session.room is RoomKind.PRIVATE for hit in hits)
        to = RoomKind.OPEN if back else RoomKind.PRIVATE
        word = "open" if back else "private"
        text = tr(f"history.move.{word}", count=len(hits))
        heading = tr("history.move.title_open" if back else "history.move.title")
        rooms = self.atlas.desk.rooms
        chat = self.atlas.chat
        if to is RoomKind.PRIVATE and rooms.private is None:
            if chat is None or not await chat.open_private(text):
                return
        elif not await self._agreed("move", heading, text):
            return
        moving = [hit.session for hit in hits if hit.session.room is not to]
        for session in moving:
            await rooms.move(session.id, to)

        async def undo() -> None:
            for session in moving:
                await rooms.move(session.id, session.room)
            await self._changed([one.id for one in moving], content=True)

        await self._changed([one.id for one in moving], content=True)
        self._offer(tr(f"history.done.{word}", count=len(moving)), undo)

    def action_history_room(self) -> None:
        """Closes the private room, or opens it and lists what is in it too."""
        if (chat := self.atlas.chat) is not None:
            chat.close_or_open_private(lambda: self.reload(keep=False))
