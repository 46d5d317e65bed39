"""An import that goes on beside the conversation: progress in the status line, a notice at the end."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from atlas_desktop.importing.entities import ImportOptions, ImportReport, Meter
from atlas_desktop.importing.importer import Importer
from atlas_desktop.words.catalogue import tr
from atlas_desktop.words.importing import remaining, summary
from memory.entities import RoomKind

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.app import AtlasApp

GROUP = "import"
_EVERY_S = 0.25
# What the person says meanwhile is saved between two of these, and while it is answered the import rests.
_AT_ONCE = 300


def is_under_way(app: "AtlasApp") -> bool:
    return any(worker.group == GROUP and not worker.is_finished for worker in app.workers)


async def carry_out(
    app: "AtlasApp", room: "RoomServices", paths: Sequence[Path], options: ImportOptions
) -> ImportReport:
    """Takes everything in; what came in by then stays when it is cut short.

    Raises `UnknownExport`, `OSError`, and what the store raises.
    """
    progress = _Progress(app, room)
    elsewhere = [one.store.transfer for one in app.desk.open_rooms if one is not room]
    try:
        importer = Importer(
            room.store.transfer,
            progress.told,
            elsewhere,
            at_once=_AT_ONCE,
            between=app.desk.gate.checkpoint,
        )
        report = await importer.take(paths, options)
    finally:
        progress.end()
    report.require_known()
    if report.messages:
        await room.remember()
        if options.learn:
            await room.learning.everything()
    app.say(_told_at_the_end(report), anywhere=True)
    return report


def _told_at_the_end(report: ImportReport) -> str:
    """What it came to; whoever did not look before has not seen what is left out."""
    words = tr("importing.done", summary=summary(report, dry_run=False))
    if not report.skipped:
        return words
    first = report.skipped[0]
    count = len(report.skipped) + report.more_skipped
    return f"{words}\n{tr('importing.done.left_out', count=count, where=first.where, why=first.why)}"


class _Progress:
    """In the status line, and the list of conversations when it is over."""

    def __init__(self, app: "AtlasApp", room: "RoomServices") -> None:
        self._app = app
        self._room = room
        self._told_at = 0.0

    def told(self, report: ImportReport, meter: Meter) -> None:
        now = time.monotonic()
        if now - self._told_at < _EVERY_S:
            return
        self._told_at = now
        if self._room.store.room is RoomKind.PRIVATE:
            # It stays open as long as something comes into it.
            self._app.desk.rooms.used()
        count = report.messages + report.already_there
        left = meter.remaining
        if left is None:
            self._show(tr("importing.progress", share=share_of(meter), count=count))
        else:
            words = remaining(left)
            self._show(tr("importing.progress.left", share=share_of(meter), count=count, left=words))

    def end(self) -> None:
        self._show("")
        if (chat := self._app.chat) is not None and chat.is_mounted:
            chat.refresh_list()

    def _show(self, text: str) -> None:
        self._app.background = text
        if (chat := self._app.chat) is not None and chat.is_mounted:
            chat.tell()


def share_of(meter: Meter) -> str:
    return f"{meter.share:.0%}"
