"""Killed at any moment, a room keeps what it said it had."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from memory.entities import MessageStatus
from tests.storage.conftest import Place

ROOT = Path(__file__).parents[2]


def write_and_die(place: Place, acknowledgements: int) -> list[str]:
    """Ids that the process acknowledged before it was killed, at least `acknowledgements` of them."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.storage.appender"],
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
        seen = [child.stdout.readline().strip() for _ in range(acknowledgements)]
        child.kill()
        rest = child.stdout.read().split("\n")
    # A line without its end was cut off by the death of its writer and acknowledges nothing.
    return seen + rest[:-1]


async def check(place: Place, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    acknowledged: set[str] = set()
    for _ in range(rounds):
        acknowledged.update(write_and_die(place, chance.randint(1, 120)))
        store = await place.open()
        sessions = await store.list_sessions()
        stored = [message for session in sessions for message in await store.branch(session.id)]
        report = await store.verify()
        await store.close()
        assert report.problems == ()
        assert acknowledged <= {message.id for message in stored}
        finished = {message.id for message in stored if message.status is MessageStatus.COMPLETE}
        assert acknowledged <= finished
        assert all(message.status is not MessageStatus.STREAMING for message in stored)


async def test_nothing_acknowledged_is_lost(place: Place) -> None:
    await check(place, rounds=5, seed=20261121)


@pytest.mark.soak
async def test_nothing_acknowledged_is_lost_in_a_long_run(place: Place) -> None:
    await check(place, rounds=200, seed=7)
