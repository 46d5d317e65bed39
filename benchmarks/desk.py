"""Measures the conversation screen with long conversations: `python -m benchmarks.desk`.

Runs the screen without a terminal, on an encrypted room with a scripted model. Measures opening a
conversation of 5,000 messages, paging through it, jumping into its middle, the memory that 1,000 turns cost,
how long garbage collection takes meanwhile, and the delay of a key press while a reply streams. A watchdog on
the event loop reports how long no key could have been answered, and the processor time of the longest piece
of work in between. Unlike the gap, that time does not grow on a busy machine.
"""

import argparse
import asyncio
import gc
import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import psutil
from textual.events import Key
from textual.pilot import Pilot

from atlas_desktop.tui.chat.screen import ChatScreen
from memory.clock import SystemClock
from memory.entities import RoomKind
from memory.jobs.queue import JobState
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.transfer import TravellingMessage, TravellingSession
from memory.vault.keys import RoomKey
from models.messages import Role
from tests.tui.desk import NamedModel, Stage, stage
from tests.tui.watchdog import watched

SIZE = (140, 45)
BEGUN = datetime(2026, 1, 1, 9, tzinfo=UTC)
CODE = "```python\nfor hour in range(24):\n    print(tide(hour))\n```"
TABLE = "| day | walk |\n|-----|------|\n| 1 | 3 h |\n| 2 | 4 h |"
WORDS = "The moon pulls the water, and the Earth turns under **two bulges** of it. " * 4
REPLIES = (WORDS, f"{WORDS}\n\n{CODE}", f"- {WORDS}\n- {WORDS}", f"{WORDS}\n\n{TABLE}\n", WORDS)


class Pace:
    """Paces a scripted reply at about 120 words per second."""

    def is_set(self) -> bool:
        return False

    async def wait(self) -> None:
        await asyncio.sleep(0.008)


