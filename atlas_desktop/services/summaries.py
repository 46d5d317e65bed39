"""Summaries made without a model, or whose sources have changed, are made anew when there is time."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.events import Replied
from memory.background import Duty
from memory.jobs import Job, Priority
from memory.lifecycle.compaction import IMPROVE, Compactor
from models.errors import ModelsError

DAILY = timedelta(days=1)
_ALL = "all"


class SummaryService:
    """Of one room. `compactor` is asked for each time: the model can be changed."""

    def __init__(self, compactor: Callable[[], Compactor], background: BackgroundService) -> None:
        self._compactor = compactor
        self._background = background
        self._replied_by: set[str] = set()
        background.register(IMPROVE, self._improve)
        background.register_hook(self._after_reply)
        background.register_duty(Duty("improve summaries", DAILY, IMPROVE))

    async def refresh(self, session_id: str) -> None:
        """Has a session's stale summaries made anew soon: after something in it was edited or forgotten."""
        await self._background.add(IMPROVE, session_id, session_id=session_id, priority=Priority.HIGH)

    async def improve(self) -> None:
        """Has every fallback made anew that the model in use was not asked about: after it was changed."""
        await self._background.add(IMPROVE, _ALL, priority=Priority.LOW)

    async def catch_up(self) -> None:
        """As `improve`, if there is anything to be made anew and a model that it can be asked for."""
        with suppress(ModelsError):
            # Whoever talks is told of a model that is missing or broken; the summaries wait for another.
            if await self._compactor().left_by_another():
                await self.improve()

    async def _after_reply(self, replied: Replied) -> None:
        """Has tried what another model could not do: it may have been changed while the room was closed."""
        model = replied.message.token_model
        if model is None or model in self._replied_by:
            return
        self._replied_by.add(model)
        if await self._compactor().left_by_another(model):
            await self.improve()

    async def _improve(self, job: Job) -> None:
        compactor = self._compactor()
        if job.session_id is not None:
            await compactor.refresh(job.session_id)
        elif job.key == _ALL:
            await compactor.improve(limit=None)
        else:
            await compactor.improve()
