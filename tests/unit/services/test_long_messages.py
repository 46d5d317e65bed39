"""A message as long as a book, and as hard to read as can be, keeps nothing waiting."""

import time

import pytest

from atlas_desktop.services.room import RoomFactory
from memory.context.engine import in_parts
from memory.entities import Message
from memory.jobs.foreground_gate import ForegroundGate
from memory.storage.room import open_off_record
from tests.fakes.models import WordCounter
from tests.fakes.vector_index import BruteForceVectorIndex
from tests.tui.watchdog import each_time, watched
from tests.unit.services.scene import Scene

HARD = "Look at this" + "!" * 400_000 + "x"
LIMIT_S = 0.1
MOST_S = 20.0


@pytest.mark.alone
async def test_a_hard_message_is_embedded_and_learned_from_beside_the_loop() -> None:
    scene = Scene()
    store = await open_off_record(scene.clock)
    room = RoomFactory(
        clock=scene.clock,
        gate=ForegroundGate(),
        power=None,
        model=scene._model,
        settings=lambda: scene.settings,
        vector_index=lambda _passages: BruteForceVectorIndex(),
    ).room(store, None)
    scene.room = room
    await scene.say("Hello, I live in Bergen.")
    tries: list[dict[str, float]] = []
    began = time.process_time()
    for _ in range(3):
        async with watched(paced=True) as dog:
            done, _ = await scene.say(HARD)
            await room.remember()
            await room.learning.everything()
            await room.background.run()
            await room.chat.context.in_parts(HARD, system=None, reply=16)
        kept: Message = (await store.branch(done.session.id, newest=2))[0]
        assert kept.content == HARD
        tries.append(dog.too_long(LIMIT_S))
        if not each_time(tries):
            break
    assert not each_time(tries)
    assert time.process_time() - began < MOST_S
    await room.close()


async def test_a_cluster_without_end_is_cut() -> None:
    """An e with half a million accents."""
    text = "e" + "\u0301" * 500_000
    parts = await in_parts(text, WordCounter(), 10)
    assert "".join(parts) == text
