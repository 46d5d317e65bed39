"""Folders of Markdown files as notes: imports, exports and synchronises them.

What was not edited is written byte for byte. A file that has changed is never overwritten: Atlas writes its
text to a second file next to it, and the report lists it.

Nothing on disk that Atlas has not read is overwritten or removed. If a note and its file have both changed,
the file keeps its place, and the note's text becomes a second note with a file of its own.
"""

import asyncio
import hashlib
import os
import posixpath
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from atlas_desktop.error_table import refusal_text
from atlas_desktop.errors import DocumentRefused, Refusal, Skipped
from atlas_desktop.locale import _
from atlas_desktop.parsing.plain import decoded
from atlas_desktop.parsing.protocol import Unreadable
from atlas_desktop.phrases import scan_reason
from atlas_desktop.services.documents.library import absolute, is_folder
from atlas_desktop.services.documents.reading import FileContent, read_file
from atlas_desktop.services.documents.scanning import FolderRules, ScannedFile, scan
from atlas_desktop.services.documents.watching import FolderFollower
from atlas_desktop.services.notes.notebook import NoteService, cleaned, read_note
from memory.clock import Clock
from memory.documents.entities import DocumentError
from memory.errors import FolderNotFound
from memory.jobs.foreground_gate import Power
from memory.notes.entities import ImportedNote, NewNote, Note, NoteFile, NoteFolder
from memory.notes.markup import NOTE_ENDINGS, file_name, title_of
from memory.storage.store import Store

LONGEST_NOTE = 2_000_000
"""Bytes of the largest file that becomes a note."""
LARGEST_FILE = 50_000_000
"""Bytes of the largest other file that is kept with the notes."""
_BATCH = 200
Progress = Callable[[str, int, int | None], None]


@dataclass(slots=True)
class NoteImport:
    """The result of importing the files of the folder `folder` (an ID).

    `notes` counts its notes now, `links` their links, `unresolved` those without a target. `conflicts` are
    notes that were changed both in Atlas and on disk.
    """

    folder: str = ""
    notes: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    missing: int = 0
    files: int = 0
    links: int = 0
    unresolved: int = 0
    conflicts: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


@dataclass(slots=True)
class NoteExport:
    """The result of an export. `conflicts` are the second files next to files that have changed on disk."""

    written: int = 0
    unchanged: int = 0
    conflicts: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


