"""The documents of one room: adds, watches, writes, finds, summarises and removes them."""

import asyncio
import hashlib
import os
import stat
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from atlas_desktop.error_table import refusal_text
from atlas_desktop.errors import DocumentRefused, Refusal, Skipped
from atlas_desktop.locale import N_, _, formats
from atlas_desktop.parsing.client import DocumentParser
from atlas_desktop.parsing.protocol import PagePicture, PageView, is_current, is_readable
from atlas_desktop.phrases import scan_reason
from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.context import EpochService
from atlas_desktop.services.documents.reading import (
    FileContent,
    Incoming,
    facts_of,
    parsed,
    read_all,
    read_file,
)
from atlas_desktop.services.documents.scanning import (
    FolderRules,
    FolderScan,
    HashedFile,
    KnownDocument,
    Plan,
    ScannedFile,
    compare,
    plan,
    scan,
)
from atlas_desktop.services.documents.search import ChunkEmbedder, DocumentSearchService
from atlas_desktop.services.documents.watching import FileFollower, FolderFollower, settled
from atlas_desktop.services.events import Replied
from memory.context.entities import SummaryState
from memory.documents.entities import (
    Document,
    DocumentError,
    DocumentState,
    DocumentSummary,
    ErasedDocuments,
    FileFacts,
    KnownFile,
    NewDocument,
    OnMissing,
    WatchedFolder,
)
from memory.documents.search import DocumentSummariser
from memory.entities import Message, Session
from memory.errors import DocumentEmpty, DocumentHasFile, DocumentNotFound, NothingToWrite
from memory.jobs.foreground_gate import Power
from memory.jobs.queue import Job, Priority
from memory.learning.learner import heard_in
from memory.learning.reader import read
from memory.memories.entities import MemoryKind
from memory.storage.documents import DocumentStore
from memory.storage.store import Store
from memory.summaries.summarise import Summariser
from models.errors import ModelsError
from models.messages import Role

_SECTIONS = (
    (N_("Decisions"), (MemoryKind.DECISION,)),
    (N_("Facts"), (MemoryKind.FACT, MemoryKind.PREFERENCE, MemoryKind.EVENT)),
    (N_("How-to"), (MemoryKind.PROCEDURE,)),
    (N_("Open questions"), (MemoryKind.QUESTION,)),
)
_NAME = "document.md"


