"""Pauses by hand and on battery, and the share of the processor that work may take."""

import pytest

from memory.jobs.queue import Job
from memory.jobs.runner import LOOK_S, Held
from tests.unit.jobs.bench import Bench, quiet


async def test_a_pause_by_hand_holds_until_it_is_over(bench: Bench) -> None:
    await bench.store.add("note", "k")
    await bench.runner.set_paused(True)
    report = await bench.runner.run_until_empty()
    assert (report.done, report.remaining, report.held) == (0, 1, Held.PAUSED)
    await bench.start()
    await bench.time.passes(3600)
    assert bench.done == []
    await bench.runner.set_paused(False)
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
    await bench.runner.set_paused(True)
    bench.runner.wake()
    await bench.time.passes(3600)
    assert bench.done == []
    assert len(bench.time.naps) <= 3600 / LOOK_S + 2
    await bench.runner.set_paused(False)
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


async def test_it_tells_of_work_that_waits_and_when_it_goes_on(bench: Bench) -> None:
    told: list[Held | None] = []
    bench.runner.on_waiting = lambda: told.append(bench.runner.waiting)
    bench.power.battery = True
    await bench.start()
    await bench.time.passes(LOOK_S + 1)
    assert told == []
    await bench.store.add("note", "k")
    bench.runner.wake()
    await quiet()
    await bench.time.passes(LOOK_S * 3)
    assert told == [Held.BATTERY]
    bench.power.battery = False
    await bench.time.passes(LOOK_S + 1)
    assert (told, bench.done) == ([Held.BATTERY, None], ["k"])


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
