"""The part of the conversation screen that shows, beside it, its context and what is remembered of it."""

from typing import TYPE_CHECKING

from atlas_desktop.tui.screens.chat_part import ChatPart
from atlas_desktop.tui.widgets.aside import Aside, Known
from memory.errors import RoomClosed
from models.errors import ModelsError

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices

_LEARNED = 30


class AsideActions(ChatPart):
    """Mixed into the conversation screen, before what keeps the list: both follow the same news."""

    def refresh_list(self) -> None:
        super().refresh_list()
        self.tell_aside()

    def action_toggle_aside(self) -> None:
        self.query_one(Aside).toggle_class("-shown")
        self.tell_aside()

    def clear_aside(self) -> None:
        """Of a conversation that is left nothing stays, seen or not: its room may close."""
        self.query_one(Aside).tell(Known())

    def tell_aside(self) -> None:
        if self.query_one(Aside).has_class("-shown") and not self.atlas.leaving:
            self.atlas.attempt(self._look_beside, group="aside", exclusive=True)

    async def _look_beside(self) -> None:
        shown = self.current
        if shown.session is None:
            self.query_one(Aside).tell(Known())
            return
        try:
            found = await self._known_of(self.atlas.room_of(shown), shown.session.id)
        except RoomClosed:
            if shown is self.current and not self.atlas.leaving:
                raise
            return
        if shown is self.current:
            self.query_one(Aside).tell(found)

    async def _known_of(self, room: "RoomServices", session_id: str) -> Known:
        from atlas_desktop.services.context import tier_name
        from memory.context.decisions import Outcome
        from memory.memories.entities import MemoryFilter

        learned = await room.knowledge.select(MemoryFilter(session=session_id), limit=_LEARNED)
        head = (await room.store.get_session(session_id)).head_id
        looked = [] if head is None else await room.store.context.considered(head)
        told = [one for one in looked if one.fate is Outcome.TOLD]
        memories = await room.store.memories.get_many([one.id for one in told if one.kind == "memory"])
        used = limit = 0
        tiers: tuple[tuple[str, int], ...] = ()
        try:
            reply = self.atlas.desk.turn_options().params.max_tokens
            view = await room.chat.context.view(session_id, reply=reply)
        except ModelsError:
            # Without a model there is no context to measure; the next turn says what is missing.
            view = None
        if view is not None:
            used, limit = view.tokens, view.budget.limit
            tiers = tuple((tier_name(tier), tier.tokens) for tier in view.tiers if tier.tokens)
        return Known(
            used,
            limit,
            tiers,
            tuple(one.text for one in memories),
            sum(one.kind != "memory" for one in told),
            tuple(one.text for one in learned),
        )
