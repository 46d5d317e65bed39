"""In what order jobs are done, and what becomes of those that fail."""

from collections.abc import Collection
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from memory.errors import ContextTooSmall
from memory.jobs.queue import Job, JobPostponed, JobState, Priority
from memory.jobs.runner import BACK_OFF, LOOK_S, MAX_ATTEMPTS, Stage
from tests.unit.jobs.bench import DAY, START, Bench, quiet


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


async def test_after_the_last_job_the_queue_is_not_asked_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = bench.store.claim
    asked = 0

    async def counted(now: datetime, *, kinds: Collection[str]) -> Job | datetime | None:
        nonlocal asked
        asked += 1
        return await claim(now, kinds=kinds)

    monkeypatch.setattr(bench.store, "claim", counted)
    await bench.store.add("note", "a")
    await bench.store.add("note", "b")
    await bench.store.add("note", "later", not_before=bench.time.now() + timedelta(seconds=5))
    await bench.start()
    assert (bench.done, asked) == (["a", "b"], 2)
    await bench.time.passes(5)
    assert (bench.done, asked) == (["a", "b", "later"], 3)
