"""Keeps imported folders and their notes in step, both ways.

Nothing on disk that Atlas has not read is overwritten or removed. Where a note and its file have both
changed, the file wins its place, and the note's text becomes a second note with a file of its own.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from atlas_desktop.services.documents.following import FolderFollower
from atlas_desktop.services.notes.folders import (
    NoteFolders,
    NoteImport,
    Progress,
    put_file,
    remove_file,
    sha256_of,
    stamp,
)
from atlas_desktop.services.notes.notebook import NoteService
from memory.clock import Clock
from memory.errors import FolderNotFound
from memory.jobs.foreground_gate import Power
from memory.notes.entities import ImportedNote, NoteFolder
from memory.storage.store import Store

_SETTLED_S = 2.0
_FEW = 10
"""At least so many files have to be missing, and more than half, before their notes stay as they are."""


@dataclass(slots=True)
class MirrorReport:
    """What became of a folder. `taken` is what was read from it; `written` and `removed` count its files.

    `held_back` notes lack their files: so many that the folder may not be there in full. They stay.
    """

    taken: NoteImport = field(default_factory=NoteImport)
    written: int = 0
    removed: int = 0
    binned: int = 0
    held_back: int = 0
    problems: list[str] = field(default_factory=list)


class NoteMirror:
    """The folders of one room that are kept in step with their notes."""

    def __init__(
        self, store: Store, clock: Clock, notes: NoteService, folders: NoteFolders, power: Power | None
    ) -> None:
        self._store = store
        self._clock = clock
        self._folders = folders
        self._follower: FolderFollower[NoteFolder] = FolderFollower(self.folders, self._touched, power)
        self._stepping = asyncio.Lock()
        self._changed = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None
        notes.on_change = self._changed.set

    async def folders(self) -> list[NoteFolder]:
        """Returns the folders that are kept in step."""
        return [one for one in await self._store.notes.folders() if one.in_step]

    async def begin(
        self, path: str | Path, *, project: str | None = None, progress: Progress | None = None
    ) -> MirrorReport:
        """Imports a folder and keeps it in step from now on. Raises `DocumentRefused` if it is no folder."""
        taken = await self._folders.take(path, project=project, progress=progress)
        folder = await self._folder(taken.folder)
        await self._store.notes.keep_in_step(folder.id, wanted=True)
        report = await self.step(folder)
        report.taken = taken
        await self._follower.restart()
        return report

    async def end(self, path: str | Path) -> NoteFolder:
        """Ends keeping a folder in step; notes and files stay. Raises `FolderNotFound`."""
        folder = await self._folder(str(path))
        await self._store.notes.keep_in_step(folder.id, wanted=False)
        await self._follower.restart()
        return folder

    async def _folder(self, ref: str) -> NoteFolder:
        location = str(self._folders.location(ref))
        for one in await self._store.notes.folders():
            if ref in (one.id, one.path) or one.location == location:
                return one
        raise FolderNotFound(ref)

    def follow(self, on_fault: Callable[[BaseException], None]) -> None:
        """Follows folders and notes while the room is open. `on_fault` gets the error that ends it."""
        self._follower.start(on_fault)
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_back(), name="notes in step")
            self._writer.add_done_callback(
                lambda task: on_fault(error) if not task.cancelled() and (error := task.exception()) else None
            )

    async def stop_following(self) -> None:
        await self._follower.stop()
        task, self._writer = self._writer, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _write_back(self) -> None:
        while True:
            await self._changed.wait()
            # While the user types, changes come one after the other.
            await asyncio.sleep(_SETTLED_S)
            self._changed.clear()
            await self.step_all()

    async def _touched(self, folder: NoteFolder, _touched: frozenset[str]) -> None:
        await self.step(folder)

    async def step_all(self) -> list[MirrorReport]:
        """Brings all folders and notes in step now."""
        return [await self.step(one) for one in await self.folders()]

    async def step(self, folder: NoteFolder) -> MirrorReport:
        """Brings a folder and its notes in step: what changed on disk is read, what changed here is written.

        A folder that is not there changes nothing.
        """
        async with self._stepping:
            return await self._step(folder)

    async def _step(self, folder: NoteFolder) -> MirrorReport:
        report = MirrorReport()
        root = Path(folder.location)
        if not await asyncio.to_thread(root.is_dir):
            report.problems.append(folder.path)
            return report
        report.taken = await self._folders.take(folder.location)
        known = await self._store.notes.imported(folder.id)
        await self._bin_missing(root, known, report)
        for one in await self._store.notes.imported(folder.id):
            try:
                if one.deleted:
                    report.removed += await asyncio.to_thread(remove_file, root, one.disk_path, one.sha256)
                elif one.edited:
                    report.written += await self._write(root, one)
            except OSError:
                report.problems.append(one.external_id)
        return report

    async def _bin_missing(self, root: Path, known: list[ImportedNote], report: MirrorReport) -> None:
        """Moves notes to the bin whose files were removed; those that were changed here are written again."""
        there = [one for one in known if not one.deleted and one.disk_path]
        gone = [one for one in there if not one.edited and not (root / one.disk_path).exists()]
        if len(gone) >= _FEW and 2 * len(gone) > len(there):
            report.held_back = len(gone)
            return
        report.binned = await self._store.notes.bin([one.note for one in gone])

    async def _write(self, root: Path, known: ImportedNote) -> int:
        (note,) = await self._store.notes.get_many([known.note])
        data = note.text.encode()
        path = known.external_id
        read = known.sha256 if known.disk_path == path else ""
        written = await asyncio.to_thread(put_file, root, path, data, read, stamp(self._clock))
        if written in (None, path):
            await self._store.notes.on_disk(note.id, path, sha256_of(data), edited=False)
            if known.disk_path != path:
                await asyncio.to_thread(remove_file, root, known.disk_path, known.sha256)
        return written is not None
