"""Measures verified forgetting in a full room: `python -m benchmarks.forget [--messages N]`.

Forgets a session of 1,000 messages with vectors, summaries, memories, and turns of other sessions that
recalled it. Prints the wall time of one call, until it is on disk and the log is empty; `cpu` is the
processor time of the process.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.storage import text
from memory.clock import SystemClock
from memory.context.entities import NewSummary, TierUse, TurnRecord
from memory.entities import Message, RoomKind, Target
from memory.memories.entities import MemoryKind, MemoryOrigin, MemorySource, NewMemory
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.transfer import TravellingMessage, TravellingSession
from memory.vault.keys import RoomKey
from memory.vectors.entities import Embedded
from models.messages import Role

A_SESSION = 1_000
DIMENSION = 384


async def fill(store: Store, number: int, messages: int, *, memories: int) -> list[Message]:
    """Adds one session with everything derived from its messages; returns these."""
    at = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(hours=number)
    said = tuple(
        TravellingMessage(
            f"{number}-{n}",
            f"{number}-{n - 1}" if n else None,
            Role.ASSISTANT if n % 2 else Role.USER,
            "",
            f"{text(number * 31 + n)} code{number}x{n}",
            at + timedelta(seconds=n),
        )
        for n in range(messages)
    )
    session = (
        await store.transfer.take(TravellingSession(f"s{number}", f"Talk {number}", at, at, said))
    ).session_id
    kept = await store.branch(session)
    for start in range(0, messages, 10):
        covers = tuple(message.id for message in kept[start : start + 10])
        await store.context.add_summary(session, NewSummary(kept[start].content, covers))
    for message in kept[: 2 * memories : 2]:
        source = MemorySource(message.id, session, message.content[:40])
        await store.memories.add(
            NewMemory(MemoryKind.FACT, message.content[:120], MemoryOrigin.PATTERN, (source,))
        )
    return kept


async def embed(store: Store) -> None:
    before = None
    while found := await store.vectors.unembedded("v", limit=500, before=before):
        before = min(one.seq for one in found)
        await store.vectors.put("v", [Embedded(one, (random.randbytes(4 * DIMENSION),)) for one in found])


async def recalled(store: Store, by: list[Message], what: list[Message]) -> None:
    """Records every reply of `by` with messages of `what` in its prompt."""
    for number, reply in enumerate(by[1::2]):
        ids = tuple(one.id for one in what[number % len(what) :][:5])
        recent = tuple(one.id for one in by[max(2 * number - 10, 0) : 2 * number])
        parts = (TierUse("recent", 100, recent), TierUse("recall", 100, ids))
        await store.context.record_turn(TurnRecord(reply.id, reply.session_id, None, "m", "ab", 9, parts))


async def timed(name: str, work: Callable[[], Awaitable[object]]) -> None:
    began, cpu = time.perf_counter(), time.process_time()
    result = await work()
    erased = getattr(result, "erased", result)
    print(
        f"{name:44} {time.perf_counter() - began:6.2f} s  cpu {time.process_time() - cpu:6.2f} s  "
        f"messages {erased.messages:5}  memories {erased.memories:4}  "  # type: ignore[attr-defined]
        f"vectors {erased.vectors:5}  verified {erased.verified}",  # type: ignore[attr-defined]
        flush=True,
    )


async def measure(folder: Path, messages: int) -> None:
    random.seed(1)
    store = await open_room(
        folder / "rooms" / "open.db", RoomKey.generate(), RoomKind.OPEN, SystemClock(), create=True
    )
    others = [await fill(store, n, 200, memories=10) for n in range(max(messages // 200, 1))]
    whole = await fill(store, 1_000_001, A_SESSION, memories=100)
    apart = await fill(store, 1_000_002, A_SESSION, memories=100)
    for other in others:
        await recalled(store, other, whole if other is others[0] else others[0])
    await embed(store)
    size = (folder / "rooms" / "open.db").stat().st_size / 1e6
    print(f"a room of {messages + 2 * A_SESSION:,} messages, {size:.0f} MB")
    session = whole[0].session_id
    target = Target(sessions=(session,))
    await timed("what would go with 1,000 messages", lambda: store.forget(target, dry_run=True))
    await timed("a session of 1,000 messages", lambda: store.forget(target))
    one = Target(messages=(apart[0].id,))
    await timed("one message", lambda: store.forget(one))
    await timed("all about a word", lambda: store.forget(Target(about="code1000002x500")))
    await timed("the other session of 1,000 messages", lambda: store.erase_session(apart[0].session_id))
    await store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000, help="messages of other sessions (20000)")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), parser.parse_args().messages))


if __name__ == "__main__":
    main()
