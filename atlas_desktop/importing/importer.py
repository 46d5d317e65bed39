"""Imports conversations from files of any known format into a room, in batches."""

import asyncio
import codecs
import time
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Protocol, cast

from atlas_desktop.importing import lines
from atlas_desktop.importing.entities import (
    ImportOptions,
    ImportReport,
    Meter,
    NotASession,
    Unreadable,
)
from atlas_desktop.importing.formats import FORMATS, JSONL, MARKDOWN, MEMORIES, Format, endings, kind_of
from atlas_desktop.importing.sources import (
    Note,
    Part,
    Source,
    decoded,
    objects,
    open_source,
)
from atlas_desktop.locale import _
from memory.storage.transfer import TransferStore
from memory.transfer import Refused, TravellingMemory, TravellingSession

_LOOKED_AT = 64 * 1024
_WIDE = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}


def nature_of(source: Source) -> str:
    """Describes a file's problem, in text that follows its name; "" if only its format is unknown.

    Raises `OSError`.
    """
    if not source.parts:
        # Refused files are reported with their own reasons.
        return (
            ""
            if source.refused
            else _("it contains no file ending in {endings}", endings=", ".join(endings()))
        )
    if not source.size:
        return _("it is empty")
    if len(source.parts) > 1:
        return ""
    head = source.parts[0].head(_LOOKED_AT)
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        return _("it contains only spaces")
    if (wide := _WIDE.get(head[:2])) is not None:
        return _("its text is {coding}, but exports are UTF-8: save it as UTF-8", coding=wide)
    return "" if _is_text(head) else _("it is not text")


def _is_text(head: bytes) -> bool:
    """Returns whether the bytes could begin UTF-8 text, which contains no zero byte."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return b"\x00" not in head


HEAD = 256 * 1024
_HEAD_SIZE = 25
_BLANK = b"\xef\xbb\xbf \t\r\n"


def format_of(part: Part) -> Format | None:
    """Returns a file's format, or None if no importer reads it. Raises `Unreadable`, `OSError`."""
    head = part.head(HEAD)
    if head.lstrip(_BLANK)[:1] in (b"[", b"{"):
        return _kind_of_objects(part)
    if (kind := next((one for one in FORMATS.values() if one.has_head(head)), None)) is not None:
        return kind
    if any(map(_is_session, head.split(b"\n"))):
        return JSONL
    from atlas_desktop.importing.markdown import beginning, is_transcript

    return MARKDOWN if is_transcript(beginning(head)) else None


def _kind_of_objects(part: Part) -> Format | None:
    """Returns the first format found among the objects.

    If there is none, a broken object may be the reason: raises `Unreadable` for it.
    """
    broken: list[str] = []
    found = islice(objects(part, lambda _where, why: broken.append(why)), _HEAD_SIZE)
    kind = next((kind for _unused, one in found if (kind := kind_of(one)) is not None), None)
    whys = [why for why in broken if not isinstance(why, NotASession)]
    if kind is None and whys:
        raise Unreadable(whys[0])
    return kind


def _is_session(line: bytes) -> bool:
    if not line.startswith(b"{"):
        return False
    try:
        return kind_of(decoded(line)) in (JSONL, MEMORIES)
    except Unreadable:
        return False


MESSAGES_AT_ONCE = 1000
BYTES_AT_ONCE = 4 * 1024 * 1024
_DOCUMENT_HEAD = 200

Told = Callable[[ImportReport, Meter], None]
"""Called after each step with the result so far and the progress."""


class Reader(Protocol):
    """Reads one format and yields each session with its place.

    Records what cannot be understood. Raises `Unreadable` for a file that cannot be read further, and
    `OSError`.
    """

    def __call__(self, parts: Sequence[Part], note: Note) -> Iterator[tuple[str, TravellingSession]]: ...


def reader_of(kind: Format) -> Reader:
    """Returns the reader of a format; only its module is imported."""
    module = import_module(f"atlas_desktop.importing.{kind.module}")
    return cast("Reader", module.read)


@dataclass(frozen=True, slots=True)
class _Read:
    """A session as returned by a reader."""

    where: str
    session: TravellingSession
    kind: Format