class NoteFolders:
    """The folders from which notes of one room are imported, and to which they are exported."""

    def __init__(
        self, store: Store, clock: Clock, notes: NoteService, queue: Callable[[], Awaitable[None]]
    ) -> None:
        self._store = store
        self._clock = clock
        self._notes = notes
        self._queue = queue

    # --- in ---------------------------------------------------------------------------------------

    async def take(
        self, path: str | Path, *, project: str | None = None, progress: Progress | None = None
    ) -> NoteImport:
        """Imports the Markdown files below a folder as notes, and keeps its other files with them.

        A second import takes the changes since then. A note that was also changed in Atlas stays as it is;
        the file becomes a second note. Raises `DocumentRefused` if it is not a folder.
        """
        location = absolute(path)
        if not is_folder(location):
            raise DocumentRefused(str(path), Refusal.NOT_A_FOLDER)
        report = NoteImport()
        found = await asyncio.to_thread(scan, location, FolderRules(lambda _name: True, largest=LARGEST_FILE))
        report.skipped += [
            Skipped(str(Path(path) / one.where), scan_reason(one.reason)) for one in found.skipped
        ]
        async with self._notes.writing:
            folder = await self._known(str(path), str(location))
            report.folder = folder.id
            await self._take_notes(folder, found.files, report, project, progress)
            await self._take_files(folder, found.files, report)
        await self._count(folder, report)
        await self._queue()
        return report

    async def _known(self, path: str, location: str) -> NoteFolder:
        for one in await self._store.notes.folders():
            if one.location == location:
                return one
        return await self._store.notes.add_folder(path, location)

    @staticmethod
    def location(path: str | Path) -> Path:
        """Returns the absolute path of a folder."""
        return absolute(path)

    async def _take_notes(
        self,
        folder: NoteFolder,
        files: Sequence[ScannedFile],
        report: NoteImport,
        project: str | None,
        progress: Progress | None,
    ) -> None:
        imported = await self._store.notes.imported(folder.id)
        known = {one.disk_path: one for one in imported if one.disk_path}
        notes = [one for one in files if is_note(one.relative)]
        report.missing = len(set(known).difference(one.relative for one in notes))
        batch: list[NewNote] = []
        notes = await self._without_excluded(folder, notes, report)
        moved = _Moved(known, {one.relative for one in notes})
        for number, one in enumerate(notes, start=1):
            try:
                new = await asyncio.to_thread(
                    _read, Path(folder.location), one, known.get(one.relative), folder, project, moved
                )
            except DocumentRefused as refused:
                why = refusal_text(refused.name, DocumentError(refused.reason.value, refused.limit)).message
                report.skipped.append(Skipped(str(Path(folder.path) / one.relative), why))
                continue
            if new is None:
                report.unchanged += 1
            elif (there := known.get(one.relative)) is not None and new.note is None:
                report.conflicts.append(one.relative)
                await self._keep_both(folder, there, new)
            else:
                report.added += new.note is None
                report.updated += new.note is not None
                batch.append(new)
            if len(batch) >= _BATCH:
                await self._store.notes.put(batch)
                batch = []
            if progress is not None:
                progress(one.relative, number, len(notes))
        if batch:
            await self._store.notes.put(batch)

    async def _without_excluded(
        self, folder: NoteFolder, files: Sequence[ScannedFile], report: NoteImport
    ) -> list[ScannedFile]:
        """Returns the files whose notes were neither permanently deleted nor made private in Atlas."""
        excluded = await self._store.documents.excluded([one.facts.path for one in files])
        report.skipped += [
            Skipped(str(Path(folder.path) / one.relative), _("its note was deleted or moved to another room"))
            for one in files
            if one.facts.path in excluded
        ]
        return [one for one in files if one.facts.path not in excluded]

    async def _keep_both(self, folder: NoteFolder, there: ImportedNote, new: NewNote) -> None:
        """Keeps both the file's current text and the note's text, one of them as a separate note.

        In a synchronised folder the file keeps its place, and the note's text gets a file next to it.
        """
        title = f"{new.title} ({stamp(self._clock)})"
        if folder.in_step:
            (note,) = await self._store.notes.get_many([there.note])
            base, ending = posixpath.splitext(there.external_id)
            beside = f"{base} ({stamp(self._clock)}){ending}"
            copy = read_note(
                title, note.text, project=note.project, folder=folder.id, external_id=beside, edited=True
            )
            await self._store.notes.put([copy, replace(new, note=note.id)])
            return
        await self._store.notes.put([read_note(title, new.parsed.text, project=new.project)])
        data = new.parsed.text.encode() if new.content is None else new.content
        await self._store.notes.on_disk(there.note, there.disk_path, sha256_of(data), edited=True)

    async def _take_files(self, folder: NoteFolder, files: Sequence[ScannedFile], report: NoteImport) -> None:
        digests = await self._store.notes.file_digests(folder.id)
        for one in files:
            if is_note(one.relative):
                continue
            try:
                content = await asyncio.to_thread(read_one, Path(folder.location), one, LARGEST_FILE)
            except DocumentRefused as refused:
                why = refusal_text(refused.name, DocumentError(refused.reason.value, refused.limit)).message
                report.skipped.append(Skipped(str(Path(folder.path) / one.relative), why))
                continue
            report.files += 1
            if digests.get(one.relative) != content.sha256:
                await self._store.notes.put_files(folder.id, [NoteFile(one.relative, content.data)])

    async def _count(self, folder: NoteFolder, report: NoteImport) -> None:
        ids = [one.note for one in await self._store.notes.imported(folder.id) if not one.deleted]
        report.notes = len(ids)
        report.links, report.unresolved = await self._store.notes.link_counts(ids)

    # --- out --------------------------------------------------------------------------------------

    async def write(self, path: str | Path, *, progress: Progress | None = None) -> NoteExport:
        """Writes all notes as Markdown files below a folder, with the other files that came with them.

        Imported notes keep their place and, unless they were edited, their bytes. A file in that place that
        is neither what Atlas read nor what it would write stays; the note is written next to it.
        """
        root = absolute(path)
        report = NoteExport()
        taken: set[str] = set()
        digests = {
            one.note: one.sha256
            for folder in await self._store.notes.folders()
            for one in await self._store.notes.imported(folder.id)
        }
        entries = await self._store.notes.list()
        for number, entry in enumerate(entries, start=1):
            (note,) = await self._store.notes.get_many([entry.id])
            relative = _free(note.external_id or file_name(note.title), taken)
            data = await self._bytes_of(note)
            await self._write(root, relative, data, digests.get(note.id, ""), report)
            if progress is not None:
                progress(relative, number, len(entries))
        for folder in await self._store.notes.folders():
            for one in await self._store.notes.files(folder.id):
                await self._write(root, _free(one.path, taken), one.content, one.sha256, report)
        return report

    async def _bytes_of(self, note: Note) -> bytes:
        content = None if note.edited else await self._store.notes.content(note.id)
        return note.text.encode() if content is None else content

    async def _write(self, root: Path, relative: str, data: bytes, known: str, report: NoteExport) -> None:
        try:
            written = await asyncio.to_thread(put_file, root, relative, data, known, stamp(self._clock))
        except OSError as error:
            report.skipped.append(Skipped(relative, error.strerror or type(error).__name__))
            return
        if written is None:
            report.unchanged += 1
            return
        report.written += 1
        if written != relative:
            report.conflicts.append(written)


