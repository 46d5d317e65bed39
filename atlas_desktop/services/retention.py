"""Conversations that have been kept for long enough go by themselves, once a day."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.epochs import EpochService
from atlas_desktop.setting_types import RetentionSettings
from memory.background import Duty
from memory.entities import RoomKind
from memory.errors import SessionNotFound
from memory.jobs import Job
from memory.ports import Clock, SessionStore
from memory.retention import Expired, RetentionPolicy, expired

KIND = "retention"


@dataclass(frozen=True, slots=True)
class Removed:
    """What went for good. `verified` says that nothing of it was found afterwards."""

    sessions: int = 0
    messages: int = 0
    verified: bool = True


class RetentionService:
    """Of one room. With `background` it registers the daily duty."""

    def __init__(
        self,
        store: SessionStore,
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
        # What is off the record has no tomorrow.
        if store.room is not RoomKind.OFF_RECORD:
            background.register(KIND, self._do)
            background.register_duty(Duty(KIND, timedelta(days=1), KIND))

    async def policy(self) -> RetentionPolicy:
        """The settings for this room, and the days of its projects."""
        found = self._settings()
        days = found.private_days if self._store.room is RoomKind.PRIVATE else found.open_days
        return RetentionPolicy(days, found.bin_days, await self._store.retention.projects())

    async def set_project(self, project: str, days: int | None) -> None:
        """Gives a project its own days (0: for ever), or with None the room's. Raises `ProjectNotFound`."""
        await self._store.retention.set_project(project, days)

    async def preview(self) -> list[Expired]:
        """What the policy would remove now; nothing is removed."""
        candidates = await self._store.retention.candidates()
        return expired(candidates, await self.policy(), self._clock.now())

    async def apply(self) -> Removed:
        """Erases what the policy removes, as if each had been erased by hand."""
        async with self._background.stopped():
            return await self._erase()

    async def _do(self, _job: Job) -> None:
        await self._erase()

    async def _erase(self) -> Removed:
        sessions = messages = 0
        verified = True
        for one in await self.preview():
            await self._background.gate.checkpoint()
            session_id = one.candidate.session_id
            await self._epochs.forget([session_id])
            try:
                erased = await self._store.erase_session(session_id)
            except SessionNotFound:
                # A person was quicker.
                continue
            # The model has read its words in the prompts of other sessions, too.
            touched = [session_id, *erased.recalled_in]
            await self._epochs.forget(touched)
            verified = verified and erased.verified and await self._epochs.forget(touched) == 0
            sessions += 1
            messages += erased.messages
        return Removed(sessions, messages, verified)
