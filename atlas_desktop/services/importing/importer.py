"""Takes conversations out of files of any known format into a room, many at a time."""

import asyncio
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from atlas_desktop.services.importing.entities import (
    Format,
    ImportOptions,
    ImportReport,
    Meter,
    Unreadable,
)
from atlas_desktop.services.importing.scanning import Note
from atlas_desktop.services.importing.sources import Part, Source, open_source
from memory.transfer.entities import Refused, TravellingSession
from memory.transfer.ports import TransferStore

MESSAGES_AT_ONCE = 1000
BYTES_AT_ONCE = 4 * 1024 * 1024
_MODULES = {
    Format.CHATGPT: "chatgpt",
    Format.CLAUDE: "claude",
    Format.OPEN_WEBUI: "openwebui",
    Format.LM_STUDIO: "lmstudio",
    Format.JAN: "jan",
    Format.LLM: "llm",
    Format.JSONL: "lines",
    Format.MARKDOWN: "markdown",
}

Told = Callable[[ImportReport, Meter], None]
"""Is told, after each step, what the import came to and how far it has come."""


class Reader(Protocol):
    """What reads one format: each session with the place where it stands.

    What cannot be understood is noted. Raises `Unreadable` for a file that cannot be read any further, and
    `OSError`.
    """

    def __call__(self, parts: Sequence[Part], note: Note) -> Iterator[tuple[str, TravellingSession]]: ...


def reader_of(kind: Format) -> Reader:
    """Only what is asked for is imported."""
    module = import_module(f"atlas_desktop.services.importing.{_MODULES[kind]}")
    return cast("Reader", module.read)


class Importer:
    """Reads files into a room. A second import of the same files changes nothing; one that was cut short is
    completed by the next. Files are read in a thread while what was read before is stored.

    A conversation that is in a room of `elsewhere` stays there and is not taken in a second time. `at_once`
    messages, more or less, are stored in one transaction: whoever else writes waits for so many.
    """

    def __init__(
        self,
        store: TransferStore,
        told: Told = lambda _report, _meter: None,
        elsewhere: Sequence[TransferStore] = (),
        *,
        at_once: int = MESSAGES_AT_ONCE,
    ) -> None:
        self._store = store
        self._at_once = at_once
        self._told = told
        self._elsewhere = elsewhere

    async def take(self, paths: Sequence[Path], options: ImportOptions | None = None) -> ImportReport:
        """Takes in all that can be understood; the report names the rest. Raises `OSError`, and what the
        store raises; what was taken in by then stays."""
        chosen = options or ImportOptions()
        begun = time.monotonic()
        report, meter = ImportReport(), Meter()
        batches = _Reading(paths, chosen, report, meter).batches(self._at_once)
        seen: set[int] | None = set() if chosen.dry_run else None
        reading = asyncio.ensure_future(asyncio.to_thread(next, batches, None))
        try:
            while batch := await reading:
                reading = asyncio.ensure_future(asyncio.to_thread(next, batches, None))
                await self._store_batch(batch, chosen, report, seen)
                meter.seconds = time.monotonic() - begun
                self._told(report, meter)
        finally:
            # A thread that reads cannot be interrupted, and what it reads from cannot be closed before.
            await asyncio.wait({reading})
            await asyncio.to_thread(batches.close)
        return report

    async def _store_batch(
        self,
        batch: list[tuple[str, TravellingSession]],
        options: ImportOptions,
        report: ImportReport,
        seen: set[int] | None,
    ) -> None:
        batch = await self._not_elsewhere(batch, report)
        sessions = [session for _, session in batch]
        arrivals = await self._store.take_many(sessions, dry_run=options.dry_run, learn=options.learn)
        for (where, session), arrival in zip(batch, arrivals, strict=True):
            if isinstance(arrival, Refused):
                report.skip(where, "a parent or the head is none of its messages")
                continue
            new, messages = arrival.new_session, arrival.messages
            if seen is not None and new:
                # A trial stores nothing: what comes twice would count twice.
                new = _first_time(session.id, seen)
                messages = sum(_first_time((session.id, one.id), seen) for one in session.messages)
            report.sessions += new
            report.known_sessions += not new
            report.messages += messages
            report.already_there += len(session.messages) - messages
            if session.messages:
                report.seen(
                    min(one.created_at for one in session.messages),
                    max(one.created_at for one in session.messages),
                )

    async def _not_elsewhere(
        self, batch: list[tuple[str, TravellingSession]], report: ImportReport
    ) -> list[tuple[str, TravellingSession]]:
        for store in self._elsewhere:
            weighed = await store.take_many([session for _, session in batch], dry_run=True)
            here: list[tuple[str, TravellingSession]] = []
            for one, arrival in zip(batch, weighed, strict=True):
                if isinstance(arrival, Refused) or arrival.new_session:
                    here.append(one)
                else:
                    report.skip(one[0], "it is in another room already")
            batch = here
        return batch


