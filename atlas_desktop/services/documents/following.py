"""Keeps the documents of watched folders in step with the disk while the room is open."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from atlas_desktop.services.documents.watching import Changes, FolderWatcher
from memory.jobs.foreground_gate import Power

_ON_BATTERY_S: Final = 60.0
"""Seconds until it is looked again whether the computer is on mains power."""


class Located(Protocol):
    """A folder, by its absolute path."""

    @property
    def location(self) -> str: ...


Folder = TypeVar("Folder", bound=Located)


class FolderFollower(Generic[Folder]):
    """Watches the folders of one room and scans those in which something has changed.

    Everything is scanned at the start. On battery nothing is, unless `power` is None; it is made up for on
    mains power.
    """

    def __init__(
        self,
        folders: Callable[[], Awaitable[Sequence[Folder]]],
        rescan: Callable[[Folder, frozenset[str]], Awaitable[object]],
        power: Power | None,
    ) -> None:
        """`rescan` scans a folder; the absolute paths that it gets were reported as changed, and are read
        even if they look the same."""
        self._folders = folders
        self._rescan = rescan
        self._power = power
        self._watcher: FolderWatcher | None = None
        self._task: asyncio.Task[None] | None = None
        self._on_fault: Callable[[BaseException], None] | None = None
        self._waiting: list[Changes] = []
        self._wake = asyncio.Event()

    def start(self, on_fault: Callable[[BaseException], None]) -> None:
        """Follows the folders from now on. `on_fault` gets the error that ends it."""
        if self._task is None:
            self._on_fault = on_fault
            self._task = asyncio.create_task(self._follow(), name="watched folders")
            self._task.add_done_callback(self._ended)

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def restart(self) -> None:
        """Follows the folders that are watched now, if it was following."""
        if self._task is not None and self._on_fault is not None:
            on_fault = self._on_fault
            await self.stop()
            self.start(on_fault)

    async def _follow(self) -> None:
        folders = await self._folders()
        if not folders:
            return
        self._waiting, self._wake = [], asyncio.Event()
        watcher = FolderWatcher([Path(one.location) for one in folders], self._changed)
        await watcher.start()
        try:
            while True:
                await self._wake.wait()
                if self._power is not None and self._power.on_battery():
                    await asyncio.sleep(_ON_BATTERY_S)
                    continue
                self._wake.clear()
                changes, self._waiting = self._waiting, []
                for folder in folders:
                    touched = _touched(folder, changes)
                    if touched is not None:
                        await self._rescan(folder, touched)
        finally:
            await watcher.stop()

    def _changed(self, changes: Changes) -> None:
        self._waiting.append(changes)
        self._wake.set()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) and self._on_fault is not None:
            self._on_fault(error)


def _touched(folder: Located, changes: Sequence[Changes]) -> frozenset[str] | None:
    """Returns which files of the folder were reported as changed; None if there is no reason to scan it."""
    root = Path(folder.location)
    below = {path for one in changes if one is not None for path in one if path.is_relative_to(root)}
    if below or None in changes:
        return frozenset(map(str, below))
    return None
