"""Tells for how long single pieces of work keep the event loop from answering a key."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

LIMIT_S = 0.05
"""What no piece of work may take: a key waits for the whole of it."""
_NAMED_S = 0.01


@dataclass
class Watchdog:
    """Seconds: how `late` the loop was each time that it was looked at, and what each piece of `work` in
    between took of the processor. That, unlike the wall clock, goes on only while this thread computes."""

    late: list[float] = field(default_factory=list)
    work: list[float] = field(default_factory=list)
    heavy: list[tuple[float, str]] = field(default_factory=list)
    """Pieces of work that took long, with what they were."""

    @property
    def longest(self) -> float:
        return max(self.work, default=0.0)

    def too_long(self, limit: float = LIMIT_S) -> list[str]:
        """The pieces of work above the limit, as `73 ms: Transcript(…)`."""
        return [f"{1000 * took:.0f} ms: {what}" for took, what in self.heavy if took > limit]

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

    async def run(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.002)
            self.late.append(time.perf_counter() - began - 0.002)


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
async def watched() -> AsyncIterator[Watchdog]:
    """Watches the running loop."""
    dog = Watchdog()
    task = asyncio.create_task(dog.run())
    run = asyncio.Handle._run
    cast("Any", asyncio.Handle)._run = dog.note(run)
    try:
        yield dog
    finally:
        cast("Any", asyncio.Handle)._run = run
        task.cancel()
