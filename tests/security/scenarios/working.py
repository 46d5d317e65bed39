"""The queue of jobs: none is lost, and the one under way is done exactly once more."""

import asyncio
from collections.abc import Sequence
from itertools import count

from memory.clock import SystemClock
from memory.jobs.foreground_gate import ForegroundGate
from memory.jobs.queue import Job, JobState
from memory.jobs.runner import JobRunner
from tests.security.crash import Said, Say, Scenario


class Working(Scenario):
    name = "jobs"
    steps = 90

    async def act(self, given: str, say: Say) -> None:
        store = await self.place.open(create=True)
        gate = ForegroundGate()

        async def work(job: Job) -> None:
            say("begun", job.key)
            await gate.checkpoint()
            await store.jobs.keep_result("step", bytes(32), job.key, None)
            say("ended", job.key)

        runner = JobRunner(store.jobs, SystemClock(), gate, {"work": work})
        running = asyncio.create_task(runner.run_forever())
        for n in count():
            job = await store.jobs.add("work", str(n))
            say("added", job.key)
            runner.wake()
            if running.done():
                await running

    async def look(self, said: Sequence[Said]) -> None:
        added = [key for word, key in said if word == "added"]
        begun = [key for word, key in said if word == "begun"]
        ended = [key for word, key in said if word == "ended"]
        assert len(begun) == len(set(begun))
        # Before a job begins, the end of the one before it has been written down.
        surely_done = set(begun[:-1])
        store = await self.place.open()
        waiting = {job.key: job for job in await store.jobs.list()}
        assert set(added) - set(ended) <= set(waiting)
        assert not surely_done & set(waiting)
        assert {job.state for job in waiting.values()} <= {JobState.QUEUED}
        assert all(waiting[key].attempts == 1 for key in set(begun) - set(ended))
        done: list[str] = []

        async def work(job: Job) -> None:
            done.append(job.key)

        runner = JobRunner(store.jobs, SystemClock(), ForegroundGate(), {"work": work})
        report = await runner.run_until_empty()
        assert (report.done, report.failed, report.remaining) == (len(waiting), 0, 0)
        assert sorted(done) == sorted(waiting)
        assert (await store.verify()).problems == ()
        await store.close()
