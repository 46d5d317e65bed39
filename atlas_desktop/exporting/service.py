"""The export process: reads sessions, redacts them, writes them and puts the files in place."""

import asyncio
import contextlib
import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar

from atlas_desktop.errors import BadRecipient, NothingToExport, TargetExists, TargetRefused
from atlas_desktop.exporting.document import (
    ATTACHMENTS,
    CITATIONS,
    UNSUPPORTED,
    About,
    MemoryRecord,
    Writer,
    citation_fields,
    title_of,
)
from atlas_desktop.exporting.formats import FORMATS, Names
from atlas_desktop.exporting.redaction import Found, Redaction, Redactor
from atlas_desktop.locale import _
from atlas_desktop.paths import PRIVATE_DIR, PRIVATE_FILE
from memory.documents.entities import CitedReply
from memory.memories.entities import Memory, MemoryFilter
from memory.storage.store import Store
from memory.transfer import TravellingMessage, TravellingSession


@dataclass(frozen=True, slots=True)
class Seal:
    """How an archive is encrypted: with a passphrase, or to a recipient (`age1…` or an SSH public key)."""

    passphrase: str | None = field(default=None, repr=False)
    recipient: str | None = None

    def check(self) -> None:
        """Checks the recipient. Raises `BadRecipient`."""
        if self.recipient is not None:
            _recipient(self.recipient)

    def close(self, data: bytes) -> bytes:
        """Returns the data as an age file (age-encryption.org/v1). Raises `BadRecipient`."""
        import pyrage  # type: ignore[import-untyped]

        if self.recipient is not None:
            return bytes(pyrage.encrypt(data, [_recipient(self.recipient)]))
        assert self.passphrase, "a passphrase or a recipient"
        return bytes(pyrage.passphrase.encrypt(data, self.passphrase))


def _recipient(text: str) -> object:
    import pyrage

    kind = pyrage.ssh if text.startswith("ssh-") else pyrage.x25519
    try:
        return kind.Recipient.from_str(text.strip())
    except (pyrage.RecipientError, ValueError) as error:
        raise BadRecipient from error


class Target(Protocol):
    """Receives files one after another; `finish` puts them in place. Without it, nothing remains."""

    def add(self, name: str) -> BinaryIO:
        """Starts the next file; the previous one is complete."""
        ...

    def finish(self) -> tuple[Path, ...]:
        """Puts all files in place and returns their paths. Raises `TargetExists`, `TargetRefused`."""
        ...

    def abandon(self) -> None:
        """Removes everything that `finish` has not put in place."""
        ...


