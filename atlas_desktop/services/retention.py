"""Automatic daily deletion of sessions that have been kept for long enough."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.context import EpochService
from atlas_desktop.settings.schema import RetentionSettings
from memory.clock import Clock
from memory.entities import RoomKind
from memory.errors import SessionNotFound
from memory.jobs.queue import Job
from memory.jobs.runner import Duty
from memory.retention import Expired, RetentionPolicy, expired
from memory.storage.store import Store

KIND = "retention"


@dataclass(frozen=True, slots=True)
class Removed:
    """What was erased permanently. `verified`: nothing of it was found afterwards."""

    sessions: int = 0
    messages: int = 0
    verified: bool = True


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Number of sessions that are due by the clock but stay, because it is `ahead` of the trusted time."""

    sessions: int
    ahead: timedelta


class RetentionService:
    """Retention in one room. Registers the daily duty with `background`."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        background: BackgroundService,
        epochs: EpochService,
        settings: Callable[[], RetentionSettings],
    ) -> None:
        self._store = store
        self._clock = clock
        self._background = background
        self._epochs = epochs
        self._settings = settings
        self.on_held_back: Callable[[HeldBack], None] = lambda _held: None
        """Called with the sessions that stay because the clock may have been set ahead."""
        self._told = False
        # An off-the-record session never lives until the next daily run.
        if store.room is not RoomKind.OFF_RECORD:
            background.register(KIND, self._do)
            background.register_duty(Duty(KIND, timedelta(days=1), KIND))

    async def policy(self) -> RetentionPolicy:
        """Returns the settings for this room, and the days of its projects."""
        found = self._settings()
        days = found.private_days if self._store.room is RoomKind.PRIVATE else found.open_days
        return RetentionPolicy(days, found.bin_days, await self._store.retention.projects())

    async def set_project(self, project: str, days: int | None) -> None:
        """Sets a project's own days (0: forever), or with None uses the room's. Raises `ProjectNotFound`."""
        await self._store.retention.set_project(project, days)

    async def preview(self) -> list[Expired]:
        """Returns what the policy would remove now if the clock were right; removes nothing."""
        return await self._due(self._clock.now())

    async def apply(self) -> Removed:
        """Erases what the policy removes, as if each had been erased by hand.

        The clock is trusted from then on: callers have shown the user what will be erased.
        """
        async with self._background.stopped():
            seen = await self._store.retention.look_at_clock(self._clock.now(), believe=True)
            return await self._erase(seen.passed)

    async def held_back(self) -> HeldBack | None:
        """Returns what is due by the clock but stays because the clock may be ahead; None if there is
        nothing."""
        seen = await self._store.retention.look_at_clock(self._clock.now())
        if not seen.ahead:
            return None
        now = {one.candidate.session_id for one in await self._due(seen.passed)}
        held = [one for one in await self._due(seen.at) if one.candidate.session_id not in now]
        return HeldBack(len(held), seen.ahead) if held else None

    async def _due(self, now: datetime) -> list[Expired]:
        return expired(await self._store.retention.candidates(), await self.policy(), now)

    async def _do(self, _job: Job) -> None:
        seen = await self._store.retention.look_at_clock(self._clock.now())
        await self._erase(seen.passed)
        await self.tell_held_back()

    async def tell_held_back(self) -> None:
        """Calls `on_held_back` once, and again only after nothing was held back."""
        held = await self.held_back()
        if held is not None and not self._told:
            self.on_held_back(held)
        self._told = held is not None

    async def _erase(self, now: datetime) -> Removed:
        sessions = messages = 0
        verified = True
        for one in await self._due(now):
            await self._background.gate.checkpoint()
            session_id = one.candidate.session_id
            await self._epochs.forget([session_id])
            try:
                erased = await self._store.erase_session(session_id)
            except SessionNotFound:
                # The user has erased it in the meantime.
                continue
            # The model may also have read its text in the prompts of other sessions.
            touched = [session_id, *erased.recalled_in]
            await self._epochs.forget(touched)
            verified = verified and erased.verified and await self._epochs.forget(touched) == 0
            sessions += 1
            messages += erased.messages
        return Removed(sessions, messages, verified)