def _first_time(name: object, seen: set[int]) -> bool:
    known = len(seen)
    seen.add(hash(name))
    return len(seen) > known


class _Reading:
    """Goes through files, in one thread, and gathers what they hold."""

    def __init__(
        self, paths: Sequence[Path], options: ImportOptions, report: ImportReport, meter: Meter
    ) -> None:
        self._paths = paths
        self._options = options
        self._report = report
        self._meter = meter

    def batches(self, at_once: int) -> Generator[list[tuple[str, TravellingSession]], None, None]:
        batch: list[tuple[str, TravellingSession]] = []
        messages = size = 0
        for where, session in self._sessions():
            batch.append((where, self._as_wished(session)))
            messages += len(session.messages)
            size += sum(len(one.content) for one in session.messages)
            if messages >= at_once or size >= BYTES_AT_ONCE:
                yield batch
                batch, messages, size = [], 0, 0
        if batch:
            yield batch

    def _as_wished(self, session: TravellingSession) -> TravellingSession:
        options = self._options
        if options.project is not None:
            session = replace(session, project=options.project or None)
        if options.memory_mode is not None:
            session = replace(session, memory_mode=options.memory_mode)
        return session

    def _sessions(self) -> Iterator[tuple[str, TravellingSession]]:
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
                yield open_source(path, self._meter)
            except Unreadable as fault:
                self._report.skip(path.name, fault.why)
                self._report.unknown.append(path.name)

    def _of_source(self, source: Source) -> Iterator[tuple[str, TravellingSession]]:
        for where, why in source.refused:
            self._report.skip(where, why)
        kinds = self._kinds(source)
        if not kinds:
            self._report.unknown.append(source.name)
            return
        for kind, parts in kinds.items():
            name = source.name if len(kinds) == 1 else f"{source.name} ({kind})"
            self._report.formats[name] = kind
            try:
                yield from reader_of(kind)(parts, self._report.skip)
            except Unreadable as fault:
                self._report.skip(source.name, fault.why)

    def _kinds(self, source: Source) -> dict[Format, list[Part]]:
        """The parts by their formats; those of none are left out."""
        wanted = self._options.format
        if wanted is not None and len(source.parts) == 1:
            return {wanted: source.parts}
        kinds = self._looked_into(source)
        if wanted is None:
            return kinds
        # Of many files those that have nothing to do with it are left alone, if that can be told.
        return {wanted: kinds.get(wanted) or source.parts}

    def _looked_into(self, source: Source) -> dict[Format, list[Part]]:
        from atlas_desktop.services.importing.detecting import format_of

        kinds: dict[Format, list[Part]] = {}
        for part in source.parts:
            before = self._meter.done
            try:
                kind = format_of(part)
            except Unreadable as fault:
                self._report.skip(part.where, fault.why)
                continue
            finally:
                self._meter.done = before
            if kind is not None:
                kinds.setdefault(kind, []).append(part)
        return kinds
