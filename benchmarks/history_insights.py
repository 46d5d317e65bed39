"""Measures how long a user's own statistics take: `python -m benchmarks.history insights`.

The room resembles a used one: conversations over one year, tags, projects and categories, and a vector for
each message. Figures are wall clock, and processor time, which a busy machine changes less.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from atlas_desktop.services.insights import insights
from benchmarks.history_search import sessions
from memory.clock import SystemClock
from memory.entities import RoomKind
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.transfer import TravellingSession
from memory.vault.keys import RoomKey
from memory.vectors.entities import Embedded

_A_SESSION = 50
_DIMENSIONS = 384
_BEGIN = datetime(2021, 1, 1, tzinfo=UTC)
_THEMES = 8


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser("insights", help="a person's own statistics")
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=5)
    parser.set_defaults(run=run)


async def run(args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place, key = Path(folder) / "rooms" / "open.db", RoomKey.generate()
        store = await open_room(place, key, RoomKind.OPEN, SystemClock(), create=True)
        number = max(args.messages // _A_SESSION, 1)
        batch: list[TravellingSession] = []
        for session in _talks(number):
            batch.append(session)
            if len(batch) == 200:
                await store.transfer.take_many(batch, learn=False)
                batch.clear()
        await store.transfer.take_many(batch, learn=False)
        await _embed(store)
        await store.close()
        size = place.stat().st_size / 1e6
        print(f"{number * _A_SESSION:,} messages in {number:,} conversations, {size:,.0f} MB")
        for at in range(args.times):
            # As in a command: nothing of the room has been read.
            store = await open_room(place, key, RoomKind.OPEN, SystemClock())
            wall, used = time.perf_counter(), time.process_time()
            found = await insights([store])
            wall, used = time.perf_counter() - wall, time.process_time() - used
            told = f"{len(found.days)} days, {len(found.topics)} topics" if not at else ""
            print(f"  {wall:.2f} s, {used:.2f} s of processor time  {told}")
            await store.close()


def _talks(number: int) -> Iterator[TravellingSession]:
    """Yields the sessions of the search benchmark, with tags, projects and categories."""
    for at, session in enumerate(sessions(number)):
        yield replace(
            session,
            tags=tuple(f"tag{one}" for one in range(_THEMES) if (at + one) % (one + 3) == 0),
            project=f"project {at % _THEMES}" if at % 3 else None,
            category=("Work", "Travel", "Health", "")[at % 4],
        )


async def _embed(store: Store) -> None:
    """Adds vectors around a few themes, one theme per conversation."""
    import numpy as np

    chance = np.random.default_rng(4711)
    themes = chance.standard_normal((_THEMES, _DIMENSIONS))
    theme_of: dict[str | None, int] = {}
    before: int | None = None
    while waiting := await store.vectors.unembedded("bench", limit=2000, before=before):
        noise = chance.standard_normal((len(waiting), _DIMENSIONS))
        places = [theme_of.setdefault(one.session_id, len(theme_of) % _THEMES) for one in waiting]
        made = themes[places] + 0.8 * noise
        made = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype("<f4")
        await store.vectors.put(
            "bench", [Embedded(one, (row.tobytes(),)) for one, row in zip(waiting, made, strict=True)]
        )
        before = min(one.seq for one in waiting)
