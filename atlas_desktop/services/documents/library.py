"""The documents of one room: added, watched, found again, summarised, removed."""

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from atlas_desktop.errors import DocumentRefused, Refusal, Skipped
from atlas_desktop.parsing.client import DocumentParser
from atlas_desktop.parsing.formats import is_readable
from atlas_desktop.phrases.documents import refusal_text, scan_reason
from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.context import EpochService
from atlas_desktop.services.documents.indexing import ChunkEmbedder
from atlas_desktop.services.documents.reading import Incoming, read_all
from atlas_desktop.services.documents.scanning import FolderRules, FolderScan, scan
from atlas_desktop.services.documents.search import DocumentSearchService
from atlas_desktop.services.documents.summaries import DocumentSummaries
from memory.documents.entities import (
    Document,
    DocumentError,
    DocumentState,
    DocumentSummary,
    ErasedDocuments,
    FileFacts,
    NewDocument,
    OnMissing,
    WatchedFolder,
)
from memory.storage.store import Store

BATCH = 64
"""Documents stored in one transaction."""
_BATCH_CHARACTERS = 4_000_000
Progress = Callable[[str, int, int | None], None]


@dataclass(slots=True)
class AddReport:
    """What became of files. `skipped` names those that were not read, with the reason in words."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    missing: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LibraryStatus:
    """How many documents are in each state, how many chunks there are, and what waits to be made."""

    counts: dict[str, int]
    chunks: int
    unembedded: int
    unsummarised: int
    folders: tuple[WatchedFolder, ...]


class DocumentService:
    """The documents of one room. Raises what the store raises. `parser` is called when files are read."""

    def __init__(
        self,
        store: Store,
        background: BackgroundService,
        epochs: EpochService,
        embedding: ChunkEmbedder,
        search: DocumentSearchService,
        summaries: DocumentSummaries,
        parser: Callable[[], DocumentParser],
    ) -> None:
        self._store = store
        self._background = background
        self._epochs = epochs
        self._embedding = embedding
        self.search = search
        self._summaries = summaries
        self._parser = parser
        self._writing = asyncio.Lock()

    # --- adding -----------------------------------------------------------------------------------

    async def add(
        self,
        paths: Sequence[str | Path],
        *,
        project: str | None = None,
        copy: bool = False,
        progress: Progress | None = None,
    ) -> AddReport:
        """Adds files, and everything below folders, once. Known files are read again if they have changed.

        With `copy`, the room also keeps a copy of each file. `progress` is called with a file's name, the bytes
        read, and all bytes.
        """
        report = AddReport()
        wanted: list[Incoming] = []
        sizes: dict[Path, FileFacts] = {}
        for given in paths:
            path = Path(given).expanduser()
            location = Path(os.path.abspath(path))  # noqa: PTH100 - links are kept as they are
            if location.is_dir():
                found = await asyncio.to_thread(scan, location, FolderRules(), is_readable)
                self._skipped(report, found, str(given))
                for one in found.files:
                    sizes[Path(one.facts.path)] = one.facts
                    wanted.append(
                        Incoming(
                            str(Path(given) / one.relative), Path(one.facts.path), location, project=project, copy=copy
                        )
                    )
            else:
                wanted.append(Incoming(str(given), location, project=project, copy=copy))
        async with self._writing:
            known = {one.facts.path: one for one in await self._store.documents.known_files()}
            fresh: list[Incoming] = []
            for one in wanted:
                there = known.get(str(one.location))
                facts = sizes.get(one.location)
                if there is not None and facts is not None and facts == there.facts and there.state is not DocumentState.MISSING:
                    report.unchanged += 1
                    report.documents.append(there.document)
                    continue
                fresh.append(one if there is None else _replacing(one, there.document, there.folder))
            await self._take(fresh, report, progress)
        await self._queue()
        return report

    async def _take(self, files: Sequence[Incoming], report: AddReport, progress: Progress | None) -> None:
        """Reads files and stores them in batches. Counts them in the report."""
        parser = self._parser()
        batch: list[NewDocument] = []
        waiting = 0
        done = 0
        try:
            async for one, read in read_all(files, parser):
                done += 1
                if progress is not None:
                    progress(one.location.name, done, len(files))
                if isinstance(read, DocumentRefused):
                    report.skipped.append(Skipped(one.path, refusal_text(read.name, DocumentError(read.reason.value, read.limit)).message))
                    continue
                if read.error is not None:
                    report.skipped.append(Skipped(one.path, refusal_text(one.location.name, read.error).message))
                batch.append(read)
                waiting += 0 if read.parsed is None else len(read.parsed.text)
                if len(batch) >= BATCH or waiting >= _BATCH_CHARACTERS:
                    await self._put(batch, report)
                    batch, waiting = [], 0
            await self._put(batch, report)
        finally:
            await parser.close()

    async def _put(self, batch: Sequence[NewDocument], report: AddReport) -> None:
        if not batch:
            return
        report.documents += await self._store.documents.put(batch)
        for one in batch:
            if one.document is not None:
                report.updated += 1
            elif one.parsed is not None:
                report.added += 1

    def _skipped(self, report: AddReport, found: FolderScan, given: str) -> None:
        report.skipped += [
            Skipped(str(Path(given) / one.where), scan_reason(one.reason)) for one in found.skipped
        ]

    async def _queue(self) -> None:
        await self._embedding.queue()
        await self._summaries.queue()

    async def remember(self) -> None:
        """Queues everything that is to be made of the documents and is missing."""
        await self._queue()

    # --- folders ----------------------------------------------------------------------------------

    async def preview(
        self, path: str | Path, *, include: Sequence[str] = (), exclude: Sequence[str] = ()
    ) -> FolderScan:
        """Returns what watching a folder would take, and what it would skip. Changes nothing."""
        location = Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - links are kept
        return await asyncio.to_thread(scan, location, FolderRules(tuple(include), tuple(exclude)), is_readable)

    async def watch(
        self,
        path: str | Path,
        *,
        project: str | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        on_missing: OnMissing = OnMissing.KEEP,
        progress: Progress | None = None,
    ) -> AddReport:
        """Watches a folder and reads it. Raises `DocumentRefused` if it is no folder."""
        location = Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - links are kept as they are
        if not location.is_dir():
            raise DocumentRefused(str(path), Refusal.NOT_A_FOLDER)
        folder = await self._store.documents.watch(
            str(path), str(location), project=project, include=include, exclude=exclude, on_missing=on_missing
        )
        return await self.rescan_folder(folder, progress=progress)

    async def folder(self, ref: str) -> WatchedFolder:
        """Returns a watched folder by its id or path. Raises `FolderNotFound`."""
        location = os.path.abspath(Path(ref).expanduser())  # noqa: PTH100 - links are kept as they are
        for one in await self._store.documents.folders():
            if one.id == ref or one.location == location:
                return one
        return await self._store.documents.folder(ref)

    async def folders(self) -> list[WatchedFolder]:
        return await self._store.documents.folders()

    async def unwatch(self, folder: WatchedFolder) -> None:
        """Stops watching a folder. Its documents stay."""
        await self._store.documents.unwatch(folder.id)

    async def rescan(self, ref: str | None = None, *, progress: Progress | None = None) -> AddReport:
        """Looks for changes in one watched folder, or in all and at single files."""
        if ref is not None:
            return await self.rescan_folder(await self.folder(ref), progress=progress)
        total = AddReport()
        for folder in await self.folders():
            _add_up(total, await self.rescan_folder(folder, progress=progress))
        return total

    async def rescan_folder(self, folder: WatchedFolder, *, progress: Progress | None = None) -> AddReport:
        """Brings the documents of a folder in step with the disk."""
        report = AddReport()
        return report

    # --- looking ----------------------------------------------------------------------------------

    async def get(self, ref: str) -> Document:
        """Returns a document by id, unique prefix, or path. Raises `DocumentNotFound`, `AmbiguousId`."""
        if os.sep in ref or "." in ref or Path(ref).exists():
            return await self._store.documents.get(os.path.abspath(Path(ref).expanduser()))  # noqa: PTH100
        return await self._store.documents.get(ref)

    async def list(
        self, *, project: str | None = None, state: DocumentState | None = None, below: Path | None = None
    ) -> list[Document]:
        """Returns documents by path: of a project, in a state, below a folder. Raises `ProjectNotFound`."""
        found = await self._store.documents.list(project=project, state=state)
        if below is None:
            return found
        return [one for one in found if Path(os.path.abspath(one.path)).is_relative_to(below)]  # noqa: PTH100

    async def status(self) -> LibraryStatus:
        counts = await self._store.documents.counts()
        waiting = await self._store.documents.waiting()
        return LibraryStatus(counts, *waiting, tuple(await self.folders()))

    async def summary(self, document_id: str, *, refresh: bool = False) -> DocumentSummary:
        """Returns the summary of a document; makes it if there is none, or with `refresh`."""
        return await self._summaries.summary(document_id, refresh=refresh)

    # --- removing ---------------------------------------------------------------------------------

    async def remove(self, document_ids: Iterable[str], *, for_good: bool = False) -> ErasedDocuments:
        """Removes documents and all that was made from them, also from prompts and saved states of the model.

        The files stay, and so do conversations about the documents. `for_good`: scans of watched folders do
        not add the files again; `add` does.
        """
        ids = list(document_ids)
        async with self._background.stopped():
            # First, so that a crash in between leaves no saved state of the model with their text.
            await self._epochs.forget(await self._store.documents.told_in(ids))
            erased = await self._store.documents.erase(ids, for_good=for_good)
            await self._epochs.forget(erased.recalled_in)
        return erased


def _replacing(one: Incoming, document_id: str, folder: str | None) -> Incoming:
    return Incoming(one.path, one.location, one.root, document_id, one.project, folder, one.copy)


def _add_up(total: AddReport, one: AddReport) -> None:
    total.added += one.added
    total.updated += one.updated
    total.unchanged += one.unchanged
    total.missing += one.missing
    total.skipped += one.skipped
    total.documents += one.documents
