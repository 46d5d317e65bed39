"""Measures what vectors cost on disk: `python -m benchmarks.vectors [--vectors N]`.

A room of N messages gets a vector of 384 numbers for each, 64 at a time as the program makes them. It is then
reopened and all of them are read, as recall does at its first question.
"""

import argparse
import asyncio
import random
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.storage import text
from memory.clock import SystemClock
from memory.entities import RoomKind
from memory.storage.room import open_room
from memory.transfer import TravellingMessage, TravellingSession
from memory.vault.keys import RoomKey
from memory.vectors.entities import Embedded
from models.messages import Role

DIMENSION = 384
A_SESSION = 200
MODEL = "5" * 64
"""As long as the fingerprint of a model."""


def session(number: int) -> TravellingSession:
    at = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(hours=number)
    said = tuple(
        TravellingMessage(f"{n}", f"{n - 1}" if n else None, Role.USER, "", text(number + n), at)
        for n in range(A_SESSION)
    )
    return TravellingSession(f"{number}", f"Talk {number}", at, at, said)


async def measure(path: Path, vectors: int) -> None:
    random.seed(1)
    key = RoomKey.generate()
    store = await open_room(path, key, RoomKind.OPEN, SystemClock(), create=True)
    for number in range(vectors // A_SESSION):
        await store.transfer.take(session(number))
    await store.close()
    bare = path.stat().st_size  # noqa: ASYNC240

    store = await open_room(path, key, RoomKind.OPEN, SystemClock())
    began, cpu, stored = time.perf_counter(), time.process_time(), 0
    while missing := await store.vectors.unembedded(MODEL, limit=64):
        made = [Embedded(one, (random.randbytes(4 * DIMENSION),)) for one in missing]
        stored += await store.vectors.put(MODEL, made)
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    await store.close()
    size = path.stat().st_size  # noqa: ASYNC240
    print(f"{stored:,} vectors stored: {wall:.1f} s, {cpu:.1f} s of the processor")
    print(f"room: {size / 1e6:.0f} MB, {(size - bare) / 1e3 / stored:.2f} kB for each vector")

    store = await open_room(path, key, RoomKind.OPEN, SystemClock())
    began, cpu = time.perf_counter(), time.process_time()
    read = len(await store.vectors.scan(MODEL, limit=stored + 1))
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(f"{read:,} read: {wall:.2f} s, {cpu:.2f} s of the processor")
    await store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=int, default=20_000)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder) / "rooms" / "open.db", parser.parse_args().vectors))


if __name__ == "__main__":
    main()
