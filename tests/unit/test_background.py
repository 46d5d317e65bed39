"""The runner of background jobs, in a time that moves only when it is told to."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from memory.background import BACK_OFF, LOOK_S, MAX_ATTEMPTS, Duty, Held, JobRunner, Stage
from memory.errors import ContextTooSmall, StorageFull
from memory.gate import ForegroundGate, Throttle
from memory.jobs import Job, JobPostponed, JobState, Priority
from memory.testing import InMemorySessionStore
from memory.testing.jobs import InMemoryJobStore

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
        self.store: InMemoryJobStore = InMemorySessionStore(self.time).jobs
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


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    await made.stop()


async def test_jobs_are_done_by_urgency_and_are_gone_then(bench: Bench) -> None:
    await bench.store.add("note", "low", priority=Priority.LOW)
    await bench.store.add("note", "first")
    await bench.store.add("note", "second")
    await bench.store.add("note", "urgent", priority=Priority.URGENT)
    report = await bench.runner.run_until_empty()
    assert bench.done == ["urgent", "first", "second", "low"]
    assert (report.done, report.failed, report.remaining, report.held) == (4, 0, 0, None)
    assert await bench.store.list() == []
    assert bench.stages[:2] == [("urgent", Stage.STARTED), ("urgent", Stage.DONE)]


async def test_kinds_without_a_handler_are_left_to_those_who_know_them(bench: Bench) -> None:
    await bench.store.add("unheard of", "k")
    report = await bench.runner.run_until_empty()
    assert (report.done, report.remaining) == (0, 1)
    assert (await bench.only()).attempts == 0
    bench.handlers["unheard of"] = bench.note
    assert (await bench.runner.run_until_empty()).done == 1


async def test_what_a_job_adds_is_done_too(bench: Bench) -> None:
    async def add_more(job: Job) -> None:
        if job.payload["left"]:
            await bench.store.add("count", "k", payload={"left": job.payload["left"] - 1})
        bench.done.append(str(job.payload["left"]))

    bench.handlers["count"] = add_more
    await bench.store.add("count", "k", payload={"left": 3})
    assert (await bench.runner.run_until_empty()).remaining == 0
    assert bench.done == ["3", "2", "1", "0"]


async def test_a_failing_job_waits_longer_each_time_and_is_then_given_up(bench: Bench) -> None:
    tried: list[datetime] = []

    async def fail(_job: Job) -> None:
        tried.append(bench.time.now())
        raise ContextTooSmall(5000, 4096)

    bench.handlers["fail"] = fail
    await bench.store.add("fail", "k")
    await bench.start()
    waiting = await bench.only()
    assert (waiting.state, waiting.error) == (JobState.QUEUED, "ContextTooSmall limit=4096 needed=5000")
    await bench.time.passes(DAY.total_seconds())
    assert [after - before for before, after in pairwise(tried)] == list(BACK_OFF)
    assert len(tried) == MAX_ATTEMPTS
    failed = await bench.only()
    assert (failed.state, failed.attempts) == (JobState.FAILED, MAX_ATTEMPTS)
    ends = [stage for _, stage in bench.stages if stage is not Stage.STARTED]
    assert ends == [Stage.RETRY] * (MAX_ATTEMPTS - 1) + [Stage.FAILED]


async def test_errors_are_told_by_type_and_numbers_only(bench: Bench) -> None:
    async def fail(_job: Job) -> None:
        raise ValueError("the words of somebody")

    bench.handlers["fail"] = fail
    await bench.store.add("fail", "k")
    report = await bench.runner.run_until_empty()
    assert (report.done, report.failed, report.remaining) == (0, 1, 1)
    assert (await bench.only()).error == "ValueError"


async def test_a_job_that_fails_once_is_done_in_the_end(bench: Bench) -> None:
    async def fail_once(job: Job) -> None:
        if job.attempts == 1:
            raise OSError(28, "no space")
        await bench.note(job)

    bench.handlers["fail"] = fail_once
    await bench.store.add("fail", "k")
    await bench.start()
    assert (await bench.only()).error == "OSError errno=28"
    await bench.time.passes(29)
    assert bench.done == []
    await bench.time.passes(2)
    assert bench.done == ["k"]
    assert await bench.store.list() == []


async def test_a_failing_job_keeps_nobody_waiting(bench: Bench) -> None:
    async def fail(_job: Job) -> None:
        raise ValueError

    bench.handlers["fail"] = fail
    await bench.store.add("fail", "bad", priority=Priority.URGENT)
    await bench.store.add("note", "good", priority=Priority.LOW)
    report = await bench.runner.run_until_empty()
    assert bench.done == ["good"]
    assert (report.done, report.failed, report.remaining) == (1, 1, 1)


async def test_a_postponed_job_has_not_been_tried(bench: Bench) -> None:
    until = START + timedelta(hours=2)

    async def later(job: Job) -> None:
        if bench.time.now() < until:
            raise JobPostponed(until)
        await bench.note(job)

    bench.handlers["later"] = later
    await bench.store.add("later", "k")
    await bench.start()
    assert ((await bench.only()).attempts, (await bench.only()).not_before) == (0, until)
    await bench.time.passes(7199)
    assert bench.done == []
    await bench.time.passes(2)
    assert bench.done == ["k"]


@pytest.mark.parametrize("until", [START - DAY, START], ids=["past", "now"])
async def test_postponing_to_the_past_does_not_run_hot(bench: Bench, until: datetime) -> None:
    async def never(job: Job) -> None:
        await bench.note(job)
        raise JobPostponed(until)

    bench.handlers["never"] = never
    await bench.store.add("never", "k")
    assert (await bench.runner.run_until_empty()).remaining == 1
    assert bench.done == ["k"]
    await bench.start()
    await bench.time.passes(10)
    assert 1 < len(bench.done) <= 12


async def test_an_empty_queue_costs_a_look_now_and_then(bench: Bench) -> None:
    await bench.start()
    await bench.time.passes(3600)
    assert len(bench.time.naps) <= 3600 / LOOK_S + 1


async def test_what_is_added_is_begun_at_once_when_the_runner_is_told(bench: Bench) -> None:
    await bench.start()
    await bench.store.add("note", "k")
    bench.runner.wake()
    await quiet()
    assert bench.done == ["k"]


# --- turns go first --------------------------------------------------------------------------------


async def test_no_job_begins_while_a_turn_is_under_way(bench: Bench) -> None:
    await bench.start()
    async with bench.gate.foreground():
        async with bench.gate.foreground():
            await bench.store.add("note", "k")
            bench.runner.wake()
            await quiet()
        await quiet()
        assert bench.done == []
    await quiet()
    assert bench.done == ["k"]


async def test_a_job_under_way_stands_still_at_its_next_step(bench: Bench) -> None:
    steps: list[int] = []
    going = asyncio.Event()

    async def three_steps(_job: Job) -> None:
        for step in range(3):
            await bench.gate.checkpoint()
            steps.append(step)
            await going.wait()

    bench.handlers["steps"] = three_steps
    await bench.store.add("steps", "k")
    await bench.start()
    assert steps == [0]
    async with bench.gate.foreground():
        going.set()
        await quiet()
        assert steps == [0]
        assert bench.runner.running is not None
    await quiet()
    assert steps == [0, 1, 2]
    assert await bench.store.list() == []


async def test_a_turn_that_follows_another_at_once_goes_first_too(bench: Bench) -> None:
    await bench.start()
    async with bench.gate.foreground():
        await bench.store.add("note", "k")
        bench.runner.wake()
        await quiet()
    async with bench.gate.foreground():
        await quiet()
        assert bench.done == []
    await quiet()
    assert bench.done == ["k"]


async def test_a_turn_does_not_wait_for_itself(bench: Bench) -> None:
    async with bench.gate.foreground():
        await asyncio.wait_for(bench.gate.checkpoint(), 1)
        await asyncio.wait_for(asyncio.create_task(bench.gate.checkpoint()), 1)
        async with bench.gate.foreground():
            await asyncio.wait_for(bench.gate.checkpoint(), 1)
        assert bench.gate.busy
    assert not bench.gate.busy


async def test_work_outside_the_queue_waits_for_turns_too(bench: Bench) -> None:
    begin = asyncio.Event()

    async def work() -> None:
        await begin.wait()
        await bench.gate.checkpoint()

    working = asyncio.create_task(work())
    async with bench.gate.foreground():
        begin.set()
        await quiet()
        assert not working.done()
    await asyncio.wait_for(working, 1)


async def test_the_gate_opens_when_a_turn_fails(bench: Bench) -> None:
    with pytest.raises(ValueError, match="boom"):
        async with bench.gate.foreground():
            raise ValueError("boom")
    assert not bench.gate.busy
    await asyncio.wait_for(bench.gate.checkpoint(), 1)


# --- pauses and shares -----------------------------------------------------------------------------


async def test_a_pause_by_hand_holds_until_it_is_over(bench: Bench) -> None:
    await bench.store.add("note", "k")
    await bench.store.set_paused(True)
    report = await bench.runner.run_until_empty()
    assert (report.done, report.remaining, report.held) == (0, 1, Held.PAUSED)
    await bench.start()
    await bench.time.passes(3600)
    assert bench.done == []
    await bench.store.set_paused(False)
    bench.runner.wake()
    await quiet()
    assert bench.done == ["k"]


async def test_a_pause_stops_a_job_at_its_next_step(bench: Bench) -> None:
    async def two_steps(job: Job) -> None:
        await bench.time.sleep(5)
        await bench.gate.checkpoint()
        await bench.note(job)

    bench.handlers["steps"] = two_steps
    await bench.store.add("steps", "k")
    await bench.start()
    await bench.store.set_paused(True)
    bench.runner.wake()
    await bench.time.passes(3600)
    assert bench.done == []
    assert len(bench.time.naps) <= 3600 / LOOK_S + 2
    await bench.store.set_paused(False)
    bench.runner.wake()
    await quiet()
    assert bench.done == ["k"]


async def test_nothing_is_done_on_battery(bench: Bench) -> None:
    await bench.store.add("note", "k")
    bench.power.battery = True
    assert (await bench.runner.run_until_empty()).held is Held.BATTERY
    await bench.start()
    await bench.time.passes(600)
    assert bench.done == []
    bench.power.battery = False
    await bench.time.passes(LOOK_S + 1)
    assert bench.done == ["k"]


@pytest.mark.parametrize("cap", [0.05, 0.25, 0.5, 1.0])
async def test_work_takes_no_more_than_its_share(cap: float) -> None:
    bench = Bench(cap=cap)
    worked = 0.0

    async def work(_job: Job) -> None:
        nonlocal worked
        for _ in range(2):
            await bench.time.sleep(3)
            worked += 3
            await bench.gate.checkpoint()

    bench.handlers["work"] = work
    for n in range(400):
        await bench.store.add("work", str(n))
    await bench.start()
    await bench.time.passes(2000)
    await bench.stop()
    assert cap * 0.98 <= worked / 2000 <= cap + 3 / 2000


async def test_waiting_for_a_turn_does_not_count_as_work(bench: Bench) -> None:
    bench = Bench(cap=0.5)

    async def wait(_job: Job) -> None:
        await bench.gate.checkpoint()

    bench.handlers["wait"] = wait
    await bench.store.add("wait", "a")
    await bench.store.add("wait", "b")
    await bench.start()
    async with bench.gate.foreground():
        await bench.time.passes(500)
    await quiet()
    assert await bench.store.list() == []
    await bench.stop()


# --- the end ---------------------------------------------------------------------------------------


async def test_a_cancelled_job_is_queued_again_at_once(bench: Bench) -> None:
    async def wait(_job: Job) -> None:
        await asyncio.Event().wait()

    bench.handlers["wait"] = wait
    await bench.store.add("wait", "k")
    await bench.start()
    assert (await bench.only()).state is JobState.RUNNING
    await bench.stop()
    job = await bench.only()
    assert (job.state, job.attempts, job.error) == (JobState.QUEUED, 0, None)
    assert bench.stages[-1] == ("k", Stage.BACK)


async def test_a_wait_that_is_cancelled_inside_a_job_is_an_error_of_the_job(bench: Bench) -> None:
    async def wait(_job: Job) -> None:
        gone = asyncio.get_running_loop().create_future()
        gone.cancel()
        await gone

    bench.handlers["wait"] = wait
    await bench.store.add("wait", "k")
    assert (await bench.runner.run_until_empty()).failed == 1
    assert (await bench.only()).error == "CancelledError"


async def test_a_job_that_ends_the_process_each_time_is_given_up(bench: Bench) -> None:
    await bench.store.add("note", "k")
    for _ in range(MAX_ATTEMPTS):
        assert await bench.store.claim(bench.time.now()) is not None
        await bench.store.recover()
    assert (await bench.runner.run_until_empty()).failed == 1
    failed = await bench.only()
    assert (failed.state, failed.error) == (JobState.FAILED, "Interrupted")
    assert bench.done == []


async def test_the_runner_ends_with_its_room(bench: Bench) -> None:
    room = InMemorySessionStore(bench.time)
    runner = JobRunner(room.jobs, bench.time, bench.gate, bench.handlers, sleep=bench.time.sleep)
    ending = asyncio.create_task(runner.run_forever())
    await quiet()
    await room.close()
    runner.wake()
    await asyncio.wait_for(ending, 1)
    assert ending.done()
    assert runner.running is None


async def test_a_full_disk_is_waited_out(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    finish = bench.store.finish
    full = True

    async def finish_if_there_is_room(job: Job) -> None:
        if full:
            raise StorageFull
        await finish(job)

    monkeypatch.setattr(bench.store, "finish", finish_if_there_is_room)
    await bench.store.add("note", "k")
    await bench.start()
    assert bench.done == ["k"]
    await bench.time.passes(LOOK_S - 1)
    assert bench.done == ["k"]
    full = False
    await bench.time.passes(2)
    assert bench.done == ["k", "k"]
    assert await bench.store.list() == []


# --- duties ----------------------------------------------------------------------------------------


async def test_a_duty_is_done_when_its_time_has_come_round(bench: Bench) -> None:
    bench.runner.add_duty(Duty("tidy", DAY, "note"))
    await bench.start()
    assert bench.done == ["duty/tidy"]
    assert await bench.store.duty_done("tidy") == START
    await bench.time.passes(DAY.total_seconds() - LOOK_S)
    assert bench.done == ["duty/tidy"]
    await bench.time.passes(3 * LOOK_S)
    assert bench.done == ["duty/tidy"] * 2


async def test_a_duty_that_was_missed_for_weeks_is_done_once(bench: Bench) -> None:
    bench.runner.add_duty(Duty("tidy", DAY, "note"))
    await bench.store.mark_duty("tidy", START)
    await bench.start()
    assert bench.done == []
    bench.time.jumps(timedelta(weeks=5))
    await bench.time.passes(LOOK_S)
    assert bench.done == ["duty/tidy"]
    await bench.time.passes(3600)
    assert bench.done == ["duty/tidy"]


async def test_a_duty_waits_for_the_end_of_the_turn(bench: Bench) -> None:
    bench.runner.add_duty(Duty("tidy", DAY, "note"))
    async with bench.gate.foreground():
        await bench.start()
        await bench.time.passes(3600)
        assert await bench.store.list() == []
    await quiet()
    assert bench.done == ["duty/tidy"]


async def test_a_duty_of_a_wrong_clock_is_due(bench: Bench) -> None:
    bench.runner.add_duty(Duty("tidy", DAY, "note"))
    await bench.store.mark_duty("tidy", START + timedelta(days=4000))
    await bench.runner.run_until_empty()
    assert bench.done == ["duty/tidy"]


async def test_a_duty_that_fails_is_tried_again_and_then_left_until_its_next_time(bench: Bench) -> None:
    tried: list[datetime] = []

    async def fail(_job: Job) -> None:
        tried.append(bench.time.now())
        raise ValueError

    bench.handlers["fail"] = fail
    bench.runner.add_duty(Duty("tidy", 7 * DAY, "fail"))
    await bench.start()
    await bench.time.passes(3 * DAY.total_seconds())
    assert len(tried) == MAX_ATTEMPTS
    assert (await bench.only()).state is JobState.FAILED
    await bench.time.passes(5 * DAY.total_seconds())
    assert len(tried) == 2 * MAX_ATTEMPTS


async def test_a_duty_of_an_unknown_kind_is_not_queued(bench: Bench) -> None:
    bench.runner.add_duty(Duty("tidy", DAY, "unheard of"))
    await bench.runner.run_until_empty()
    assert await bench.store.list() == []
    assert [duty.name for duty in bench.runner.duties] == ["tidy"]