class ConversationDocuments:
    """The documents of one room that were written in Atlas."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def from_session(self, session_id: str, parser: DocumentParser) -> Document:
        """Stores a document with the decisions, facts, code and open questions of a conversation.

        Each item links to the message that it comes from. Raises `SessionNotFound`, `NothingToWrite` if the
        conversation has none of these.
        """
        session = await self._store.get_session(session_id)
        branch = await self._store.branch(session.id)
        summaries = await self._store.context.summaries(session.id)
        text = written(session, branch, [one.text for one in summaries if one.state is SummaryState.CURRENT])
        return await self._stored(text, session.project, None, parser)

    async def edit(self, document_id: str, text: str, parser: DocumentParser) -> Document:
        """Replaces the text of a document. Raises `DocumentNotFound`, `DocumentHasFile`."""
        known = await self._store.documents.get(document_id)
        if known.path:
            raise DocumentHasFile(known.id)
        return await self._stored(text, known.project, known.id, parser)

    async def _stored(
        self, text: str, project: str | None, document_id: str | None, parser: DocumentParser
    ) -> Document:
        data = clean(text).encode()
        facts = FileFacts("", len(data), 0)
        content = FileContent(data, facts, hashlib.sha256(data).hexdigest())
        incoming = Incoming("", Path(_NAME), document=document_id, project=project)
        new = await parsed(incoming, content, parser)
        (stored,) = await self._store.documents.put([new])
        return await self._store.documents.get(stored)


def written(session: Session, branch: Sequence[Message], summaries: Sequence[str]) -> str:
    """Returns the document of a conversation as Markdown. Raises `NothingToWrite`."""
    found: dict[MemoryKind, list[str]] = {}
    code: list[str] = []
    for at, message in enumerate(branch):
        link = f"([{_('message {number}', number=at + 1)}](atlas://message/{message.id}))"
        code += [f"{link}\n\n{block}" for block in _code(message.content)]
        if message.role is Role.USER and message.content:
            before = branch[at - 1] if at else None
            for one in read(heard_in(message, before)):
                if not one.only_ends:
                    found.setdefault(one.kind, []).append(f"- {clean_line(one.text)} {link}")
    parts = [
        f"## {_(title)}\n\n" + "\n".join(lines)
        for title, kinds in _SECTIONS
        if (lines := list(dict.fromkeys(line for kind in kinds for line in found.get(kind, ()))))
    ]
    if code:
        parts.append(f"## {_('Code')}\n\n" + "\n\n".join(code))
    if not parts and not summaries:
        raise NothingToWrite(session.id)
    if summaries:
        parts.insert(0, f"## {_('Summary')}\n\n" + "\n\n".join(summaries))
    day = formats().date(session.created_at)
    origin = _("From the conversation of {day}.", day=day)
    top = f"# {session.title or _('Untitled')}\n\n[{origin}](atlas://session/{session.id})"
    return "\n\n".join([top, *parts]) + "\n"


def _code(text: str) -> Iterator[str]:
    """Yields the code blocks of a message, with their fences."""
    from markdown_it import MarkdownIt

    lines = text.splitlines()
    for token in MarkdownIt("commonmark", {"html": False}).parse(text):
        if token.type == "fence" and token.map is not None and token.content.strip():
            yield "\n".join(lines[token.map[0] : token.map[1]]).rstrip()


KIND = "summarise_documents"
ALL = "all"
MANY = 20
"""If there are more new documents than this, the model summarises only those that the user opens or uses,
because it takes seconds for each; the others get a summary of their own sentences at once."""
SHORT = 2_000
"""Characters. A shorter document is summarised by its own sentences, unless the user asks for more."""


class DocumentSummaries:
    """The summaries of one room's documents. `summariser` is called for each use, because the model can
    change."""

    def __init__(
        self, store: DocumentStore, summariser: Callable[[], Summariser], background: BackgroundService
    ) -> None:
        self._store = store
        self._summariser = summariser
        self._background = background
        background.register(KIND, self._work)
        background.register_hook(self.after_reply)

    async def queue(self) -> None:
        """Queues the summaries that are missing or out of date."""
        await self._background.add(KIND, ALL, priority=Priority.LOW + 1)

    async def after_reply(self, replied: Replied) -> None:
        """Queues a model's summaries of the documents that a conversation is about."""
        if replied.cited is not None:
            for document in await self._store.bound(replied.session.id):
                await self._improve(document)

    async def _improve(self, document: Document) -> None:
        """Queues a model's summary of a document whose summary was made without a model."""
        if document.summary is None or (document.summary.fallback and document.summary.model is None):
            await self._background.add(KIND, document.id, payload={"document": document.id})

    async def summary(self, document_id: str, *, refresh: bool = False) -> DocumentSummary:
        """Returns the summary of a document; makes it if there is none, or with `refresh`.

        Without a working model, it consists of the document's own sentences. Raises `DocumentNotFound`,
        `DocumentEmpty`.
        """
        document = await self._store.get(document_id)
        if document.summary is not None and not refresh:
            return document.summary
        if refresh:
            await self._store.drop_summary_parts(document_id, but=())
        made = await self._made(document_id, self._summariser())
        if made is None:
            raise DocumentEmpty(document_id)
        return made

    async def _made(
        self, document_id: str, writer: Summariser, *, ask: bool = True
    ) -> DocumentSummary | None:
        summariser = DocumentSummariser(self._store, writer, self._background.gate.checkpoint)
        try:
            return await summariser.summarise(document_id, ask=ask)
        except ModelsError:
            return await summariser.summarise(document_id, ask=False)

    async def _work(self, job: Job) -> None:
        # One writer for all summaries: it stops asking a model whose answers keep failing.
        writer = self._summariser()
        if (wanted := job.payload.get("document")) is not None:
            await self._try(wanted, writer, ask=True)
            return
        done: set[str] = set()
        while waiting := [one for one in await self._store.unsummarised() if one[0] not in done]:
            few = len(waiting) <= MANY and not done
            for document_id, characters in waiting:
                done.add(document_id)
                await self._try(document_id, writer, ask=few and characters > SHORT)

    async def _try(self, document_id: str, writer: Summariser, *, ask: bool) -> None:
        try:
            await self._made(document_id, writer, ask=ask)
        except DocumentNotFound:
            # It was removed meanwhile.
            return


def absolute(path: str | Path) -> Path:
    """Returns the absolute path; links in it stay as they are."""
    return Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - `resolve` would follow links


def without_links(path: Path) -> Path:
    """Returns the file itself if the path that the user gave leads through links."""
    return path.resolve()


