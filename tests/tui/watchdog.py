"""Tells for how long single pieces of work keep the event loop from answering a key."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

LIMIT_S = 0.05
"""What no piece of work may take: a key waits for the whole of it."""
MARGIN = 1.25
_NAMED_S = 0.01
_YARDSTICK_S = 0.0011
"""What `yardstick` takes on a processor that does nothing else, of the kind that the limit is meant for."""
_TICKS = 20


def yardstick() -> float:
    """Seconds of the processor's time for a known piece of work: a processor that others use at the same time
    computes more slowly in its own time, too."""
    began = time.thread_time()
    held: dict[int, tuple[int, str]] = {}
    for number in range(6_000):
        held[number % 97] = number, str(number)
    sorted(held.items())
    return time.thread_time() - began


@dataclass
class Watchdog:
    """Seconds: how `late` the loop was each time that it was looked at, and what each piece of `work` in
    between took of the processor. That, unlike the wall clock, goes on only while this thread computes."""

    late: list[float] = field(default_factory=list)
    work: list[float] = field(default_factory=list)
    heavy: list[tuple[float, str]] = field(default_factory=list)
    """Pieces of work that took long, with what they were."""
    paces: list[float] = field(default_factory=list)
    """What the yardstick took in between."""

    @property
    def longest(self) -> float:
        return max(self.work, default=0.0)

    @property
    def slowness(self) -> float:
        """How much more time everything took than on a processor that does nothing else (1: no more)."""
        return max(1.0, statistics.median(self.paces) / _YARDSTICK_S) if self.paces else 1.0

    def too_long(self, limit: float = LIMIT_S) -> dict[str, float]:
        """The longest milliseconds of each kind of work above the limit, in the time of an idle processor."""
        found: dict[str, float] = {}
        for took, what in self.heavy:
            if (ms := 1000 * took / self.slowness) > 1000 * MARGIN * limit:
                found[what] = max(ms, found.get(what, 0.0))
        return found

    def note(self, run: Callable[[asyncio.Handle], None]) -> Callable[[asyncio.Handle], None]:
        """`asyncio.Handle._run` that takes the time."""

        def noting(handle: asyncio.Handle) -> None:
            what = _what(handle)
            began = time.thread_time()
            run(handle)
            took = time.thread_time() - began
            self.work.append(took)
            if took > _NAMED_S:
                self.heavy.append((took, what()))

        return noting

    async def run(self, *, paced: bool) -> None:
        while True:
            for _ in range(_TICKS):
                began = time.perf_counter()
                await asyncio.sleep(0.002)
                self.late.append(time.perf_counter() - began - 0.002)
            if paced:
                self.paces.append(yardstick())


def each_time(tries: list[dict[str, float]]) -> dict[str, float]:
    """The kinds of work that are in each of the `tries`, with the fewest milliseconds that they took."""
    return {what: min(one[what] for one in tries) for what in set.intersection(*map(set, tries))}


def _what(handle: asyncio.Handle) -> Callable[[], str]:
    """Names a piece of work; a cancelled or finished handle forgets what it was, so it is asked before."""
    callback = cast("Any", handle)._callback
    owner = getattr(callback, "__self__", None)

    def name() -> str:
        if isinstance(owner, asyncio.Task):
            return f"{owner.get_name()} {getattr(owner.get_coro(), '__qualname__', '')}".strip()
        return str(getattr(callback, "__qualname__", callback))

    return name


@asynccontextmanager
async def watched(*, paced: bool = False) -> AsyncIterator[Watchdog]:
    """Watches the running loop; `paced` measures in between how fast the processor is just then."""
    dog = Watchdog()
    task = asyncio.create_task(dog.run(paced=paced))
    run = asyncio.Handle._run
    cast("Any", asyncio.Handle)._run = dog.note(run)
    try:
        yield dog
    finally:
        cast("Any", asyncio.Handle)._run = run
        task.cancel()
