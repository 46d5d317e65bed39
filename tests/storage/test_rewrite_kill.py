"""Killed in the midst of summing up, rewriting, forking or erasing, a room has done all of it or nothing."""

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from memory.context.entities import Summary, SummaryState
from memory.entities import Session
from memory.errors import SessionNotFound, SummaryNotFound
from memory.storage.store import SqlSessionStore
from tests.storage.conftest import Place
from tests.storage.rewriter import LENGTH

ROOT = Path(__file__).parents[2]


def rewrite_and_die(place: Place, steps: int) -> list[list[str]]:
    """What the process said, the words of each line, before it was killed after at least `steps` of them."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.storage.rewriter"],
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
        seen = [child.stdout.readline() for _ in range(steps)]
        child.kill()
        # A line without its end was cut off by the death of its writer and says nothing.
        seen += child.stdout.read().splitlines(keepends=True)
    return [line.split() for line in seen if line.endswith("\n")]


def is_whole(summary: Summary) -> bool:
    """Whether text and topics are of one writing."""
    if summary.text in {"a", "b"}:
        return summary.topics == ()
    return summary.text == f"{summary.topics[0]} " + "word " * 500


async def contents(store: SqlSessionStore, session: Session) -> list[object]:
    """What a fork has in common with the session that it was made from."""
    told = [(m.role, m.content, m.created_at) for m in await store.branch(session.id)]
    summed = [(one.text, one.level, one.state) for one in await store.context.summaries(session.id)]
    return [told, summed]


async def look(store: SqlSessionStore, said: list[list[str]]) -> None:
    """Asserts that the room is in a state between two steps, and not before any that was told of."""
    assert (await store.verify()).problems == ()
    sessions = await store.list_sessions()
    assert 1 <= len(sessions) <= 2
    found = [await contents(store, session) for session in sessions]
    assert all(one == found[0] for one in found)
    assert {session.message_count for session in sessions} == {LENGTH}
    for session in sessions:
        summaries = await store.context.summaries(session.id)
        assert all(map(is_whole, summaries))
        narrow = Counter(one.merged_into for one in summaries)
        assert all(narrow[one.id] == (one.text != "a") for one in summaries)
    for what, ref, *rest in said:
        if what == "erased":
            with pytest.raises(SessionNotFound):
                await store.get_session(ref)
        elif what == "merged" and (one := await kept(store, ref)) is not None:
            assert one.merged_into == rest[0]
        elif what == "rewritten" and (one := await kept(store, ref)) is not None:
            assert (one.topics, one.state) == (tuple(rest), SummaryState.CURRENT)
    made = [words[1] for words in said if words[0] == "made"]
    erased = {words[1] for words in said if words[0] == "erased"}
    assert made[-1] in {session.id for session in sessions}
    assert made[-1] not in erased


async def kept(store: SqlSessionStore, summary_id: str) -> Summary | None:
    """None when its session has been erased."""
    try:
        return await store.context.summary(summary_id)
    except SummaryNotFound:
        return None


async def check(place: Place, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(rounds):
        said = rewrite_and_die(place, chance.randint(1, 40))
        store = await place.open()
        try:
            await look(store, said)
        finally:
            await store.close()


async def test_every_step_is_done_whole_or_not_at_all(place: Place) -> None:
    await check(place, rounds=5, seed=20261122)


@pytest.mark.soak
async def test_every_step_is_done_whole_or_not_at_all_in_a_long_run(place: Place) -> None:
    await check(place, rounds=200, seed=11)