def stamp(clock: Clock) -> str:
    """Returns the time as a part of a file's name."""
    return f"{clock.now():%Y-%m-%d %H.%M.%S}"


def sha256_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class _Moved:
    """Finds the note of a renamed file: the note's own file is gone and had the same content."""

    def __init__(self, known: Mapping[str, ImportedNote], there: Collection[str]) -> None:
        self._by_content = {
            one.sha256: one for path, one in known.items() if path not in there and one.sha256
        }

    def taken(self, sha256: str) -> ImportedNote | None:
        return self._by_content.pop(sha256, None)


def is_note(path: str) -> bool:
    """Whether a file is a note, by its name."""
    return path.lower().endswith(NOTE_ENDINGS)


def read_one(root: Path, one: ScannedFile, limit: int) -> FileContent:
    return read_file(Path(one.facts.path), root, limit)


def _read(
    root: Path,
    one: ScannedFile,
    known: ImportedNote | None,
    folder: NoteFolder,
    project: str | None,
    moved: _Moved,
) -> NewNote | None:
    """Returns the note of a file; None if it has not changed, or if its note was deleted or renamed in Atlas.

    If the note was also changed in Atlas, the result is a new note. Raises `DocumentRefused`.
    """
    content = read_one(root, one, LONGEST_NOTE)
    if known is None and (before := moved.taken(content.sha256)) is not None:
        if before.edited or before.deleted:
            return None
        known = replace(before, sha256="")
    if known is not None and (known.deleted or known.sha256 == content.sha256):
        return None
    try:
        text = decoded(content.data)
    except Unreadable as error:
        raise DocumentRefused(one.relative, error.reason, error.limit) from None
    written = datetime.fromtimestamp(content.facts.modified_ns / 1e9, UTC)
    replaced = None if known is None or known.edited else known.note
    same = cleaned(text).encode() == content.data
    return read_note(
        title_of(one.relative),
        text,
        note=replaced,
        project=project,
        folder=folder.id,
        external_id=one.relative,
        content=None if same else content.data,
        edited=False,
        created_at=written,
        updated_at=written,
    )


