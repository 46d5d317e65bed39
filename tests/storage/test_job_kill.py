"""Killed at any moment, a room loses no job, and does the one under way exactly once more."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from memory.background import JobRunner
from memory.clock import SystemClock
from memory.gate import ForegroundGate
from memory.jobs import Job, JobState
from tests.storage.conftest import Place

ROOT = Path(__file__).parents[2]


def work_and_die(place: Place, steps: int) -> list[tuple[str, str]]:
    """What the process said, `(word, key)` a step, before it was killed after at least `steps` of them."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.storage.worker"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(f"{place.path}\n{place.key.sqlcipher_hex()}\n")
        child.stdin.close()
        seen = [child.stdout.readline() for _ in range(steps)]
        child.kill()
        # A line without its end was cut off by the death of its writer and says nothing.
        seen += child.stdout.read().splitlines(keepends=True)
    return [(word, key) for word, key in (line.split() for line in seen if line.endswith("\n"))]


async def assert_no_job_is_lost(place: Place, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    interrupted = 0
    for _ in range(rounds):
        said = work_and_die(place, chance.randint(1, 90))
        added = [key for word, key in said if word == "added"]
        begun = [key for word, key in said if word == "begun"]
        ended = [key for word, key in said if word == "ended"]
        assert len(begun) == len(set(begun))
        # Before a job begins, the end of the one before it has been written down.
        surely_done = set(begun[:-1])
        store = await place.open()
        waiting = {job.key: job for job in await store.jobs.list()}
        assert set(added) - set(ended) <= set(waiting)
        assert not surely_done & set(waiting)
        assert {job.state for job in waiting.values()} <= {JobState.QUEUED}
        under_way = set(begun) - set(ended)
        interrupted += len(under_way)
        assert all(waiting[key].attempts == 1 for key in under_way)
        done: list[str] = []

        async def work(job: Job, done: list[str] = done) -> None:
            done.append(job.key)

        runner = JobRunner(store.jobs, SystemClock(), ForegroundGate(), {"work": work})
        report = await runner.run_until_empty()
        assert (report.done, report.failed, report.remaining) == (len(waiting), 0, 0)
        assert sorted(done) == sorted(waiting)
        assert (await store.verify()).problems == ()
        await store.close()
    assert rounds < 50 or interrupted > 0


async def test_no_job_is_lost(place: Place) -> None:
    await assert_no_job_is_lost(place, rounds=5, seed=20261122)


@pytest.mark.soak
async def test_no_job_is_lost_in_a_long_run(place: Place) -> None:
    await assert_no_job_is_lost(place, rounds=200, seed=11)