def is_folder(path: Path) -> bool:
    return path.is_dir()


@asynccontextmanager
async def closing_parser(parser: DocumentParser) -> AsyncIterator[DocumentParser]:
    try:
        yield parser
    finally:
        await parser.close()


_MOST_SKIPPED = 500
BATCH = 64
"""Documents stored in one transaction."""
_BATCH_CHARACTERS = 4_000_000
Progress = Callable[[str, int, int | None], None]


@dataclass(slots=True)
class AddReport:
    """The result for each file. `skipped` names those that were not read, with the reason in words."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    missing: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LibraryStatus:
    """How many documents are in each state, how many chunks there are, and the pending work."""

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
        power: Power | None = None,
    ) -> None:
        """On battery, as `power` reports, changes in watched folders wait."""
        self._store = store
        self._background = background
        self._epochs = epochs
        self._embedding = embedding
        self.search = search
        self._summaries = summaries
        self._parser = parser
        self._written = ConversationDocuments(store)
        self._writing = asyncio.Lock()
        self._follower = FolderFollower(self.folders, self._changed, power)
        self._tried: dict[str, FileFacts | None] = {}
        self._files = FileFollower(self.read_changed_files, power)

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

        With `copy`, the room also keeps a copy of each file. `progress` is called with a file's name, the
        number of files read, and that of all.
        """
        report = AddReport()
        wanted: list[Incoming] = []
        sizes: dict[Path, FileFacts] = {}
        for given in paths:
            location = absolute(given)
            if is_folder(location):
                found = await asyncio.to_thread(scan, location, _rules())
                self._skipped(report, found, str(given))
                for one in found.files:
                    sizes[Path(one.facts.path)] = one.facts
                    wanted.append(
                        Incoming(
                            str(Path(given) / one.relative),
                            Path(one.facts.path),
                            location,
                            project=project,
                            copy=copy,
                        )
                    )
            else:
                wanted.append(Incoming(str(given), without_links(location), project=project, copy=copy))
        async with self._writing:
            known = {one.facts.path: one for one in await self._store.documents.known_files()}
            fresh: list[Incoming] = []
            for given_file in wanted:
                there = known.get(str(given_file.location))
                if there is None:
                    fresh.append(given_file)
                elif sizes.get(given_file.location) == there.facts and _is_read(there):
                    report.unchanged += 1
                    report.documents.append(there.document)
                else:
                    fresh.append(_replacing(given_file, there.document, there.folder))
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
                    report.skipped.append(_why(one.path, read))
                    continue
                if read.error is not None:
                    why = refusal_text(one.location.name, read.error).message
                    report.skipped.append(Skipped(one.path, why))
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
        watched = [one.sha256 for one in batch if one.document is None and one.folder is not None]
        excluded = await self._store.documents.excluded(watched) if watched else frozenset()
        wanted = [one for one in batch if one.sha256 not in excluded or one.document is not None]
        fresh = [one for one in wanted if not await self._moved_here(one, report)]
        report.documents += await self._store.documents.put(fresh)
        for one in fresh:
            if one.document is not None:
                report.updated += 1
            elif one.parsed is not None:
                report.added += 1

    async def _moved_here(self, new: NewDocument, report: AddReport) -> bool:
        """Whether a new file belongs to a document whose own file is gone: then the document has moved."""
        if new.document is not None:
            return False
        for known in await self._store.documents.same_content(new.sha256):
            if await asyncio.to_thread(facts_at, Path(known.facts.path)) is None:
                await self._store.documents.place([(known.document, new.path, new.facts, new.folder)])
                report.unchanged += 1
                report.documents.append(known.document)
                return True
        return False

    def _skipped(self, report: AddReport, found: FolderScan, given: str) -> None:
        report.skipped += [
            Skipped(str(Path(given) / one.where), scan_reason(one.reason)) for one in found.skipped
        ]

    async def _queue(self) -> None:
        await self._embedding.queue()
        await self._summaries.queue()

    async def remember(self) -> None:
        """Queues everything that is missing for the documents: vectors and summaries."""
        await self._queue()

    # --- folders ----------------------------------------------------------------------------------

    async def preview(
        self, path: str | Path, *, include: Sequence[str] = (), exclude: Sequence[str] = ()
    ) -> FolderScan:
        """Returns what watching a folder would take, and what it would skip. Changes nothing."""
        location = absolute(path)
        return await asyncio.to_thread(scan, location, _rules(include, exclude, list_all=True))

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
        """Watches a folder and reads it. Raises `DocumentRefused` if it is not a folder."""
        location = absolute(path)
        if not is_folder(location):
            raise DocumentRefused(str(path), Refusal.NOT_A_FOLDER)
        folder = await self._store.documents.watch(
            str(path), str(location), project=project, include=include, exclude=exclude, on_missing=on_missing
        )
        report = await self.rescan_folder(folder, progress=progress)
        await self._follower.restart()
        return report

    def follow(self, on_fault: Callable[[BaseException], None]) -> None:
        """Follows watched folders and single files while the room is open. `on_fault` gets the error that
        ends it."""
        self._follower.start(on_fault)
        self._files.start(on_fault)

    async def stop_following(self) -> None:
        await self._follower.stop()
        await self._files.stop()

    async def read_changed_files(self) -> AddReport | None:
        """Reads the single files that have changed since they were read or last tried; None if none has.

        A file that cannot be read is not tried again until it changes.
        """

        def look(files: Sequence[KnownFile]) -> dict[str, FileFacts | None]:
            found = {one.facts.path: facts_at(Path(one.facts.path)) for one in files}
            now = time.time_ns()
            return {
                path: facts
                for one in files
                if _has_changed(one, facts := found[path := one.facts.path])
                and (path not in self._tried or self._tried[path] != facts)
                and (facts is None or settled(None, facts, now))
            }

        files = [one for one in await self._store.documents.known_files() if one.folder is None]
        changed = await asyncio.to_thread(look, files)
        if not changed:
            return None
        self._tried.update(changed)
        return await self._rescan_single(None, only=frozenset(changed))

    async def _changed(self, folder: WatchedFolder, touched: frozenset[str]) -> None:
        await self.rescan_folder(folder, touched=touched)

    async def folder(self, ref: str) -> WatchedFolder:
        """Returns a watched folder by its id or path. Raises `FolderNotFound`."""
        location = str(absolute(ref))
        for one in await self._store.documents.folders():
            if one.id == ref or one.location == location:
                return one
        return await self._store.documents.folder(ref)

    async def folders(self) -> list[WatchedFolder]:
        return await self._store.documents.folders()

    async def unwatch(self, folder: WatchedFolder) -> None:
        """Stops watching a folder. Its documents stay."""
        await self._store.documents.unwatch(folder.id)
        await self._follower.restart()

    async def rescan(self, ref: str | None = None, *, progress: Progress | None = None) -> AddReport:
        """Looks for changes in one watched folder, or in all of them and in single files."""
        if ref is not None:
            return await self.rescan_folder(await self.folder(ref), progress=progress)
        total = AddReport()
        for folder in await self.folders():
            _add_up(total, await self.rescan_folder(folder, progress=progress))
        _add_up(total, await self._rescan_single(progress))
        return total

    async def _rescan_single(
        self, progress: Progress | None, *, only: frozenset[str] | None = None
    ) -> AddReport:
        """Checks the files that belong to no watched folder, or `only` those with these absolute paths."""
        report = AddReport()
        async with self._writing:
            changed, missing = [], []
            single = [
                one
                for one in await self._store.documents.known_files()
                if one.folder is None and (only is None or one.facts.path in only)
            ]
            documents = {one.id: one for one in await self._store.documents.list()}
            for one in single:
                facts = await asyncio.to_thread(facts_at, Path(one.facts.path))
                if facts is None:
                    missing += [] if _is_gone(one) else [one.document]
                elif facts == one.facts and _is_read(one):
                    report.unchanged += 1
                else:
                    path = documents[one.document].path
                    changed.append(Incoming(path, Path(one.facts.path), document=one.document))
            if missing:
                await self._store.documents.set_state(missing, DocumentState.MISSING)
            report.missing = len(missing)
            await self._take(changed, report, progress)
        await self._queue()
        return report

    async def rescan_folder(
        self,
        folder: WatchedFolder,
        *,
        touched: frozenset[str] = frozenset(),
        progress: Progress | None = None,
    ) -> AddReport:
        """Updates the documents of a folder from the disk.

        For an unchanged file only its metadata is read; a renamed or moved one keeps its document. `touched`
        are absolute paths of files that are read in any case.
        """
        report = AddReport()
        root = Path(folder.location)
        async with self._writing:
            found = await asyncio.to_thread(scan, root, _rules(folder.include, folder.exclude))
            comparison = compare(await self._known_below(folder), found, touched)
            if comparison.others:
                # Only then can a file belong to a document that was elsewhere before.
                todo = plan(comparison, await self._hashed(comparison.to_read, root, report))
            else:
                todo = Plan(
                    unchanged=comparison.unchanged,
                    refreshed=comparison.returned,
                    added=tuple(HashedFile(one.facts, "") for one in comparison.to_read),
                )
            await self._apply(folder, todo, report, progress)
            self._skipped(report, found, folder.path)
            skipped = [(one.where, one.reason.value) for one in found.skipped[:_MOST_SKIPPED]]
            await self._store.documents.scanned(folder.id, skipped)
        await self._queue()
        return report

    async def _known_below(self, folder: WatchedFolder) -> list[KnownDocument]:
        """Returns the documents of a folder, and those below it that were added one by one."""
        root = Path(folder.location)
        return [
            # A document read by an older parser is read again.
            KnownDocument(one.document, one.facts, one.sha256 if is_current(one.parser) else "", one.state)
            for one in await self._store.documents.known_files()
            if one.folder == folder.id or (one.folder is None and Path(one.facts.path).is_relative_to(root))
        ]

    async def _hashed(
        self, files: Sequence[ScannedFile], root: Path, report: AddReport
    ) -> dict[str, HashedFile]:
        """Reads files only to hash them. Files that cannot be opened are left out and reported."""
        found: dict[str, HashedFile] = {}
        for one in files:
            path = Path(one.facts.path)
            try:
                content = await asyncio.to_thread(read_file, path, root)
            except DocumentRefused as refused:
                report.skipped.append(_why(one.relative, refused))
                continue
            found[one.facts.path] = HashedFile(content.facts, content.sha256)
        return found

    async def _apply(
        self, folder: WatchedFolder, todo: Plan, report: AddReport, progress: Progress | None
    ) -> None:
        def given(facts: FileFacts) -> str:
            below = Path(facts.path).relative_to(folder.location)
            return os.path.join(folder.path, below)  # noqa: PTH118 - the path as it was given

        def incoming(facts: FileFacts, document: str | None) -> Incoming:
            return Incoming(
                given(facts),
                Path(facts.path),
                Path(folder.location),
                document=document,
                project=folder.project,
                folder=folder.id,
            )

        placed = [
            (match.document.id, given(match.file.facts), match.file.facts, folder.id)
            for match in (*todo.refreshed, *todo.moved)
        ]
        report.unchanged += len(todo.unchanged) + len(placed)
        report.documents += [one.id for one in todo.unchanged] + [one[0] for one in placed]
        # From now on, documents that were added one by one belong to the folder.
        alone = {one.document for one in await self._store.documents.known_files() if one.folder is None}
        placed += [
            (one.id, given(one.facts), one.facts, folder.id) for one in todo.unchanged if one.id in alone
        ]
        if placed:
            await self._store.documents.place(placed)
        await self._missing(folder, [one.id for one in todo.missing])
        report.missing += len(todo.missing)
        # Documents that were removed for good, or moved to another room, are not added again automatically.
        excluded = await self._store.documents.excluded([file.facts.path for file in todo.added])
        files = [incoming(match.file.facts, match.document.id) for match in todo.changed]
        files += [incoming(file.facts, None) for file in todo.added if file.facts.path not in excluded]
        await self._take(files, report, progress)

    async def _missing(self, folder: WatchedFolder, ids: Sequence[str]) -> None:
        """Applies the folder's rule to documents whose file is gone."""
        if not ids:
            return
        if folder.on_missing is OnMissing.REMOVE:
            await self.remove(ids)
        else:
            archived = folder.on_missing is OnMissing.ARCHIVE
            state = DocumentState.ARCHIVED if archived else DocumentState.MISSING
            await self._store.documents.set_state(ids, state)

    # --- looking ----------------------------------------------------------------------------------

    async def get(self, ref: str) -> Document:
        """Returns a document by id, unique prefix, or path. Raises `DocumentNotFound`, `AmbiguousId`."""
        try:
            return await self._store.documents.get(str(absolute(ref)))
        except DocumentNotFound:
            return await self._store.documents.get(ref)

    async def count(self) -> int:
        """Returns how many documents have been read."""
        counts = await self._store.documents.counts()
        return counts.get(DocumentState.INDEXED, 0) + counts.get(DocumentState.PARTIAL, 0)

    async def status(self) -> LibraryStatus:
        counts = await self._store.documents.counts()
        waiting = await self._store.documents.waiting()
        return LibraryStatus(counts, *waiting, tuple(await self.folders()))

    async def summary(self, document_id: str, *, refresh: bool = False) -> DocumentSummary:
        """Returns the summary of a document; makes it if there is none, or with `refresh`."""
        return await self._summaries.summary(document_id, refresh=refresh)

    async def from_session(self, session_id: str) -> Document:
        """Makes a document from a conversation. Raises `SessionNotFound`, `NothingToWrite`."""
        async with closing_parser(self._parser()) as parser:
            made = await self._written.from_session(session_id, parser)
        await self._queue()
        return made

    async def edit(self, document_id: str, text: str) -> Document:
        """Replaces the text of a document that was written in Atlas. Raises `DocumentNotFound`,
        `DocumentHasFile`."""
        async with closing_parser(self._parser()) as parser:
            made = await self._written.edit(document_id, text, parser)
        await self._queue()
        return made

    async def draw(self, document_id: str, view: PageView) -> PagePicture:
        """Returns a page of a PDF as a picture, from the copy of its file or the file itself.

        Raises `DocumentRefused`, also if the file is not the one that was read.
        """
        document = await self._store.documents.get(document_id)
        data = await self._store.documents.content(document_id)
        name = clean_line(Path(document.path).name) or "file"
        if data is None:
            location = await self._store.documents.location(document_id)
            if location is None:
                raise DocumentRefused(name, Refusal.MISSING)
            content = await asyncio.to_thread(read_file, Path(location))
            if content.sha256 != document.sha256:
                raise DocumentRefused(name, Refusal.OUTDATED)
            data = content.data
        async with closing_parser(self._parser()) as parser:
            return await parser.draw(data, name, view)

    # --- removing ---------------------------------------------------------------------------------

    async def remove(self, document_ids: Iterable[str], *, for_good: bool = False) -> ErasedDocuments:
        """Removes documents and all that was made from them, also from prompts and saved states of the model.

        The files stay, and so do conversations about the documents. `for_good`: scans of watched folders do
        not add the files again; `add` does.
        """
        async with self._background.stopped():
            return await self.erase(list(document_ids), for_good=for_good)

    async def erase(self, ids: Sequence[str], *, for_good: bool = False) -> ErasedDocuments:
        """Like `remove`, within a background job."""
        # This comes first, so that a crash in between leaves no saved model state with their text.
        await self._epochs.forget(await self._store.documents.told_in(ids))
        erased = await self._store.documents.erase(ids, for_good=for_good)
        await self._epochs.forget(erased.recalled_in)
        return erased

    async def list(
        self, *, project: str | None = None, state: DocumentState | None = None, below: Path | None = None
    ) -> list[Document]:
        """Returns documents by path: of a project, in a state, below a folder. Raises `ProjectNotFound`."""
        found = await self._store.documents.list(project=project, state=state)
        if below is None:
            return found
        return [one for one in found if one.path and absolute(one.path).is_relative_to(below)]