class StreamTarget:
    """Standard output, or another stream that the caller closes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def add(self, name: str) -> BinaryIO:  # noqa: ARG002 - a stream has no names
        return self._stream

    def finish(self) -> tuple[Path, ...]:
        self._stream.flush()
        return ()

    def abandon(self) -> None:
        """Does nothing, because the output cannot be taken back."""


class FileTarget:
    """One file at a path; further files are placed next to it, with their own name added."""

    def __init__(self, path: Path, *, force: bool = False) -> None:
        self._path = path
        self._force = force
        self._open: BinaryIO | None = None
        self._parts: list[tuple[Path, Path]] = []
        if not force and os.path.lexists(path):
            raise TargetExists(path)
        if path.is_dir():
            raise TargetRefused(path, _("it is a folder"))

    def add(self, name: str) -> BinaryIO:
        self._complete()
        stem = Path(name).stem
        path = self._path if not self._parts else self._path.with_stem(f"{self._path.stem}-{stem}")
        if not self._force and os.path.lexists(path):
            raise TargetExists(path)
        with _told(path):
            descriptor, part = tempfile.mkstemp(prefix=".atlas-", suffix=".part", dir=path.parent)
        self._parts.append((Path(part), path))
        self._open = os.fdopen(descriptor, "wb")
        return self._open

    def finish(self) -> tuple[Path, ...]:
        self._complete()
        placed = []
        while self._parts:
            part, path = self._parts[0]
            with _told(path):
                _place(part, path, force=self._force)
            placed.append(path)
            self._parts.pop(0)
        return tuple(placed)

    def abandon(self) -> None:
        if self._open is not None:
            # The file is discarded, so an error while closing it does not matter.
            with contextlib.suppress(OSError):
                self._open.close()
        self._open = None
        for part, _unused in self._parts:
            part.unlink(missing_ok=True)
        self._parts.clear()

    def _complete(self) -> None:
        if self._open is not None:
            _sync(self._open)
            self._open = None


class FolderTarget:
    """A folder of files, filled under another name next to its final place.

    An existing folder must be empty; with `force`, its files of the same names are replaced.
    """

    def __init__(self, path: Path, *, force: bool = False) -> None:
        self._path = path
        self._force = force
        self._names: list[str] = []
        self._open: BinaryIO | None = None
        if os.path.lexists(path) and not path.is_dir():
            raise TargetExists(path) if not force else TargetRefused(path, _("it is a file"))
        with _told(path):
            if not force and path.is_dir() and any(path.iterdir()):
                raise TargetExists(path)
            path.parent.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
            self._part = Path(tempfile.mkdtemp(prefix=".atlas-", suffix=".part", dir=path.parent))

    def add(self, name: str) -> BinaryIO:
        self._complete()
        path = self._part / name
        with _told(self._path / name):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        self._names.append(name)
        self._open = os.fdopen(descriptor, "wb")
        return self._open

    def finish(self) -> tuple[Path, ...]:
        self._complete()
        with _told(self._path):
            if self._path.is_dir() and any(self._path.iterdir()):
                for name in self._names:
                    _place(self._part / name, self._path / name, force=self._force)
                self._part.rmdir()
            else:
                if self._path.is_dir():
                    self._path.rmdir()
                self._part.rename(self._path)
        return tuple(self._path / name for name in self._names)

    def abandon(self) -> None:
        if self._open is not None:
            with contextlib.suppress(OSError):
                self._open.close()
        self._open = None
        shutil.rmtree(self._part, ignore_errors=True)

    def _complete(self) -> None:
        if self._open is not None:
            _sync(self._open)
            self._open = None


class SealedTarget:
    """One encrypted file: the bytes of a single document, or a tar archive of several.

    Everything is in memory until it is encrypted: nothing unencrypted touches the disk.
    """

    def __init__(self, inner: Target, seal: Seal) -> None:
        self._inner = inner
        self._seal = seal
        self._files: list[tuple[str, io.BytesIO]] = []
        try:
            seal.check()
        except BadRecipient:
            inner.abandon()
            raise

    def add(self, name: str) -> BinaryIO:
        self._files.append((name, io.BytesIO()))
        return self._files[-1][1]

    def finish(self) -> tuple[Path, ...]:
        data = self._files[0][1].getbuffer() if len(self._files) == 1 else _tar(self._files).getbuffer()
        self._inner.add("archive.age").write(self._seal.close(bytes(data)))
        return self._inner.finish()

    def abandon(self) -> None:
        self._files.clear()
        self._inner.abandon()


def _tar(files: list[tuple[str, io.BytesIO]]) -> io.BytesIO:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files:
            entry = tarfile.TarInfo(name)
            entry.size = content.tell()
            entry.mode = PRIVATE_FILE
            content.seek(0)
            archive.addfile(entry, content)
    return out


def _sync(file: BinaryIO) -> None:
    """Syncs a file to disk and closes it, so that it is complete before it gets its name."""
    with file:
        file.flush()
        os.fsync(file.fileno())


def _place(part: Path, path: Path, *, force: bool) -> None:
    if force:
        part.replace(path)
        return
    try:
        # Unlike a rename, a link never replaces a file that appeared in the meantime.
        os.link(part, path)
    except FileExistsError:
        raise TargetExists(path) from None
    except OSError:
        # Some file systems do not support links.
        if os.path.lexists(path):
            raise TargetExists(path) from None
        part.rename(path)
        return
    part.unlink()


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TargetRefused(path, error.strerror or type(error).__name__) from error


_BATCH = 200
"""Messages per batch: enough to avoid a thread call per session, few enough that nothing waits long."""

_PAGE = 500
"""Memories per read."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Sessions of one room to export, in this order.

    `everything`: all memories of the room are exported too, not only those based on these sessions.
    """

    store: Store
    ids: tuple[str, ...]
    everything: bool = False


class Reading:
    """Reads the chosen sessions and memories, any number of times."""

    def __init__(self, chosen: Sequence[Chosen]) -> None:
        self._chosen = tuple(chosen)

    @property
    def total(self) -> int:
        """Number of sessions."""
        return sum(len(one.ids) for one in self._chosen)

    async def batches(self) -> AsyncIterator[list[TravellingSession]]:
        """Yields sessions in order, in batches of a few hundred messages. Raises `SessionNotFound`."""
        batch: list[TravellingSession] = []
        messages = 0
        for one in self._chosen:
            for session_id in one.ids:
                session = await _with_attachments(one.store, session_id)
                batch.append(_with_citations(session, await one.store.transfer.cited(session_id)))
                messages += len(batch[-1].messages)
                if messages >= _BATCH or len(batch) >= _BATCH:
                    yield batch
                    batch, messages = [], 0
        if batch:
            yield batch

    async def memories(self) -> AsyncIterator[MemoryRecord]:
        """Yields each memory once: those based on the sessions, or all of the room."""
        for one in self._chosen:
            seen: set[str] = set()
            for session in (None,) if one.everything else one.ids:
                wanted = MemoryFilter(states=None, session=session)
                at = 0
                while page := await one.store.memories.select(wanted, limit=_PAGE, offset=at):
                    for memory in page:
                        if memory.id not in seen:
                            seen.add(memory.id)
                            yield await _record(one.store, memory)
                    at += len(page)


async def _with_attachments(store: Store, session_id: str) -> TravellingSession:
    """Returns a session with the text of its attached files among the pass-through fields.

    Readable formats list the names; JSON and its lines contain the text.
    """
    session, files = await asyncio.gather(
        store.transfer.give(session_id), store.attachments.attached(session_id)
    )
    known = json.loads(session.meta) if files else {}
    if not files or not isinstance(named := known.get(ATTACHMENTS, []), list):
        return session
    added = [
        {
            "name": one.name,
            "type": one.media_type,
            "bytes": one.size,
            "added_at": one.added_at.isoformat(),
            "text": one.text,
        }
        for one in files
    ]
    return replace(session, meta=json.dumps({**known, ATTACHMENTS: [*named, *added]}))


def _with_citations(session: TravellingSession, cited: Mapping[str, CitedReply]) -> TravellingSession:
    """Returns a session with the citations of its replies in the pass-through fields of these messages."""
    if not cited:
        return session
    messages = [
        message if (found := cited.get(message.id)) is None else _citing(message, found)
        for message in session.messages
    ]
    return replace(session, messages=tuple(messages))


def _citing(message: TravellingMessage, cited: CitedReply) -> TravellingMessage:
    fields: dict[str, Any] = {CITATIONS: [citation_fields(one) for one in cited.citations]}
    if cited.unsupported:
        fields[UNSUPPORTED] = [list(one) for one in cited.unsupported]
    return replace(message, meta=json.dumps({**json.loads(message.meta), **fields}))


async def _record(store: Store, memory: Memory) -> MemoryRecord:
    return MemoryRecord(
        id=memory.id,
        kind=memory.kind.value,
        state=memory.state.value,
        text=memory.text,
        subject=memory.subject,
        importance=memory.importance,
        confidence=memory.confidence,
        pinned=memory.pinned,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        project=memory.project,
        sources=tuple(source.message_id for source in await store.memories.sources(memory.id)),
        evidence=tuple(await store.transfer.evidence(memory.id)),
    )


Progress = Callable[[int, int], None]
"""Called with the number of finished sessions and the total."""

_T = TypeVar("_T")
_G = TypeVar("_G")


@dataclass(frozen=True, slots=True)
class Order:
    """How to export: format, one file per session (`each`), with memories, with redaction."""

    format: str
    each: bool = False
    memories: bool = False
    redaction: Redaction | None = None


@dataclass(slots=True)
class Report:
    """Result of an export or a preview.

    `missing` counts characters that the format could not show; `found` is what was redacted.
    """

    sessions: int = 0
    messages: int = 0
    memories: int = 0
    files: tuple[Path, ...] = ()
    missing: int = 0
    found: list[Found] = field(default_factory=list, repr=False)
    redacted: dict[str, int] = field(default_factory=dict)


class ExportService:
    """Exports sessions of one or several rooms."""

    def __init__(
        self,
        chosen: Sequence[Chosen],
        *,
        progress: Progress = lambda _done, _total: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._reading = Reading(chosen)
        self._progress = progress
        self._now = now

    @property
    def total(self) -> int:
        """Number of sessions to export."""
        return self._reading.total

    async def preview(self, order: Order) -> Report:
        """Returns what would be exported and redacted, without writing anything. Raises what `write`
        raises."""
        report = Report()
        redactor = await self._redactor(order)
        async for batch in self._reading.batches():
            report.sessions += len(batch)
            report.messages += sum(len(FORMATS[order.format].messages(session)) for session in batch)
            if redactor is not None:
                await _in_thread(_each, redactor.session, batch)
        if order.memories:
            memories = [memory async for memory in self._reading.memories()]
            report.memories = len(memories)
            if redactor is not None:
                await _in_thread(_each, redactor.memory, memories)
        return _closed(report, redactor)

    async def write(self, order: Order, target: Target) -> Report:
        """Writes everything or nothing.

        Raises `NothingToExport`, `TargetExists`, `TargetRefused`, `OSError`, `SessionNotFound` if a session
        was deleted, and what the store raises.
        """
        try:
            redactor = await self._redactor(order)
            return await _Run(self._reading, order, target, redactor, self._now()).write(self._progress)
        finally:
            target.abandon()

    async def _redactor(self, order: Order) -> Redactor | None:
        """Returns a redactor that knows all names in the export.

        A name may be introduced after its first use. Raises `NothingToExport`.
        """
        if not self.total and not order.memories:
            raise NothingToExport
        if order.redaction is None:
            return None
        redactor = Redactor(order.redaction)
        async for batch in self._reading.batches():
            await _in_thread(_each, redactor.learn, batch)
        if order.memories:
            texts = [memory.text async for memory in self._reading.memories()]
            await _in_thread(_each, redactor.learn_text, texts)
        return redactor


class _Run:
    """One run of an export."""

    def __init__(
        self, reading: Reading, order: Order, target: Target, redactor: Redactor | None, at: datetime
    ) -> None:
        self._reading = reading
        self._order = order
        self._format = FORMATS[order.format]
        self._target = target
        self._redactor = redactor
        self._names = Names()
        self._at = at
        self._writer: Writer | None = None
        self._report = Report()

    async def write(self, progress: Progress) -> Report:
        total = self._reading.total
        if total and not self._order.each:
            self._begin(self._names.give(f"atlas {self._at:%Y-%m-%d}", self._format.suffix), total)
        async for batch in self._reading.batches():
            await _in_thread(self._put, batch)
            progress(self._report.sessions, total)
        if self._order.memories:
            await self._put_memories()
        await _in_thread(self._finish)
        return _closed(self._report, self._redactor)

    def _put(self, batch: list[TravellingSession]) -> None:
        for given in batch:
            session = given if self._redactor is None else self._redactor.session(given)
            if self._order.each:
                name = f"{session.created_at:%Y-%m-%d} {title_of(session)}"
                self._begin(self._names.give(name, self._format.suffix), 1)
            assert self._writer is not None
            self._writer.session(session)
            self._report.sessions += 1
            self._report.messages += len(self._format.messages(session))

    async def _put_memories(self) -> None:
        """Reads all memories before writing them: they are few compared with messages."""
        given = [memory async for memory in self._reading.memories()]
        records = given
        if (redactor := self._redactor) is not None:
            records = await _in_thread(lambda: [redactor.memory(one) for one in given])
        self._report.memories = len(records)
        if self._writer is None or self._order.each or self._format.apart:
            self._begin(self._names.give("memories", self._format.suffix), 0)
        assert self._writer is not None
        await _in_thread(self._writer.memories, records)

    def _begin(self, name: str, sessions: int) -> None:
        self._end()
        self._writer = self._format.open(self._target.add(name), About(self._at, sessions))
        self._writer.begin()

    def _end(self) -> None:
        if self._writer is not None:
            self._writer.end()
            self._report.missing += self._writer.missing
        self._writer = None

    def _finish(self) -> None:
        self._end()
        self._report.files = self._target.finish()


def _each(work: Callable[[_G], object], batch: Sequence[_G]) -> None:
    for one in batch:
        work(one)


def _closed(report: Report, redactor: Redactor | None) -> Report:
    if redactor is not None:
        report.found, report.redacted = redactor.found, redactor.counts()
    return report


async def _in_thread(work: Callable[..., _T], *given: object) -> _T:
    """Like `asyncio.to_thread`, but waits for the thread when cancelled, because it may have a file open."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *given))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
