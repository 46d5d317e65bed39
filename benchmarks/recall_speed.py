"""Measures recall in a large room: `python -m benchmarks.recall_speed [MESSAGES] [MEMORIES]`.

Uses a room in memory with 100,000 messages and 10,000 memories of made-up words, with vectors made from these
words. There is no model: the embedding of a question costs 5 to 10 ms more, see `benchmarks.recall`. Prints
the time to read the room and to fill the index at unlock, the milliseconds of questions (wall clock and
processor), the same when messages of the last hours contain the answer, and the resident memory of the
process.
"""

import asyncio
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from itertools import accumulate

import numpy as np
import psutil

from memory.clock import SystemClock
from memory.entities import NewMessage, NewSession
from memory.memories.entities import MemoryKind, MemoryOrigin, NewMemory
from memory.recall.engine import RecallEngine
from memory.recall.entities import QueryVector, RecallQuery
from memory.storage.room import open_off_record
from memory.storage.store import Store
from memory.transfer import TravellingMessage, TravellingSession
from memory.vectors.entities import Embedded, Unembedded
from memory.vectors.flat import FlatVectorIndex
from memory.vectors.indexing import IndexMirror
from models.messages import Role

DIMENSION = 384
A_SESSION = 100
VOCABULARY = 20_000
MODEL = "made-up"
QUESTIONS = 60


class Words:
    """Makes text with word frequencies as uneven as in a language, and vectors that similar texts share."""

    def __init__(self) -> None:
        self._random = random.Random(7)
        numbers = np.random.default_rng(7)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self._words = ["".join(self._random.choices(letters, k=7)) for _ in range(VOCABULARY)]
        self._cumulative = list(accumulate(1 / (rank + 10) for rank in range(VOCABULARY)))
        self._basis = numbers.standard_normal((VOCABULARY, DIMENSION)).astype(np.float32)
        self._places = {word: at for at, word in enumerate(self._words)}

    def text(self, count: int) -> str:
        return " ".join(self._random.choices(self._words, cum_weights=self._cumulative, k=count))

    def numbers(self, text: str) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
        found = [self._places[word] for word in text.split() if word in self._places]
        own = self._basis[found].sum(0) if found else self._basis[0]
        return np.asarray(own / np.linalg.norm(own), np.float32)

    async def vector(self, text: str) -> QueryVector:
        return QueryVector(MODEL, tuple(map(float, self.numbers(text))))


async def fill(store: Store, words: Words, messages: int, memories: int) -> None:
    begun = datetime(2023, 1, 1, tzinfo=UTC)
    for number in range(messages // A_SESSION):
        at = begun + timedelta(hours=8 * number)
        said: list[TravellingMessage] = []
        for turn in range(A_SESSION):
            role = Role.ASSISTANT if turn % 2 else Role.USER
            parent = said[-1].id if said else None
            name = f"{number}/{turn}"
            said.append(
                TravellingMessage(name, parent, role, role, words.text(25), at + timedelta(minutes=turn))
            )
        session = TravellingSession(str(number), "s", at, at, tuple(said), project=f"p{number % 10}")
        await store.transfer.take(session)
    for _ in range(memories):
        await store.memories.add(NewMemory(MemoryKind.FACT, words.text(10), MemoryOrigin.PATTERN))
    before = None
    while found := await store.vectors.unembedded(MODEL, limit=500, before=before):
        before = min(one.seq for one in found)
        await store.vectors.put(MODEL, [_embedded(words, one) for one in found])


def _embedded(words: Words, one: Unembedded) -> Embedded:
    return Embedded(one, (words.numbers(one.text).tobytes(),))


async def timed(name: str, ask: Callable[[str], Awaitable[object]], questions: list[str]) -> None:
    took, busy = [], []
    for question in questions:
        wall, processor = time.perf_counter(), time.process_time()
        await ask(question)
        took.append(1000 * (time.perf_counter() - wall))
        busy.append(1000 * (time.process_time() - processor))
    wall_q, busy_q = statistics.quantiles(took, n=20), statistics.quantiles(busy, n=20)
    print(f"{name:<32}{wall_q[9]:>8.1f}{wall_q[18]:>8.1f}{busy_q[9]:>12.1f}{busy_q[18]:>8.1f}")


async def main(messages: int, memories: int) -> None:
    words = Words()
    store = await open_off_record(SystemClock())
    await fill(store, words, messages, memories)
    mirror = IndexMirror(store.vectors, FlatVectorIndex())
    engine = RecallEngine(store.evidence, SystemClock(), mirror=mirror, vectors=words)
    held = psutil.Process().memory_info().rss
    begun, processor = time.perf_counter(), time.process_time()
    await engine.warm()
    print(f"reading {time.perf_counter() - begun:.2f} s ({time.process_time() - processor:.2f} s busy)")
    begun, processor = time.perf_counter(), time.process_time()
    passages = await mirror.fill(MODEL)
    took, busy = time.perf_counter() - begun, time.process_time() - processor
    print(f"index of {passages:,} vectors {took:.2f} s ({busy:.2f} s busy)\n")
    questions = [f"what about {words.text(5)}" for _ in range(QUESTIONS)]
    both = ["message", "memory"]
    print(f"{'milliseconds':<32}{'p50':>8}{'p95':>8}{'busy p50':>12}{'p95':>8}")
    await engine.recall(RecallQuery(questions[0], kinds=both))
    await timed("messages", lambda asked: engine.recall(RecallQuery(asked)), questions)
    await timed(
        "messages and memories", lambda asked: engine.recall(RecallQuery(asked, kinds=both)), questions
    )
    await timed(
        "of one project", lambda asked: engine.recall(RecallQuery(asked, kinds=both, project="p3")), questions
    )
    await timed("memories", lambda asked: engine.recall(RecallQuery(asked, kinds=["memory"])), questions)
    said = words.text(12)
    await store.create_session(NewSession("now"), NewMessage(Role.USER, said))
    just_now = [" ".join(said.split()[at : at + 5]) for at in range(6)] * 10
    await timed(
        "said just now",
        lambda asked: engine.recall(RecallQuery(asked, kinds=both, recent_first=True)),
        just_now,
    )
    added = (psutil.Process().memory_info().rss - held) / 2**20
    print(f"\nresident memory: {added:.0f} MB more than the room itself, which is in memory here")
    await store.close()


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    asyncio.run(main(*(given + [100_000, 10_000][len(given) :])))
