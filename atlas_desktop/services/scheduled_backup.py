"""Backups that are made by themselves, every so many days."""

from collections.abc import Callable
from datetime import timedelta

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.backup import BackupService
from atlas_desktop.setting_types import BackupSettings
from memory.background import Duty
from memory.entities import RoomKind
from memory.jobs import Job
from memory.vault.keys import RoomKey

KIND = "backup"


class ScheduledBackups:
    """The duty of the open room to back up all rooms, if the settings want it.

    A backup that cannot be made is in the list of jobs, and tried again later; older ones stay until a new
    one has been verified.
    """

    def __init__(
        self,
        background: BackgroundService,
        backups: Callable[[], BackupService],
        key: RoomKey,
        settings: Callable[[], BackupSettings],
        on_missing: Callable[[RoomKind], None] = lambda _room: None,
    ) -> None:
        """`on_missing` is told of a room that should be in a new backup and is not."""
        self._on_missing = on_missing
        self._backups = backups
        self._key = key
        self._settings = settings
        background.register(KIND, self._do)
        if days := settings().every_days:
            background.register_duty(Duty(KIND, timedelta(days=days), KIND))

    async def _do(self, _job: Job) -> None:
        # The private room is copied as it is: its key is not kept for this.
        made = await self._backups().make_in_turn({RoomKind.OPEN: self._key}, self._settings().keep)
        for room in made.missing:
            self._on_missing(room)
