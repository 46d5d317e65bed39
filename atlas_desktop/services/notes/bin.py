"""Erases notes that have been in the bin for long enough."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Protocol

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.settings.schema import RetentionSettings
from memory.clock import Clock
from memory.documents.entities import ErasedDocuments
from memory.entities import RoomKind
from memory.jobs.queue import Job
from memory.jobs.runner import Duty
from memory.storage.store import Store

KIND = "empty_note_bin"


class Remove(Protocol):
    """Erases documents and all that was made from them, also from prompts."""

    async def __call__(
        self, document_ids: Sequence[str], /, *, for_good: bool = False
    ) -> ErasedDocuments: ...


class NoteBin:
    """The bin of one room's notes. Registers its daily duty with `background`.

    As for sessions, a clock that may have been set ahead erases nothing.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        background: BackgroundService,
        erase: Remove,
        settings: Callable[[], RetentionSettings],
    ) -> None:
        self._store = store
        self._clock = clock
        self._erase = erase
        self._settings = settings
        if store.room is not RoomKind.OFF_RECORD:
            background.register(KIND, self._empty)
            background.register_duty(Duty(KIND, timedelta(days=1), KIND))

    async def _empty(self, _job: Job) -> None:
        days = self._settings().bin_days
        if not days:
            return
        seen = await self._store.retention.look_at_clock(self._clock.now())
        due = await self._store.notes.binned_before(seen.passed - timedelta(days=days))
        if due:
            await self._erase(due, for_good=True)