def _is_gone(known: KnownFile) -> bool:
    """Whether the file of a document no longer existed when it was last looked for."""
    return known.state in (DocumentState.MISSING, DocumentState.ARCHIVED)


def _is_read(known: KnownFile) -> bool:
    """Whether a document was read by the current parser, and its file existed."""
    return not _is_gone(known) and is_current(known.parser)


def _has_changed(known: KnownFile, now: FileFacts | None) -> bool:
    """Whether a file is not what was read: it changed, vanished, or came back."""
    return _is_gone(known) != (now is None) or (now is not None and now != known.facts)


def _rules(
    include: Sequence[str] = (), exclude: Sequence[str] = (), *, list_all: bool = False
) -> FolderRules:
    return FolderRules(is_readable, tuple(include), tuple(exclude), list_all=list_all)


def _why(where: str, refused: DocumentRefused) -> Skipped:
    error = DocumentError(refused.reason.value, refused.limit)
    return Skipped(where, refusal_text(refused.name, error).message)


def facts_at(path: Path) -> FileFacts | None:
    """Returns the facts of a regular file; None if there is none."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return facts_of(str(path), found) if stat.S_ISREG(found.st_mode) else None


def _replacing(one: Incoming, document_id: str, folder: str | None) -> Incoming:
    return Incoming(one.path, one.location, one.root, document_id, one.project, folder, one.copy)


def _add_up(total: AddReport, one: AddReport) -> None:
    total.added += one.added
    total.updated += one.updated
    total.unchanged += one.unchanged
    total.missing += one.missing
    total.skipped += one.skipped
    total.documents += one.documents
