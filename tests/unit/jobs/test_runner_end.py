"""Jobs that are cancelled, rooms that are closed, disks that are full."""

import asyncio
from collections.abc import Collection
from datetime import datetime

import pytest

from memory.errors import StorageFull
from memory.jobs.queue import Job, JobState
from memory.jobs.runner import LOOK_S, MAX_ATTEMPTS, JobRunner, Stage
from tests.stores import InMemoryStore
from tests.unit.jobs.bench import Bench, quiet


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
    room = InMemoryStore(bench.time)
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

    async def finish_if_there_is_room(job: Job, *, kinds: Collection[str]) -> datetime | None:
        if full:
            raise StorageFull
        return await finish(job, kinds=kinds)

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
