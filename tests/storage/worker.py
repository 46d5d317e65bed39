"""A process that queues jobs and works them, and says so at each step: to be killed by a test.

Its standard input gives the room's path and the key in hexadecimal, one a line. It prints `added KEY` when a
job is durable, `begun KEY` when its handler begins and `ended KEY` when its handler has ended.
"""

import asyncio
import sys
from itertools import count
from pathlib import Path

from memory.background import JobRunner
from memory.clock import SystemClock
from memory.entities import RoomKind
from memory.gate import ForegroundGate
from memory.jobs import Job
from memory.storage.room import open_room
from memory.vault.keys import RoomKey


def say(word: str, key: str) -> None:
    print(f"{word} {key}", flush=True)


async def main(path: Path, key: RoomKey) -> None:
    store = await open_room(path, key, RoomKind.OPEN, SystemClock(), create=True)
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


if __name__ == "__main__":
    where, secret = sys.stdin.read().splitlines()
    raw = bytes.fromhex(secret)
    asyncio.run(main(Path(where), RoomKey(raw[:32], raw[32:])))