def _free(relative: str, taken: set[str]) -> str:
    """Returns the path, with a number if another file of this export has it."""
    base, ending = posixpath.splitext(relative)
    number, wanted = 1, relative
    while wanted.casefold() in taken:
        number += 1
        wanted = f"{base} {number}{ending}"
    taken.add(wanted.casefold())
    return wanted


def put_file(root: Path, relative: str, data: bytes, known: str, stamp: str) -> str | None:
    """Writes a file below a folder, whole or not at all; returns its path, or None if it already exists.

    A file there with other content is replaced only if its SHA-256 is `known`; otherwise the data is written
    next to it, with the time in its name. Follows no links below the folder. Raises `OSError`.
    """
    target = root.joinpath(*Path(relative).parts)
    if ".." in Path(relative).parts or Path(relative).is_absolute():
        raise PermissionError(1, "outside the folder")
    folder = root
    for part in Path(relative).parts[:-1]:
        folder.mkdir(parents=True, exist_ok=True)
        folder /= part
        if folder.is_symlink():
            raise NotADirectoryError(20, "a link is in the way")
    folder.mkdir(parents=True, exist_ok=True)
    if target.is_symlink():
        raise FileExistsError(17, "a link is in the way")
    if target.exists():
        there = sha256_of(target.read_bytes())
        if there == sha256_of(data):
            return None
        if there != known:
            base, ending = posixpath.splitext(relative)
            relative = f"{base} ({stamp}){ending}"
            target = root.joinpath(*Path(relative).parts)
    temporary = target.with_name(f".{target.name[:100]}.atlas-new")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(target)
    return relative


def remove_file(root: Path, relative: str, known: str) -> bool:
    """Removes a file below a folder if its SHA-256 is `known`; returns whether it did. Raises `OSError`."""
    target = root.joinpath(*Path(relative).parts)
    if target.is_symlink() or not target.is_file() or sha256_of(target.read_bytes()) != known:
        return False
    target.unlink()
    return True


_SETTLED_S = 2.0
_FEW = 10
"""If at least this many files are missing, and more than half of all, their notes stay as they are."""


@dataclass(slots=True)
class MirrorReport:
    """The result of synchronising a folder. `taken` is what was read from it; `written` and `removed` count
    its files.

    `held_back` notes have lost their files, but so many that the folder may be incomplete; they stay.
    """

    taken: NoteImport = field(default_factory=NoteImport)
    written: int = 0
    removed: int = 0
    binned: int = 0
    held_back: int = 0
    problems: list[str] = field(default_factory=list)


class NoteMirror:
    """The folders of one room that are synchronised with their notes."""

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
        """Returns the synchronised folders."""
        return [one for one in await self._store.notes.folders() if one.in_step]

    async def begin(
        self, path: str | Path, *, project: str | None = None, progress: Progress | None = None
    ) -> MirrorReport:
        """Imports a folder and synchronises it from now on. Raises `DocumentRefused` if it is not a
        folder."""
        taken = await self._folders.take(path, project=project, progress=progress)
        folder = await self._folder(taken.folder)
        await self._store.notes.keep_in_step(folder.id, wanted=True)
        report = await self.step(folder)
        report.taken = taken
        await self._follower.restart()
        return report

    async def end(self, path: str | Path) -> NoteFolder:
        """Stops synchronising a folder; notes and files stay. Raises `FolderNotFound`."""
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
            # While the user types, changes arrive one after the other.
            await asyncio.sleep(_SETTLED_S)
            self._changed.clear()
            await self.step_all()

    async def _touched(self, folder: NoteFolder, _touched: frozenset[str]) -> None:
        await self.step(folder)

    async def step_all(self) -> list[MirrorReport]:
        """Synchronises all folders and notes now."""
        return [await self.step(one) for one in await self.folders()]

    async def step(self, folder: NoteFolder) -> MirrorReport:
        """Synchronises a folder and its notes: reads what changed on disk and writes what changed in Atlas.

        A missing folder changes nothing.
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
        """Moves notes to the bin whose files were removed; those changed in Atlas are written again."""
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
