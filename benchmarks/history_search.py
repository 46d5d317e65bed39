"""Measures search in a large room: `python -m benchmarks.history search`.

Text follows Zipf's law, so that queries consist of words of known frequency: in most messages, in a few of a
hundred, in one of a thousand, in almost none. Figures are wall clock, and processor time, which a busy
machine changes less.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

from memory.clock import SystemClock
from memory.entities import RoomKind
from memory.search.entities import Order, Query
from memory.search.language import parse
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.transfer import TravellingMessage, TravellingSession
from memory.vault.keys import RoomKey
from models.messages import Role

_VOCABULARY = 60_000
_A_SESSION = 50
_TIMES = 5
# Words by their rank in Zipf's law: w0 is in most messages, w300 in one of a hundred.
QUERIES = (
    "w0", "w3", "w30", "w300", "w3000", "w30000", "w0 w3", "w30 w31", "w3 w300", "w30 w31 w32", '"w0 w30"',
    "w30 OR w300", "w30 -w3", "w30 tag:few", "w3 tag:many", "w300 is:starred", "w30 role:user",
    "w3 after:2021-06", "is:starred", "has:code", "tag:few", "on:2021-03", "w30 project:one", "nothing",
)  # fmt: skip
TYPED = ("w", "w3", "w30", "w300", "w3000", "w3 w", "w3 w30", "w300 w3", "title12")


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser("search", help="finding messages and sessions, and the list of sessions")
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--show", action="store_true", help="every query by itself")
    parser.set_defaults(run=run)


async def run(args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = await open_room(
            Path(folder) / "rooms" / "open.db", RoomKey.generate(), RoomKind.OPEN, SystemClock(), create=True
        )
        number = max(args.messages // _A_SESSION, 1)
        batch: list[TravellingSession] = []
        for session in sessions(number):
            batch.append(session)
            if len(batch) == 200:
                await store.transfer.take_many(batch, learn=False)
                batch.clear()
        await store.transfer.take_many(batch, learn=False)
        print(f"{number * _A_SESSION:,} messages in {number:,} sessions")
        await measure(store, show=args.show)
        await store.close()


async def measure(store: Store, *, show: bool) -> None:
    now = datetime(2022, 1, 1, tzinfo=UTC)

    async def messages(text: str) -> None:
        await store.find.messages(parse(text, now))

    async def best(text: str) -> None:
        await store.find.sessions(parse(text, now), limit=20, order=Order.BEST)

    async def typed(text: str) -> None:
        await store.find.sessions(parse(text, now, typing=True), limit=100, snippets=False)

    async def listed(_text: str) -> None:
        await store.find.sessions(Query(), limit=100)

    for name, queries, find in (
        ("messages, best first", QUERIES, messages),
        ("sessions, best first", QUERIES, best),
        ("filter as you type", TYPED, typed),
        ("first page of the list", ("",), listed),
    ):
        await _measure(name, queries, find, show=show)


async def _measure(
    name: str, queries: tuple[str, ...], find: Callable[[str], Awaitable[None]], *, show: bool
) -> None:
    walls: list[float] = []
    uses: list[float] = []
    for text in queries:
        own: list[tuple[float, float]] = []
        for _ in range(_TIMES):
            wall, used = time.perf_counter(), time.process_time()
            await find(text)
            own.append((1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - used)))
        walls += [wall for wall, _ in own]
        uses += [used for _, used in own]
        if show:
            least = min(used for _, used in own)
            print(
                f"    {text:24} {own[0][0]:7.1f} ms at first, then {min(own[1:])[0]:7.1f}; own {least:6.1f}"
            )
    print(
        f"{name:24} p50 {_share(walls, 0.5):6.1f}  p95 {_share(walls, 0.95):6.1f} ms"
        f"   of processor time {_share(uses, 0.5):6.1f} and {_share(uses, 0.95):6.1f} ms"
    )


def _share(values: list[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def sessions(number: int) -> Iterator[TravellingSession]:
    """Yields `number` sessions, always the same."""
    chance = random.Random(4711)
    words = [f"w{rank}" for rank in range(_VOCABULARY)]
    weights = list(accumulate(1 / (rank + 1) for rank in range(_VOCABULARY)))
    begin = datetime(2021, 1, 1, tzinfo=UTC)
    for at in range(number):
        when = begin + timedelta(seconds=at * 365 * 86_400 / number)
        said: list[TravellingMessage] = []
        for place in range(_A_SESSION):
            asked = place % 2 == 0
            text = " ".join(chance.choices(words, cum_weights=weights, k=20 if asked else 60))
            said.append(
                TravellingMessage(
                    f"{at}-{place}",
                    said[-1].id if said else None,
                    Role.USER if asked else Role.ASSISTANT,
                    "",
                    f"{text}\n```\nx = 1\n```" if place == 9 and at % 10 == 0 else text,
                    when + timedelta(seconds=place),
                )
            )
        tags = ("few",) * (at % 100 == 0) + ("many",) * (at % 3 == 0)
        yield TravellingSession(
            f"s{at}",
            f"title{at} {words[at % _VOCABULARY]}",
            when,
            when + timedelta(seconds=_A_SESSION),
            tuple(said),
            project="one" if at % 5 == 0 else None,
            tags=tags,
            starred=at % 20 == 0,
        )