class Importer:
    """Imports files into a room.

    Importing the same files again changes nothing; an interrupted import is completed by the next one. Files
    are read in a thread while earlier data is stored.

    A conversation in a room of `elsewhere` stays there and is not imported again. About `at_once` messages
    are stored in one transaction, during which other writers wait. `between` is awaited before each
    transaction.
    """

    def __init__(
        self,
        store: TransferStore,
        told: Told = lambda _report, _meter: None,
        elsewhere: Sequence[TransferStore] = (),
        *,
        at_once: int = MESSAGES_AT_ONCE,
        between: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._store = store
        self._at_once = at_once
        self._between = between
        self._told = told
        self._elsewhere = elsewhere

    async def take(self, paths: Sequence[Path], options: ImportOptions | None = None) -> ImportReport:
        """Imports everything that can be understood; the report names the rest.

        Raises `OSError`, and what the store raises; what was stored until then is kept.
        """
        chosen = options or ImportOptions()
        begun = time.monotonic()
        report, meter = ImportReport(), Meter()
        source = _Reading(paths, chosen, report, meter)
        batches = source.batches(self._at_once)
        seen: set[int] | None = set() if chosen.dry_run else None
        reading = asyncio.ensure_future(asyncio.to_thread(next, batches, None))
        try:
            # When this is cancelled, the thread continues; it is waited for below.
            while read := await asyncio.shield(reading):
                batch, so_far = read
                reading = asyncio.ensure_future(asyncio.to_thread(next, batches, None))
                if self._between is not None:
                    await self._between()
                await self._store_batch(batch, chosen, report, seen)
                # Reading is at least one batch ahead, so its progress is not the stored amount.
                meter.stored = so_far
                meter.seconds = time.monotonic() - begun
                self._told(report, meter)
            await self._store_memories(source.memories, chosen, report)
            meter.stored = meter.total
            self._told(report, meter)
        finally:
            # A reading thread cannot be interrupted, and its files cannot be closed before it ends.
            await asyncio.wait({reading})
            await asyncio.to_thread(batches.close)
        return report

    async def _store_batch(
        self,
        batch: list[_Read],
        options: ImportOptions,
        report: ImportReport,
        seen: set[int] | None,
    ) -> None:
        batch = await self._not_told_otherwise(await self._not_elsewhere(batch, report), report)
        sessions = [one.session for one in batch]
        arrivals = await self._store.take_many(sessions, dry_run=options.dry_run, learn=options.learn)
        for one, arrival in zip(batch, arrivals, strict=True):
            session = one.session
            if isinstance(arrival, Refused):
                report.skip(one.where, _("a parent or the head is not one of its messages"))
                continue
            new, messages = arrival.new_session, arrival.messages
            if seen is not None and new:
                # A dry run stores nothing, so duplicates would count twice.
                new = _first_time(session.id, seen)
                messages = sum(_first_time((session.id, said.id), seen) for said in session.messages)
            report.sessions += new
            report.known_sessions += not new
            report.messages += messages
            report.already_there += len(session.messages) - messages
            if session.messages:
                report.seen(
                    min(said.created_at for said in session.messages),
                    max(said.created_at for said in session.messages),
                )

    async def _store_memories(
        self, given: Sequence[TravellingMemory], options: ImportOptions, report: ImportReport
    ) -> None:
        if options.project is not None:
            given = [replace(one, project=options.project or None) for one in given]
        for at in range(0, len(given), MESSAGES_AT_ONCE):
            if self._between is not None:
                await self._between()
            new = await self._store.take_memories(given[at : at + MESSAGES_AT_ONCE], dry_run=options.dry_run)
            report.memories += sum(new)
            report.known_memories += len(new) - sum(new)

    async def _not_elsewhere(self, batch: list[_Read], report: ImportReport) -> list[_Read]:
        for store in self._elsewhere:
            weighed = await store.take_many([one.session for one in batch], dry_run=True)
            here: list[_Read] = []
            for one, arrival in zip(batch, weighed, strict=True):
                if isinstance(arrival, Refused) or arrival.new_session:
                    here.append(one)
                else:
                    report.elsewhere += 1
                    report.skip(one.where, _("it is already in another room"))
            batch = here
        return batch

    async def _not_told_otherwise(self, batch: list[_Read], report: ImportReport) -> list[_Read]:
        """Drops transcripts of conversations that are already stored under other ids.

        A transcript identifies its messages by their text alone, so all of them would be imported a second
        time.
        """
        told = [one for one in batch if one.kind is MARKDOWN]
        if not told:
            return batch
        weighed = await self._store.take_many([one.session for one in told], dry_run=True)
        known = set()
        for one, arrival in zip(told, weighed, strict=True):
            if not isinstance(arrival, Refused) and not arrival.new_session and not arrival.already:
                known.add(one.where)
                report.elsewhere += 1
                report.skip(one.where, _("the conversation already exists from another source"))
        return [one for one in batch if one.where not in known]


def _first_time(name: object, seen: set[int]) -> bool:
    known = len(seen)
    seen.add(hash(name))
    return len(seen) > known


class _Reading:
    """Reads files in one thread and collects their contents."""

    def __init__(
        self, paths: Sequence[Path], options: ImportOptions, report: ImportReport, meter: Meter
    ) -> None:
        self._paths = paths
        self._options = options
        self._report = report
        self._meter = meter
        self._broken: set[str] = set()
        self.memories: list[TravellingMemory] = []
        """Stored at the end, after the messages that they are based on."""

    def batches(self, at_once: int) -> Generator[tuple[list[_Read], int], None, None]:
        """Yields batches of sessions, each with the number of bytes read so far."""
        batch: list[_Read] = []
        messages = size = 0
        for one in self._sessions():
            batch.append(replace(one, session=self._as_wished(one.session)))
            messages += len(one.session.messages)
            size += sum(len(said.content) for said in one.session.messages)
            if messages >= at_once or size >= BYTES_AT_ONCE:
                yield batch, self._meter.done - self._meter.ahead
                batch, messages, size = [], 0, 0
        if batch:
            yield batch, self._meter.done

    def _as_wished(self, session: TravellingSession) -> TravellingSession:
        options = self._options
        if options.project is not None:
            session = replace(session, project=options.project or None)
        if options.memory_mode is not None:
            session = replace(session, memory_mode=options.memory_mode)
        return session

    def _sessions(self) -> Iterator[_Read]:
        sources = list(self._sources())
        try:
            self._meter.total = sum(source.size for source in sources)
            for source in sources:
                yield from self._of_source(source)
        finally:
            for source in sources:
                source.close()

    def _sources(self) -> Iterator[Source]:
        for path in self._paths:
            try:
                yield open_source(path, self._meter, endings())
            except Unreadable as fault:
                self._report.skip(path.name, fault.why)
                self._report.unknown[path.name] = ""

    def _of_source(self, source: Source) -> Iterator[_Read]:
        for where, why in source.refused:
            self._report.skip(where, why)
        kinds = self._kinds(source)
        # Parts of no known format are not read.
        self._meter.total -= source.size - sum(part.size for parts in kinds.values() for part in parts)
        if not kinds:
            broken = any(part.where in self._broken for part in source.parts)
            self._report.unknown[source.name] = "" if broken else nature_of(source)
            return
        read = {part.where for parts in kinds.values() for part in parts}
        for part in source.parts:
            if part.where not in read | self._broken:
                self._report.pass_over(part.where)
        for kind, parts in kinds.items():
            name = source.name if len(kinds) == 1 else f"{source.name} ({kind.name})"
            self._report.formats[name] = kind
            try:
                if kind is MEMORIES:
                    self.memories += lines.read_memories(parts, self._report.skip)
                    continue
                for where, session in reader_of(kind)(parts, self._report.skip):
                    yield _Read(where, session, kind)
                if kind is JSONL:
                    for part in parts:
                        if part.head(1) == b"{" and b'"atlas-export"' in part.head(_DOCUMENT_HEAD):
                            self.memories += lines.memories_of_document(part, self._report.skip)
            except Unreadable as fault:
                self._report.skip(source.name, fault.why)

    def _kinds(self, source: Source) -> dict[Format, list[Part]]:
        """Returns the parts by format, without those of no known format."""
        wanted = self._options.format
        if not source.size:
            return {}
        if wanted is not None and len(source.parts) == 1:
            return {wanted: source.parts}
        kinds = self._looked_into(source)
        if wanted is None:
            return kinds
        # Of several files, those of other formats are left out if any is recognised as the wanted one.
        return {wanted: kinds.get(wanted) or source.parts}

    def _looked_into(self, source: Source) -> dict[Format, list[Part]]:
        kinds: dict[Format, list[Part]] = {}
        for part in source.parts:
            before = self._meter.done
            try:
                kind = format_of(part)
            except Unreadable as fault:
                self._report.skip(part.where, fault.why)
                self._broken.add(part.where)
                continue
            finally:
                self._meter.done, self._meter.ahead = before, 0
            if kind is not None:
                kinds.setdefault(kind, []).append(part)
        return kinds
