"""Duties that come round."""

from datetime import datetime, timedelta

from memory.jobs.queue import Job, JobState
from memory.jobs.runner import LOOK_S, MAX_ATTEMPTS, Duty
from tests.unit.jobs.bench import DAY, START, Bench, quiet


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
    bench.runner.add_duty(Duty("tidy", 2 * DAY, "fail"))
    await bench.start()
    await bench.time.passes(DAY.total_seconds())
    assert len(tried) == MAX_ATTEMPTS
    assert (await bench.only()).state is JobState.FAILED
    await bench.time.passes(2 * DAY.total_seconds())
    assert len(tried) == 2 * MAX_ATTEMPTS


async def test_a_duty_of_an_unknown_kind_is_not_queued(bench: Bench) -> None:
    bench.runner.add_duty(Duty("tidy", DAY, "unheard of"))
    await bench.runner.run_until_empty()
    assert await bench.store.list() == []
    assert [duty.name for duty in bench.runner.duties] == ["tidy"]
