"""Keeps background work from delaying replies: it waits for turns, caps CPU use, and yields the GIL."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar, overload

T = TypeVar("T")

AT_A_TIME_S = 0.002
PAUSE_S = 0.001
LATE_S = 0.003
"""A pause this long ended late: another thread was running and had to release the GIL for this one."""
MOST_PAUSES = 10
"""The most pauses in a row that give way to other threads: deferred work must finish eventually."""


class Gently(Sequence[T]):
    """A sequence that a thread iterates over with short pauses, so that other threads can run.

    Only one thread at a time runs Python. A thread that never pauses gives up the GIL only after another has
    waited 5 ms, and that for every database row read and every key pressed. While other threads are busy it
    keeps pausing; when there are none, iteration takes 1.5 times as long as without pauses.
    """

    def __init__(self, items: Sequence[T]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        return self._items[at]

    def __iter__(self) -> Iterator[T]:
        since = time.perf_counter()
        for item in self._items:
            yield item
            if time.perf_counter() - since > AT_A_TIME_S:
                since = _rested()


def _rested() -> float:
    """Lets other threads run; returns the time afterwards."""
    now = time.perf_counter()
    for _ in range(MOST_PAUSES):
        began = now
        time.sleep(PAUSE_S)
        now = time.perf_counter()
        if now - began < LATE_S:
            break
    return now


Sleep = Callable[[float], Coroutine[Any, Any, None]]
"""Waits for a number of seconds."""

_brake: ContextVar[Callable[[], Awaitable[None]] | None] = ContextVar("brake", default=None)
_serving: ContextVar[bool] = ContextVar("serving", default=False)


class Power(Protocol):
    def on_battery(self) -> bool:
        """Whether the computer runs on battery now."""
        ...


class ForegroundGate:
    """Tracks whether a turn is in progress. One instance for all that share a model."""

    def __init__(self) -> None:
        self._turns = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def busy(self) -> bool:
        return self._turns > 0

    @asynccontextmanager
    async def foreground(self) -> AsyncIterator[None]:
        """Wraps a turn: while any is inside, no step of background work begins."""
        before = _serving.get()
        # Not reset by its token: a generator that is inside may be closed in another context.
        _serving.set(True)
        self._turns += 1
        self._idle.clear()
        try:
            yield
        finally:
            _serving.set(before)
            self._turns -= 1
            if not self._turns:
                self._idle.set()

    async def idle(self) -> None:
        """Returns when no turn is in progress."""
        while self.busy:
            # Woken waiters run later: the next turn may have begun by then.
            await self._idle.wait()

    async def checkpoint(self) -> None:
        """Awaited by a handler between its steps; returns when it may continue.

        It waits for the end of a turn, of a pause, and of the rest that a cap on CPU time requires. What a
        turn does through the same code, in its own task or one it started, never waits.
        """
        brake = _brake.get()
        if brake is not None:
            await brake()
        elif not _serving.get():
            await self.idle()


@contextmanager
def braked_by(brake: Callable[[], Awaitable[None]]) -> Iterator[None]:
    """While inside, `ForegroundGate.checkpoint` in this task and its children awaits `brake()`."""
    token = _brake.set(brake)
    try:
        yield
    finally:
        _brake.reset(token)


class Throttle:
    """Rests so that work / (work + rest) is at most `cap`, a share of one clock's time (0 < cap <= 1)."""

    def __init__(
        self, cap: float, *, monotonic: Callable[[], float] = time.monotonic, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._cost = 1 / cap - 1
        self._monotonic = monotonic
        self._sleep = sleep
        self._since: float | None = None
        self._owed = 0.0

    def begin(self) -> None:
        """Marks the start of work."""
        self._since = self._monotonic()

    def end(self) -> None:
        """Marks the end of work and adds the rest that it requires."""
        if self._since is not None:
            self._owed += (self._monotonic() - self._since) * self._cost
            self._since = None

    async def rest(self) -> None:
        """Waits out the rest that is owed."""
        owed, self._owed = self._owed, 0.0
        if owed > 0:
            await self._sleep(owed)
