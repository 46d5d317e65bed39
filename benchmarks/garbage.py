"""Measures the garbage that only the collector finds: `python -m benchmarks.garbage`.

Runs the conversation screen on an encrypted room with a scripted model and Python's collector switched off.
Counts the objects in reference cycles after a conversation of 5,000 messages was opened, paged through and
left, and after some turns. Runs once with Textual's own behaviour, and once with the program's, which breaks
the cycles.
"""

import argparse
import asyncio
import gc
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from unittest import mock

from textual._compositor import Compositor
from textual.app import App
from textual.pilot import Pilot

from atlas_desktop.tui.textual_workarounds import LettingGo, SparingCompositor
from benchmarks.desk import SIZE, WORDS, long_session, painted, room, screen_of, until
from memory.storage.store import Store
from tests.tui.desk import NamedModel, Stage, stage

MESSAGES = 5_000


@contextmanager
def as_textual_leaves_them() -> Iterator[None]:
    """Disables what the program does about reference cycles."""
    ours = cast("Any", SparingCompositor)
    with (
        mock.patch.object(LettingGo, "_register", App._register),
        mock.patch.object(LettingGo, "_prune", App._prune),
        mock.patch.object(ours, "_arrange_root", Compositor._arrange_root),
        mock.patch.object(ours, "_get_renders", _uncut),
    ):
        yield


def _uncut(self: Any, crop: Any = None) -> Any:
    return Compositor._get_renders(self) if crop is None else self._touched(crop)


def found(label: str) -> None:
    began = time.perf_counter()
    garbage = gc.collect()
    took = time.perf_counter() - began
    alive = len(gc.get_objects())
    print(f"  {label:<24} {garbage:>8,} of garbage, {alive:>8,} alive; found in {1000 * took:6.1f} ms")


async def used(pilot: Pilot[None], place: Stage, store: Store, pages: int, turns: int) -> None:
    chat = screen_of(place)
    gc.collect()
    gc.disable()
    try:
        chat.open_session((await store.get_session("last")).id)
        await until(lambda: len(chat.transcript.blocks) >= 20)
        await painted(pilot)
        found("opened")
        for _ in range(pages):
            chat.action_page_up()
            await painted(pilot)
            await asyncio.sleep(0.05)
        found(f"{pages} pages up")
        chat.action_new_session()
        await until(lambda: chat.current.id is None and not chat.transcript.blocks)
        await asyncio.sleep(0.3)
        found("left")
        for number in range(turns):
            chat.composer.say(chat.current, f"Question {number} about the tides?")
            await until(lambda: not chat.current.busy)
            await painted(pilot)
        found(f"{turns} turns")
    finally:
        gc.enable()


async def measure(pages: int, turns: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = await room(Path(folder), (long_session(MESSAGES),))
        place = stage(Path(folder), store=cast("Any", store), model=NamedModel([WORDS]))
        async with place.app.run_test(size=SIZE) as pilot:
            await until(lambda: place.app.chat is not None and place.app.chat.is_mounted)
            await asyncio.sleep(0.5)
            await used(pilot, place, store, pages, turns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--turns", type=int, default=20)
    args = parser.parse_args()
    with as_textual_leaves_them():
        print("As Textual leaves them:")
        asyncio.run(measure(args.pages, args.turns))
    print("As the program does:")
    asyncio.run(measure(args.pages, args.turns))


if __name__ == "__main__":
    main()
