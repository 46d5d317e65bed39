"""When background work may go on: not while a reply is made, and not for more than its share of the time."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

Sleep = Callable[[float], Coroutine[Any, Any, None]]
"""Waits for a number of seconds."""

_brake: ContextVar[Callable[[], Awaitable[None]] | None] = ContextVar("brake", default=None)
_serving: ContextVar[bool] = ContextVar("serving", default=False)


class Power(Protocol):
    def on_battery(self) -> bool:
        """Whether the computer runs on its battery now."""
        ...


class ForegroundGate:
    """Knows whether somebody waits for a reply. One for all who share a model."""

    def __init__(self) -> None:
        self._turns = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._listeners: list[Callable[[], None]] = []

    @property
    def busy(self) -> bool:
        return self._turns > 0

    @asynccontextmanager
    async def foreground(self) -> AsyncIterator[None]:
        """Around a turn: while any is inside, no step of background work begins."""
        before = _serving.get()
        # Not reset by its token: a generator that holds this may be closed in another context.
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
                for listener in self._listeners:
                    listener()

    async def idle(self) -> None:
        """Returns when no turn is under way."""
        while self.busy:
            # Woken waiters run later: the next turn may have begun by then.
            await self._idle.wait()

    async def checkpoint(self) -> None:
        """For a handler to await between its steps: returns when it may go on.

        It waits for the end of a turn, of a pause, and of the rest that a cap on processor time asks for.
        What a turn itself does through the same code, in its own task or in one it started, never waits.
        """
        brake = _brake.get()
        if brake is not None:
            await brake()
        elif not _serving.get():
            await self.idle()

    def listen(self, listener: Callable[[], None]) -> None:
        """Calls `listener` whenever the last turn has ended."""
        self._listeners.append(listener)


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
        """Work goes on from now."""
        self._since = self._monotonic()

    def end(self) -> None:
        """Work has stopped; the rest that is owed for it adds up."""
        if self._since is not None:
            self._owed += (self._monotonic() - self._since) * self._cost
            self._since = None

    async def rest(self) -> None:
        """Returns when nothing is owed any more."""
        owed, self._owed = self._owed, 0.0
        if owed > 0:
            await self._sleep(owed)
