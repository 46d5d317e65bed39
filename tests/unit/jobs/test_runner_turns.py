"""Turns go before background work."""

import asyncio

import pytest

from memory.jobs.queue import Job
from tests.unit.jobs.bench import Bench, quiet


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
