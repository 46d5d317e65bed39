"""The part of the conversation screen that turns between the answers to one message."""

from atlas_desktop.tui.screens.chat_part import ChatPart
from atlas_desktop.tui.widgets.message import MessageBlock
from atlas_desktop.tui.widgets.transcript import Transcript
from models.messages import Role

GROUP = "variants"


class VariantActions(ChatPart):
    """Mixed into the conversation screen: only the newest reply can be another one of its variants."""

    _variants = 0

    @property
    def _newest_reply(self) -> MessageBlock | None:
        blocks = self.query_one(Transcript).blocks
        return blocks[-1] if blocks and blocks[-1].message.role is Role.ASSISTANT else None

    def count_variants(self) -> None:
        """Says in the newest reply which of how many it is, as soon as that is known."""
        self._variants = 0
        if self.current.id is not None and not self.current.busy and not self.atlas.leaving:
            self.atlas.attempt(self._turn_variant(0), group=GROUP, exclusive=True)

    def action_earlier_variant(self) -> None:
        self.atlas.attempt(self._turn_variant(-1), group=GROUP, exclusive=True)

    def action_later_variant(self) -> None:
        self.atlas.attempt(self._turn_variant(1), group=GROUP, exclusive=True)

    async def _turn_variant(self, step: int) -> None:
        """Shows the variant that is `step` further, and goes on from there; at either end nothing changes."""
        async with self.turning:
            block, session_id = self._newest_reply, self.current.id
            if block is None or session_id is None or self.current.busy:
                return
            sessions = self.atlas.room.sessions
            variants = await sessions.variants(block.message.id)
            self._variants = len(variants)
            at = next((i for i, each in enumerate(variants) if each.id == block.message.id), 0)
            to = min(max(at + step, 0), len(variants) - 1)
            if to != at:
                self.current.session = await sessions.show_variant(session_id, variants[to].id)
                self.query_one(Transcript).replaced(block.message.id, variants[to].id)
                await block.finish(variants[to])
                self.current.shows(variants[to].id)
                self.tell()
            if len(variants) > 1 and block.is_mounted:
                block.placed(to + 1, len(variants))
        self.screen.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("earlier_variant", "later_variant"):
            return self._variants > 1 and not self.current.busy
        return super().check_action(action, parameters)
