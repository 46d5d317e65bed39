"""Syncs the room while the program runs."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from atlas_desktop.locale import _
from memory.errors import (
    MemoryFault,
    NotSynced,
    RoomClosed,
    SyncDeviceRemoved,
    SyncFolderMissing,
    SyncFolderUnusable,
    SyncPaused,
)

if TYPE_CHECKING:
    from atlas_desktop.services.sync import SyncFolderWatch
    from atlas_desktop.tui.base import BaseApp
    from memory.sync.entities import SyncReport

QUIET_S = 2.0
"""Seconds without changes in the folder before it is read: a tool writes many files one after another."""
EVERY_S = 60.0
"""Seconds after which local changes are sent, and a folder that sends no events is checked."""


class SyncKeeper:
    """Syncs at the start, after changes in the folder, and once a minute. `told` is called when `text`, the
    state in a few words, may have changed."""

    def __init__(self, app: "BaseApp", told: Callable[[], object]) -> None:
        self._app = app
        self._told = told
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._watch: SyncFolderWatch | None = None
        self.text = ""
        self.progress: tuple[int, int] | None = None
        self.last: SyncReport | None = None

    async def start(self) -> None:
        """Begins, if the room is synced; otherwise does nothing."""
        if self._task is None and not self._app.leaving and await self._app.desk.is_synced():
            self._task = asyncio.create_task(self._run(), name="sync")

    async def stop(self) -> None:
        """Stops; the next sync continues where an interrupted one ended."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
        watch, self._watch = self._watch, None
        if watch is not None:
            await asyncio.to_thread(watch.stop)
        self.text = ""

    async def now(self) -> "SyncReport":
        """Syncs because the user asks."""
        return await self._sync(asked=True)

    async def _run(self) -> None:
        told: type[Exception] | None = None
        while True:
            try:
                with suppress(SyncPaused, SyncFolderMissing, SyncFolderUnusable):
                    await self._sync(asked=False)
                    await self._watch_folder()
                told = None
            except (NotSynced, RoomClosed):
                return
            except SyncDeviceRemoved as error:
                self._app.background_failed(error)
                return
            except (MemoryFault, OSError) as error:
                # Such as a full disk: reported once, then tried again.
                if told is not type(error):
                    self._app.background_failed(error)
                told = type(error)
            await self._wait()

    async def _wait(self) -> None:
        """Waits for a change in the folder and then for quiet, at most for a minute."""
        with suppress(TimeoutError):
            async with asyncio.timeout(EVERY_S):
                await self._changed.wait()
                while self._changed.is_set():
                    self._changed.clear()
                    await asyncio.sleep(QUIET_S)

    async def _watch_folder(self) -> None:
        if self._watch is not None:
            return
        from atlas_desktop.services.sync import SyncFolderWatch

        loop = asyncio.get_running_loop()
        folder = Path((await self._app.desk.sync.status()).folder)

        def changed() -> None:
            with suppress(RuntimeError):
                # The loop may have ended meanwhile.
                loop.call_soon_threadsafe(self._changed.set)

        watch = SyncFolderWatch(folder, changed)
        # Where the system sends no events, the folder is checked once a minute.
        with suppress(OSError):
            await asyncio.to_thread(watch.start)
            self._watch = watch

    async def _sync(self, *, asked: bool) -> "SyncReport":
        from atlas_desktop.phrases import report_text, short_status

        self._say(short_status(running=True, paused=False, pending=0, problem=""))
        problem = ""
        try:
            report = await self._app.desk.sync.now(self._move_on, asked=asked)
        except (SyncFolderMissing, SyncFolderUnusable):
            problem = "folder"
            raise
        except SyncPaused:
            raise
        except (MemoryFault, OSError):
            problem = "failed"
            raise
        finally:
            self.progress = None
            await self._say_state(problem=problem)
        self.last = report
        if report.joined or report.new_identity:
            self._app.say(report_text(report))
        elif report.forgotten:
            self._app.say(_("Forgotten here too, as on another device."))
        if report.received_changes:
            self._app.attempt(self._show_new(), group="sync-shown")
        return report

    async def _show_new(self) -> None:
        """Shows what other devices have written: in the list, and in the conversation unless a reply is
        streaming."""
        chat = self._app.chat
        if chat is None or self._app.leaving:
            return
        chat.refresh_list()
        await chat.synced()

    def _move_on(self, done: int, of: int) -> None:
        self.progress = (done, of)
        self._told()

    async def _say_state(self, *, problem: str) -> None:
        from atlas_desktop.phrases import short_status

        with suppress(NotSynced, RoomClosed):
            status = await self._app.desk.sync.status()
            self._say(
                short_status(running=False, paused=status.paused, pending=status.pending_out, problem=problem)
            )
            return
        self._say("")

    def _say(self, text: str) -> None:
        if text != self.text:
            self.text = text
            self._told()
