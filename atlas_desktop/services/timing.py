"""How fast replies came, kept for the person's own statistics."""

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.events import Replied
from memory.entities import MessageStatus
from memory.errors import SessionNotFound
from memory.insights.entities import Timed
from memory.ports import Clock, SessionStore


class TimingService:
    """Notes it after every reply that has any words."""

    def __init__(self, store: SessionStore, clock: Clock, background: BackgroundService) -> None:
        self._store = store
        self._clock = clock
        background.register_hook(self.after_reply)

    async def after_reply(self, replied: Replied) -> None:
        message, timings = replied.message, replied.completion.timings
        if message.status is MessageStatus.FAILED or not timings.completion_tokens or message.model is None:
            return
        timed = Timed(
            message.id,
            message.model,
            self._clock.now(),
            # What went by before the model was asked is waited for, too.
            timings.first_token_ms + replied.prepare_ms,
            timings.tokens_per_second,
            timings.prompt_tokens,
            timings.completion_tokens,
        )
        try:
            await self._store.insights.note_timing(replied.session.id, timed)
        except SessionNotFound:
            # Erased, or moved to another room, since the reply ended.
            return
