"""What changes of the room and of the memory mode share: what they do is said, or asked for, before."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_desktop.tui.screens.chat_holding import Holding
from atlas_desktop.tui.screens.chat_part import Act
from atlas_desktop.tui.turns import Conversation
from atlas_desktop.tui.widgets.message import Remark
from atlas_desktop.words import modes
from atlas_desktop.words.catalogue import tr
from memory.entities import RoomKind

if TYPE_CHECKING:
    from atlas_desktop.services.desk import RoomsService

GROUP = "rooms"


class RoomChanges(Holding):
    """Mixed into the conversation screen by those that change where, and how, a conversation is kept."""

    @property
    def _rooms(self) -> "RoomsService":
        return self.atlas.desk.rooms

    @property
    def _here(self) -> RoomKind:
        return self.atlas.room_of(self.current).store.room

    @property
    def _cannot_change(self) -> bool:
        """Whether nothing can be changed at the moment."""
        busy = self.current.busy or bool(self.current.waiting)
        return self.atlas.leaving or self.atlas.desk.room is None or busy

    def _do(self, act: Act, what: str, *, asked_for: bool = True) -> None:
        """Begins a change once everything typed before its key has been dealt with: what was sent in one room
        must not arrive in the next. A typed command is in its turn already."""
        if self.changing:
            self._begin(act, what, asked_for=asked_for)
        else:
            self.prompt.call_later(self._begin, act, what, asked_for=asked_for)

    def _begin(self, act: Act, what: str, *, asked_for: bool) -> None:
        """One change at a time. The same once more is a key that came twice: its window is about to open."""
        under_way = [one for one in self.changing.values() if one]
        if not under_way:
            self.change(act, what, group=GROUP, asked_for=asked_for)
        elif what not in under_way:
            self.atlas.warn(tr("rooms.one_at_a_time"))

    async def _at_rest(self, conversation: Conversation, act: Callable[[], Awaitable[None]]) -> None:
        """Changes where a conversation is kept, with no turn of it under way: nothing may be left behind."""
        async with self.turning:
            await self.atlas.drafts.keep_all()
            if conversation.busy:
                # Something was said between the key and now.
                self.atlas.say(tr("chat.busy"))
                return
            await act()
        self._told()

    async def _ask(self, title: str, words: str, enter: Callable[[str], Awaitable[object]]) -> bool:
        from atlas_desktop.services.vault import Attempts
        from atlas_desktop.tui.screens.passphrase import PassphraseScreen

        attempts = Attempts(self.atlas.desk.paths.attempts)
        opened: bool = await self.atlas.push_screen_wait(PassphraseScreen(title, words, enter, attempts))
        return opened

    async def _agreed(self, title: str, change: modes.Consequence) -> bool:
        """Says what will happen, and asks when it cannot be taken back."""
        if not change.asks:
            await self._say(change)
            return True
        from atlas_desktop.tui.screens.confirm import ConfirmScreen

        question = ConfirmScreen(title, change.words, agree=tr("rooms.do_it"), refuse=tr("rooms.leave_it"))
        agreed: bool = await self.atlas.push_screen_wait(question)
        return agreed

    async def _say(self, change: modes.Consequence) -> None:
        if self.current.id is None:
            self.atlas.say(change.words)
        else:
            await self.transcript.note(Remark(change.words))

    def _told(self) -> None:
        # What is being typed is kept where it now belongs, and nowhere else.
        self.atlas.drafts.changed(self.current)
        self.tell()
        self.refresh_list()
