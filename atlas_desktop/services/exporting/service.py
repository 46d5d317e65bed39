"""An export from beginning to end: what goes out is read, redacted, written, and put in place."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from atlas_desktop.services.exporting.document import About, Writer, title_of
from atlas_desktop.services.exporting.errors import NothingToExport
from atlas_desktop.services.exporting.file_names import Names
from atlas_desktop.services.exporting.formats import FORMATS
from atlas_desktop.services.exporting.reading import Chosen, Reading
from atlas_desktop.services.exporting.redaction import Found, Redaction, Redactor
from atlas_desktop.services.exporting.targets import Target
from memory.transfer.entities import TravellingSession

Progress = Callable[[int, int], None]
"""Told how many sessions are done, and of how many."""

_T = TypeVar("_T")
_G = TypeVar("_G")


@dataclass(frozen=True, slots=True)
class Order:
    """How they go out: in which format, each in a file of its own, with memories, without what."""

    format: str
    each: bool = False
    memories: bool = False
    redaction: Redaction | None = None


@dataclass(slots=True)
class Report:
    """What an export came to, or would. `missing` counts characters that the format could not show; `found`
    is what was redacted."""

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
        """How many sessions go out."""
        return self._reading.total

    async def preview(self, order: Order) -> Report:
        """What would go out, and what would be redacted in it. Writes nothing. Raises as `write`."""
        report = Report()
        redactor = await self._redactor(order)
        async for batch in self._reading.batches():
            report.sessions += len(batch)
            report.messages += sum(len(session.messages) for session in batch)
            if redactor is not None:
                await _in_thread(_each, redactor.session, batch)
        if order.memories:
            memories = [memory async for memory in self._reading.memories()]
            report.memories = len(memories)
            if redactor is not None:
                await _in_thread(_each, redactor.memory, memories)
        return _closed(report, redactor)

    async def write(self, order: Order, target: Target) -> Report:
        """Writes everything, or nothing. Raises `NothingToExport`, `TargetExists`, `TargetRefused`,
        `OSError`, `SessionNotFound` when a session has gone, and what the store raises."""
        try:
            redactor = await self._redactor(order)
            return await _Run(self._reading, order, target, redactor, self._now()).write(self._progress)
        finally:
            target.abandon()

    async def _redactor(self, order: Order) -> Redactor | None:
        """A redactor that knows the names in all that goes out: one who is introduced late is named early."""
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
    """One writing of one export."""

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
            self._report.messages += len(session.messages)

    async def _put_memories(self) -> None:
        """Read whole before they are written: they are few beside what was said."""
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
    """As `asyncio.to_thread`, but does not leave before the thread has: it may hold a file open."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *given))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
