"""A runner of background jobs, in a time that moves only when it is told to."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from memory.jobs.foreground_gate import ForegroundGate, Throttle
from memory.jobs.queue import Job
from memory.jobs.runner import JobRunner, Stage
from memory.storage.jobs import JobStore
from tests.stores import InMemoryStore

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


class Time:
    """A clock and its sleepers; `passes` moves it."""

    def __init__(self) -> None:
        self._now = START
        self._sleepers: list[tuple[datetime, asyncio.Future[None]]] = []
        self.naps: list[float] = []

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return (self._now - START).total_seconds()

    async def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        waiting = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._now + timedelta(seconds=seconds), waiting))
        await waiting

    async def passes(self, seconds: float) -> None:
        """Moves on to every sleeper's moment in turn, and lets whoever wakes do what there is to do."""
        end = self._now + timedelta(seconds=seconds)
        await quiet()
        while due := [at for at, waiting in self._sleepers if at <= end and not waiting.done()]:
            self._now = max(self._now, min(due))
            await self._ring()
        self._now = end
        await self._ring()

    def jumps(self, by: timedelta) -> None:
        """The machine slept: the clock goes on, the sleepers do not notice."""
        self._now += by
        self._sleepers = [(at + by, waiting) for at, waiting in self._sleepers]

    async def _ring(self) -> None:
        for at, waiting in self._sleepers:
            if at <= self._now and not waiting.done():
                waiting.set_result(None)
        self._sleepers = [(at, waiting) for at, waiting in self._sleepers if not waiting.done()]
        await quiet()


async def quiet() -> None:
    """Returns when every task has done what it can without time going by."""
    for _ in range(30):
        await asyncio.sleep(0)


@dataclass
class FakePower:
    battery: bool = False

    def on_battery(self) -> bool:
        return self.battery


@dataclass
class Bench:
    """A runner and everything around it; the handler `note` keeps the keys of what it did."""

    time: Time = field(default_factory=Time)
    gate: ForegroundGate = field(default_factory=ForegroundGate)
    power: FakePower = field(default_factory=FakePower)
    cap: float = 1.0
    done: list[str] = field(default_factory=list)
    stages: list[tuple[str, Stage]] = field(default_factory=list)
    handlers: dict[str, Callable[[Job], Awaitable[None]]] = field(default_factory=dict)
    task: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.store: JobStore = InMemoryStore(self.time).jobs
        self.handlers["note"] = self.note
        self.runner = self.make_runner()

    def make_runner(self) -> JobRunner:
        runner = JobRunner(
            self.store,
            self.time,
            self.gate,
            self.handlers,
            throttle=Throttle(self.cap, monotonic=self.time.monotonic, sleep=self.time.sleep),
            power=self.power,
            sleep=self.time.sleep,
        )
        runner.listener = lambda job, stage: self.stages.append((job.key, stage))
        return runner

    async def note(self, job: Job) -> None:
        self.done.append(job.key)

    async def start(self) -> None:
        self.task = asyncio.create_task(self.runner.run_forever())
        await quiet()

    async def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
            self.task = None

    async def only(self) -> Job:
        (job,) = await self.store.list()
        return job
