"""The part of the conversation screen that forgets: what would go, a question, the receipt."""

from typing import TYPE_CHECKING

from atlas_desktop.tui.screens.chat_part import ChatPart
from atlas_desktop.tui.widgets.message import Remark
from atlas_desktop.words.catalogue import tr

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from memory.forgetting import Target

_SHOWN = 5


class ForgetActions(ChatPart):
    """Mixed into the conversation screen."""

    if TYPE_CHECKING:

        async def _show_new(self, *, private: bool = False) -> None: ...

    def action_forget(self, words: str = "") -> None:
        """Forgets what follows `/forget`: `last` (also without a word), `this`, or an id."""
        if self.current.busy:
            self.atlas.say(tr("chat.busy"))
        elif len(words.split()) > 1:
            self.atlas.say(tr("chat.forget_how"))
        else:
            self.atlas.attempt(self._forget(words or "last"), group="forget", exclusive=True)

    async def _forget(self, word: str) -> None:
        from atlas_desktop.services.forgetting_in_rooms import preview_text, receipt_text
        from atlas_desktop.tui.screens.confirm import ConfirmScreen

        session_id = self.current.id
        room = self.atlas.room_of(self.current)
        target = await self._meant(room, word)
        if target is None:
            self.atlas.say(tr("chat.nothing_said"))
            return
        forgetting = self.atlas.desk.rooms.forgetting
        plan = await forgetting.preview(target)
        affected = plan.affected
        asked = ConfirmScreen(
            tr("chat.forget"),
            preview_text(affected, shown=_SHOWN, ids=False),
            agree=tr("chat.forget_it"),
            refuse=tr("chat.forget_not"),
        )
        if not await self.atlas.push_screen_wait(asked):
            return
        receipt = await forgetting.forget(plan)
        if self.current.id == session_id and session_id is not None:
            # What the next prompt holds is known with the next turn.
            self.current.measured.clear()
            gone = session_id in {one.id for one in affected.sessions}
            await (self._show_new() if gone else self._open(session_id, again=True))
        self.refresh_list()
        await self.transcript.note(Remark(receipt_text(receipt)))

    async def _meant(self, room: "RoomServices", word: str) -> "Target | None":
        from atlas_desktop.services.forgetting_in_rooms import newest_words
        from memory.forgetting import Target

        if word not in {"last", "this"}:
            return Target(ids=(word,))
        if self.current.id is None:
            return None
        if word == "this":
            return Target(sessions=(self.current.id,))
        said = await newest_words(room, self.current.id)
        return Target(messages=said) if said else None
