"""Measures how fast the history browser responds: `python -m benchmarks.desk_history` (`--sessions 20000`).

Runs the screen without a terminal, on an encrypted room. Measures from the key that opens it to its first
rows, from each typed letter to the matching list, from page to page, and selecting everything. A watchdog on
the event loop reports how long no key could have been answered.
"""

import argparse
import asyncio
import gc
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any, cast

from textual.pilot import Pilot

from atlas_desktop.tui.app import AtlasApp
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.history.screen import HistoryScreen
from benchmarks.desk import BEGUN, SIZE
from memory.clock import SystemClock
from memory.entities import RoomKind
from memory.storage.room import open_room
from memory.transfer import TravellingMessage, TravellingSession
from memory.vault.keys import RoomKey
from models.messages import Role
from tests.tui.desk import stage
from tests.tui.watchdog import watched

MESSAGES = 6
# Words by their rank in Zipf's law, as in speech: w0 is in most messages, w300 in one of a hundred.
WORDS = [f"w{rank}" for rank in range(60_000)]
WEIGHTS = list(accumulate(1 / (rank + 1) for rank in range(len(WORDS))))
TYPED = ("w300", "tag:travel", "w30 w31", "w3000 -w3", "is:starred")


def talks(number: int) -> Iterator[TravellingSession]:
    """Yields conversations of a few messages each, an hour apart."""
    dice = random.Random(7)

    def words(count: int) -> str:
        return " ".join(dice.choices(WORDS, cum_weights=WEIGHTS, k=count))

    for at in range(number):
        begun = BEGUN + timedelta(hours=at)
        said = [
            TravellingMessage(
                id=f"{at}:{place}",
                parent=f"{at}:{place - 1}" if place else None,
                role=Role.ASSISTANT if place % 2 else Role.USER,
                speaker="",
                content=words(40),
                created_at=begun + timedelta(minutes=place),
            )
            for place in range(MESSAGES)
        ]
        yield TravellingSession(
            f"talk {at}",
            f"{words(3)} {at}",
            begun,
            said[-1].created_at,
            tuple(said),
            tags=("travel",) if at % 20 == 0 else (),
            starred=at % 50 == 0,
        )


async def until(happened: Callable[[], object]) -> None:
    limit = time.perf_counter() + 60
    while not happened():
        if time.perf_counter() > limit:
            raise TimeoutError
        await asyncio.sleep(0.001)


def tell(what: str, took: list[float], used: list[float], late: list[float]) -> None:
    """Prints milliseconds of wall clock and of processor time, which a busy machine changes less."""
    ordered = sorted(1000 * one for one in took)
    p95 = ordered[min(int(0.95 * len(ordered)), len(ordered) - 1)]
    print(
        f"{what:<28} median {statistics.median(ordered):7.1f}  p95 {p95:7.1f} ms   of processor time "
        f"{1000 * statistics.median(used):6.1f} ms   loop late by {1000 * max(late):.0f} ms"
    )


class Lap:
    """Times of one kind of step."""

    def __init__(self) -> None:
        self.took: list[float] = []
        self.used: list[float] = []
        self.late: list[float] = []

    async def step(self, act: Callable[[], object], happened: Callable[[], object]) -> None:
        gc.collect()
        async with watched() as dog:
            began, used = time.perf_counter(), time.process_time()
            act()
            await until(happened)
            self.took.append(time.perf_counter() - began)
            self.used.append(time.process_time() - used)
            await asyncio.sleep(0.05)
            self.late += dog.late

    def tell(self, what: str) -> None:
        tell(what, self.took, self.used, self.late)


async def measure(number: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = await open_room(
            Path(folder) / "rooms" / "open.db", RoomKey.generate(), RoomKind.OPEN, SystemClock(), create=True
        )
        batch: list[TravellingSession] = []
        for talk in talks(number):
            batch.append(talk)
            if len(batch) == 500:
                await store.transfer.take_many(batch, learn=False)
                batch.clear()
        await store.transfer.take_many(batch, learn=False)
        print(f"{number:,} conversations, {number * MESSAGES:,} messages")
        place = stage(Path(folder) / "home", store=cast("Any", store))
        async with place.app.run_test(size=SIZE) as pilot:
            await pilot.pause(1)
            await browse(pilot, place.app, number)


async def browse(pilot: Pilot[None], app: AtlasApp, number: int) -> None:
    chat = app.chat
    assert isinstance(chat, ChatScreen)

    def listed() -> object:
        screen = app.screen
        return isinstance(screen, HistoryScreen) and screen.search.shown and not screen.search.busy

    opening = Lap()
    for _ in range(6):
        await opening.step(chat.action_show_history, listed)
        app.screen.dismiss(None)
        await until(lambda: app.screen is chat)
        await pilot.pause()
    for times in (opening.took, opening.used):
        # The first round imports the screen.
        del times[0]
    opening.tell("open")
    chat.action_show_history()
    await until(listed)
    screen = cast("HistoryScreen", app.screen)
    typing = Lap()
    for text in TYPED:
        for letter in text:
            await typing.step(
                lambda letter=letter: screen.field.insert_text_at_cursor(letter),  # type: ignore[misc]
                lambda: screen.field.value == screen.search.text and not screen.search.busy,
            )
        screen.put("")
        await until(lambda: not screen.search.text and not screen.search.busy)
    typing.tell("a letter to its list")
    going = Lap()
    for _ in range(20):
        await going.step(lambda: screen.listing.action_leaf(1), lambda: screen.listing.marked is not None)
    going.tell("a page further")
    every = Lap()
    await every.step(screen.action_history_all, lambda: len(screen.listing.selected) >= number)
    every.tell("select all")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=5_000)
    asyncio.run(measure(parser.parse_args().sessions))


if __name__ == "__main__":
    main()
