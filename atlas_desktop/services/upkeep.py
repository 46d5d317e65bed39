"""Promotion and garbage collection of memories every day, consolidation every week, when there is time."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.knowledge import rules_of
from atlas_desktop.setting_types import Settings
from memory.background import Duty
from memory.jobs import Job
from memory.knowledge.expiry import Fate, Plan
from memory.knowledge.rewording import Rewording
from memory.knowledge.upkeep import Merger, Promotion, Upkeep
from memory.ports import Clock, SessionStore
from models.ports import ChatModel

DAILY = timedelta(days=1)
WEEKLY = timedelta(days=7)
PROMOTE, CONSOLIDATE, COLLECT = "promote", "consolidate", "collect"


class UpkeepService:
    """Of one room. `complete` makes the vectors that are missing."""

    def __init__(
        self,
        store: SessionStore,
        clock: Clock,
        background: BackgroundService,
        settings: Callable[[], Settings],
        chat: Callable[[], ChatModel],
        complete: Callable[[], Awaitable[None]],
    ) -> None:
        self._settings = settings
        self._chat = chat
        self._complete = complete
        self._upkeep = Upkeep(
            store,
            clock,
            lambda: rules_of(settings().memory),
            pause=lambda: timedelta(minutes=settings().sessions.after_minutes),
            checkpoint=background.gate.checkpoint,
            reword=self._reword,
        )
        for kind, every, name, work in (
            (PROMOTE, DAILY, "promote memories", self.promote),
            (COLLECT, DAILY, "collect faded memories", self.collect),
            (CONSOLIDATE, WEEKLY, "consolidate memories", self.consolidate),
        ):
            background.register(kind, _handler(work))
            background.register_duty(Duty(name, every, kind))

    async def promote(self) -> list[Promotion]:
        return await self._upkeep.promote()

    async def consolidate(self, *, dry_run: bool = False) -> list[Merger]:
        """As `Upkeep.consolidate`, once everything that is remembered has its vector."""
        await self._complete()
        made = await self._upkeep.consolidate(dry_run=dry_run)
        if any(one.made is not None for one in made):
            await self._complete()
        return made

    async def collect(self, *, dry_run: bool = False) -> Plan:
        return await self._upkeep.collect(dry_run=dry_run)

    async def fading(self) -> list[Fate]:
        """What goes before long, or has become faint: the first to go first."""
        return await self._upkeep.fading()

    def _reword(self) -> Rewording | None:
        return Rewording(self._chat()) if self._settings().memory.consolidate_with_model else None


def _handler(work: Callable[[], Awaitable[object]]) -> Callable[[Job], Awaitable[None]]:
    async def handle(_job: Job) -> None:
        await work()

    return handle
