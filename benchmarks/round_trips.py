"""Counts the database calls of a turn: `python -m benchmarks.round_trips`.

Uses a real room with all its services and a scripted model. Counts every call that waits for a room's thread:
in one turn of a used session with its hooks, and with the jobs that follow it. Which jobs fall into these
seconds varies a little: at most 39 calls in total.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from memory.storage.database import Database
from memory.vault.keys import RoomKey
from tests.security.stage import Stage
from tests.storage.conftest import Place

T = TypeVar("T")
BEFORE = ("I live in Bergen and work as a nurse.", "What is on my desk?", "Tell me about tides.")
QUIET_S = 3.0
"""Seconds; long enough for the jobs that follow a turn."""


class CountedDatabase(Database):
    """Counts its calls by the function that makes them."""

    calls: ClassVar[Counter[str]] = Counter()

    async def read(self, work: Callable[..., T]) -> T:
        self.calls[work.__qualname__.partition(".<locals>")[0]] += 1
        return await super().read(work)

    async def write(self, work: Callable[..., T]) -> T:
        self.calls[work.__qualname__.partition(".<locals>")[0]] += 1
        return await super().write(work)


async def measure(folder: Path) -> None:
    stage = await Stage.open(Place(folder / "open.db", RoomKey.generate()), create=True)
    databases: list[Any] = [stage.store._database, stage.store.jobs._database]
    for database in databases:
        database.__class__ = CountedDatabase
    stage.room.background.start(report)
    stage.room.recall.start(report)
    session = None
    for text in BEFORE:
        _, replied = await stage.turn(text, session)
        session = replied.session.id
        await asyncio.sleep(QUIET_S)
    CountedDatabase.calls.clear()
    await stage.turn("What is the capital of France?", session)
    print(f"{CountedDatabase.calls.total():3}  in the turn, with its hooks")
    await asyncio.sleep(QUIET_S)
    print(f"{CountedDatabase.calls.total():3}  with the jobs that follow")
    for name, times in CountedDatabase.calls.most_common(12):
        print(f"{times:5}  {name}")
    await stage.close()


def report(error: BaseException) -> None:
    raise error


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder)))


if __name__ == "__main__":
    main()