def long_session(messages: int) -> TravellingSession:
    """Returns a session of a user and a model in turn, with code, lists and tables among the replies."""
    said = [
        TravellingMessage(
            id=f"long:{number}",
            parent=f"long:{number - 1}" if number else None,
            role=Role.ASSISTANT if number % 2 else Role.USER,
            speaker="",
            content=REPLIES[number // 2 % 5] if number % 2 else f"Question {number} about the tides?",
            created_at=BEGUN + timedelta(minutes=number),
        )
        for number in range(messages)
    ]
    return TravellingSession("long", "A long one", BEGUN, said[-1].created_at, tuple(said))


async def room(folder: Path, sessions: tuple[TravellingSession, ...]) -> Store:
    path = folder / "rooms" / "open.db"
    made = await open_room(path, RoomKey.generate(), RoomKind.OPEN, SystemClock(), create=True)
    for session in sessions:
        await made.transfer.take(session)
    return made


def screen_of(place: Stage) -> ChatScreen:
    found = place.app.chat
    assert isinstance(found, ChatScreen)
    return found


async def painted(pilot: Pilot[None]) -> None:
    done = asyncio.Event()
    if pilot.app.screen.call_after_refresh(done.set):
        await done.wait()


async def until(condition: Any) -> None:
    while not condition():  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(0.001)


def said(label: str, seconds: list[float], unit: str = "ms") -> None:
    ordered = sorted(1000 * one for one in seconds)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    print(
        f"{label:<44} median {statistics.median(ordered):7.1f}  p95 {p95:7.1f}  max {ordered[-1]:7.1f} {unit}"
    )


def pressed(place: Stage) -> None:
    """Marks what follows as caused by a key."""
    if place.app.shutdown.sweeper is not None:
        place.app.shutdown.sweeper.touched()


async def opening(pilot: Pilot[None], place: Stage, ref: str, rounds: int) -> None:
    """Measures from requesting the conversation to its newest message on the screen."""
    chat, took, work, late, longest = screen_of(place), [], [], [], []
    for _ in range(rounds):
        chat.action_new_session()
        await until(lambda: chat.current.id is None and not chat.transcript.blocks)
        await asyncio.sleep(0.3)
        gc.collect()
        async with watched() as dog:
            began, worked = time.perf_counter(), time.process_time()
            pressed(place)
            chat.open_session(ref)
            await until(lambda: chat.transcript.blocks)
            await painted(pilot)
            took.append(time.perf_counter() - began)
            work.append(time.process_time() - worked)
            await until(lambda: len(chat.transcript.blocks) >= 20)
            late.append(max(dog.late))
            longest.append(dog.longest)
    said("open 5,000 messages, to the first picture", took)
    said("  processor time of it", work)
    said("  longest gap of the loop, each time", late)
    said("  longest piece of work, each time", longest)


async def scrolling(pilot: Pilot[None], place: Stage) -> None:
    chat = screen_of(place)
    view, took, most = chat.transcript, [], 0
    async with watched() as dog:
        for _ in range(60):
            began = time.perf_counter()
            pressed(place)
            chat.action_page_up()
            await painted(pilot)
            took.append(time.perf_counter() - began)
            most = max(most, len(view.blocks))
            await asyncio.sleep(0.03)
    said("page up, to the picture", took)
    said("  gaps of the loop meanwhile", dog.late)
    print(f"{'  longest piece of work meanwhile':<44} {1000 * dog.longest:7.1f} ms")
    print(f"{'  widgets of messages at most':<44} {most}")
    ids = view._window.ids
    jumps = []
    for part in (0.002, 0.5, 0.8, 0.02, 1):
        began = time.perf_counter()
        await view.go_to(ids[int(part * (len(ids) - 1))])
        await painted(pilot)
        jumps.append(time.perf_counter() - began)
    said("jump to any message", jumps)


async def at_rest(place: Stage) -> None:
    """Waits until the work of earlier measurements is done, such as the summary of an opened session."""
    room = place.desk.room
    assert room is not None
    while room.background.running is not None or any(  # noqa: ASYNC110 - only the screen is notified
        job.state is JobState.QUEUED for job in await room.store.jobs.list()
    ):
        await asyncio.sleep(0.1)


async def talking(pilot: Pilot[None], place: Stage, turns: int) -> None:
    chat = screen_of(place)
    process = psutil.Process()
    before = process.memory_info().rss / 1e6
    await at_rest(place)
    after = process.memory_info().rss / 1e6
    print(f"{'memory that the summary of what was opened costs':<44} {after - before:+.1f} MB")
    chat.action_new_session()
    await until(lambda: chat.current.id is None)
    sizes, alive = [], []
    swept = gc.get_stats()[2]["collections"]
    for number in range(turns):
        chat.composer.say(chat.current, f"Question {number} about the tides?")
        await until(lambda: not chat.current.busy)
        await painted(pilot)
        # What the scripted model remembers is not the program's memory.
        place.model.prompts.clear()
        place.model.held.clear()
        if number in (0, turns // 10, turns - 1):
            sizes.append(process.memory_info().rss / 1e6)
            alive.append(len(gc.get_objects()))
    print(f"{f'memory that {2 * turns:,} messages cost':<44} {sizes[-1] - sizes[0]:+.1f} MB")
    print(f"{'  after one turn, a tenth, and all':<44} {', '.join(f'{one:.0f}' for one in sizes)} MB")
    print(f"{'  objects then':<44} {', '.join(f'{one:,}' for one in alive)}")
    sweeper = place.app.shutdown.sweeper
    assert sweeper is not None
    swept = gc.get_stats()[2]["collections"] - swept
    print(f"{f'  longest of {swept} searches for garbage':<44} {1000 * sweeper.longest:.1f} ms")
    print(f"{'  widgets of messages':<44} {len(chat.transcript.blocks)}")


async def typing(pilot: Pilot[None], place: Stage, keys: int) -> None:
    """Measures from a key press while a reply streams to the prompt's next paint."""
    chat, took = screen_of(place), []
    place.model.script = [f"{WORDS}\n\n{CODE}\n\n" * 60]
    place.model.gate = cast("Any", Pace())
    chat.composer.say(chat.current, "Tell me everything about the tides.")
    await until(lambda: chat.current.partial_text)
    async with watched() as dog:
        for _ in range(keys):
            began = time.perf_counter()
            # As the terminal sends it: Pilot's own `press` waits until nothing happens any more.
            place.app.post_message(Key("x", "x"))
            length = len(chat.prompt.text)
            await until(lambda length=length: len(chat.prompt.text) > length)
            await painted(pilot)
            took.append(time.perf_counter() - began)
            await asyncio.sleep(0.02)
    said("key press to picture while a reply streams", took)
    said("  gaps of the loop meanwhile", dog.late)
    place.app.turns.stop(chat.current)
    await until(lambda: not chat.current.busy)


async def measure(messages: int, turns: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = await room(Path(folder), (long_session(messages),))
        model = NamedModel([WORDS])
        place = stage(Path(folder), store=cast("Any", store), model=model)
        async with place.app.run_test(size=SIZE) as pilot:
            await until(lambda: place.app.chat is not None and place.app.chat.is_mounted)
            place.app.shutdown.watch()
            session = await store.get_session("last")
            await opening(pilot, place, session.id, rounds)
            await scrolling(pilot, place)
            await talking(pilot, place, turns)
            await typing(pilot, place, 60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=5_000)
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    asyncio.run(measure(args.messages, args.turns, args.rounds))


if __name__ == "__main__":
    main()
