"""Killed while it summarises, a session keeps every message and every summary, and goes on from there."""

import random
import subprocess
import sys
from pathlib import Path

from memory.context.entities import SummaryState
from memory.lifecycle.compaction import Compactor
from memory.lifecycle.standing import standing
from memory.lifecycle.summarise import Summariser
from models.testing import ScriptedChatModel, WordCounter
from tests.storage.compactor import LIMITS, TOLD
from tests.storage.conftest import Place

ROOT = Path(__file__).parents[2]


def summarise_and_die(place: Place, acknowledgements: int) -> list[str]:
    """Ids of the summaries that the process acknowledged before it was killed."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.storage.compactor"],
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
    return seen + rest[:-1]


async def test_no_summary_is_lost_or_made_twice(place: Place) -> None:
    chance = random.Random(20261122)
    acknowledged: set[str] = set()
    for _ in range(3):
        acknowledged.update(summarise_and_die(place, chance.randint(1, 6)))
        store = await place.open()
        (session,) = await store.list_sessions()
        branch = await store.branch(session.id)
        summaries = await store.context.summaries(session.id)
        assert acknowledged <= {summary.id for summary in summaries}
        # Each stretch of the talk was summarised once, and what was merged says into what.
        assert len({summary.covers for summary in summaries}) == len(summaries)
        merged = {summary.id for summary in summaries if summary.state is SummaryState.MERGED}
        assert merged == {summary.id for summary in summaries if summary.merged_into is not None}
        before = {summary.id for summary in summaries}
        compactor = Compactor(
            store, Summariser(ScriptedChatModel([TOLD]), WordCounter(), results=store.jobs), WordCounter()
        )
        await compactor.compact(session.id, LIMITS)
        after = await store.context.summaries(session.id)
        assert before <= {summary.id for summary in after}
        assert (await compactor.plan(session.id, LIMITS)).empty
        stretches = standing([message.id for message in branch], after)
        assert all(stretch.summary for stretch in stretches)
        assert len(stretches) <= LIMITS.max_summaries
        assert (await store.verify()).problems == ()
        await store.close()
