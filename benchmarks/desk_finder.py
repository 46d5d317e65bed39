"""Measures how fast the finder responds: `python -m benchmarks.desk_finder` (`--sessions 2000`).

Runs the window without a terminal, on an encrypted room of 50 messages a conversation. Measures
from the key that opens it, and from each typed letter, to the first results on the screen, and to the last.
"""

import argparse
import asyncio
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any, cast

from textual.pilot import Pilot

from atlas_desktop.tui.app import AtlasApp
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.finder.screen import FinderScreen
from benchmarks.desk import SIZE
from benchmarks.desk_history import Lap, until
from benchmarks.history_search import sessions
from memory.clock import SystemClock
from memory.entities import RoomKind
from memory.memories.entities import MemoryKind, MemoryOrigin, MemoryState, NewMemory
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.transfer import TravellingSession
from memory.vault.keys import RoomKey
from tests.tui.desk import stage

MEMORIES = 500
TYPED = ("w300", "w30 w31", "w3000", "title12", "w3 w300")


async def furnish(store: Store, number: int) -> None:
    batch: list[TravellingSession] = []
    for session in sessions(number):
        batch.append(session)
        if len(batch) == 200:
            await store.transfer.take_many(batch, learn=False)
            batch.clear()
    await store.transfer.take_many(batch, learn=False)
    for at in range(MEMORIES):
        text = f"w{at} likes w{at + 1} more than w{at + 2}"
        await store.memories.add(
            NewMemory(MemoryKind.FACT, text, MemoryOrigin.PERSON, state=MemoryState.KEPT)
        )


async def measure(number: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = await open_room(
            Path(folder) / "rooms" / "open.db", RoomKey.generate(), RoomKind.OPEN, SystemClock(), create=True
        )
        await furnish(store, number)
        print(f"{number:,} conversations, {number * 50:,} messages, {MEMORIES:,} memories")
        place = stage(Path(folder) / "home", store=cast("Any", store))
        async with place.app.run_test(size=SIZE) as pilot:
            await rest()
            await find(pilot, place.app)


async def rest() -> None:
    """Returns when the jobs in the background have nothing left to do."""
    used = -1.0
    while time.process_time() - used > 0.1:
        used = time.process_time()
        await asyncio.sleep(1)


async def find(pilot: Pilot[None], app: AtlasApp) -> None:
    chat = app.chat
    assert isinstance(chat, ChatScreen)

    def window() -> FinderScreen | None:
        return app.screen if isinstance(app.screen, FinderScreen) and app.screen.is_attached else None

    opening = Lap()
    for _ in range(6):
        await opening.step(app.action_find, lambda: (shown := window()) is not None and shown.marked)
        app.screen.dismiss(None)
        await until(lambda: app.screen is chat)
        await pilot.pause()
    for times in (opening.took, opening.used):
        # The first round imports the window.
        del times[0]
    opening.tell("open")
    app.action_find()
    await until(window)
    first, last = Lap(), Lap()
    screen = cast("FinderScreen", app.screen)
    for text in TYPED:
        for lap, attribute in ((first, "answered"), (last, "finished")):
            screen.field.value = ""
            await until(lambda: screen.finished == "" and not screen.searching)
            for end in range(1, len(text) + 1):
                await lap.step(
                    partial(screen.field.insert_text_at_cursor, text[end - 1]),
                    partial(_is, screen, attribute, text[:end]),
                )
    first.tell("a letter to first results")
    last.tell("a letter to all results")


def _is(screen: FinderScreen, attribute: str, text: str) -> bool:
    return bool(getattr(screen, attribute) == text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=2_000)
    asyncio.run(measure(parser.parse_args().sessions))


if __name__ == "__main__":
    main()
