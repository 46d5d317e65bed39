"""Measures how fast conversations are exported, by format: read from a room, written, put in place.

The room contains conversations of questions and answers, every third answer with a block of code. Figures are
wall clock, and processor time, which a busy machine changes less.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil

from atlas_desktop.exporting.formats import FORMATS
from atlas_desktop.exporting.redaction import KINDS, Redaction
from atlas_desktop.exporting.service import Chosen, ExportService, FileTarget, Order
from memory.clock import SystemClock
from memory.entities import RoomKind
from memory.storage.room import open_room
from memory.transfer import TravellingMessage, TravellingSession
from memory.vault.keys import RoomKey
from models.messages import Role

_THEN = datetime(2024, 1, 1, tzinfo=UTC)
_ASKED = "How would you plan three days in the mountains with two children, and what has to be in the bag? "
_ANSWER = "Start **early**, and keep the last day free.\n\n## Bag\n\n1. Rain jackets\n2. Water\n\n"
_CODE = "```python\nfor day in days:\n    print(day)\n```\n"
_WORDS = "The path goes up through the forest and then along the lake, where there is shade at noon. "


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser("export", help="messages a second from a room to a file")
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--messages", type=int, default=20, help="messages a session")
    parser.add_argument("--formats", default="md,html,txt,json,jsonl,csv", help="names with commas between")
    parser.add_argument("--redact", action="store_true", help="take out personal data too")
    parser.set_defaults(run=run)


async def run(args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "rooms" / "open.db"
        store = await open_room(place, RoomKey.generate(), RoomKind.OPEN, SystemClock(), create=True)
        for session in sessions(args.sessions, args.messages):
            await store.transfer.take(session)
        before = psutil.Process().memory_info().rss
        chosen = [Chosen(store, tuple(await store.transfer.all_ids()))]
        redaction = Redaction(frozenset(KINDS)) if args.redact else None
        for name in args.formats.split(","):
            file = Path(folder) / f"out{FORMATS[name].suffix}"
            wall, used = time.perf_counter(), time.process_time()
            report = await ExportService(chosen).write(
                Order(name, redaction=redaction), FileTarget(file, force=True)
            )
            wall, used = time.perf_counter() - wall, time.process_time() - used
            print(
                f"{name:6} {report.messages:,} messages, {file.stat().st_size / 1e6:,.0f} MB: "
                f"{report.messages / wall:,.0f} messages/s; "
                f"{report.messages / used:,.0f} a second of processor time"
            )
        grown = psutil.Process().memory_info().rss - before
        print(f"resident memory grew by {grown / 1e6:,.0f} MB")
        await store.close()


def sessions(count: int, messages: int) -> Iterator[TravellingSession]:
    for number in range(count):
        said = tuple(
            TravellingMessage(
                f"m{number}.{at}",
                f"m{number}.{at - 1}" if at else None,
                Role.ASSISTANT if at % 2 else Role.USER,
                "",
                (_ANSWER + _WORDS * 6 + _CODE * (at % 3 == 0)) if at % 2 else _ASKED,
                _THEN + timedelta(minutes=at),
            )
            for at in range(messages)
        )
        yield TravellingSession(f"s{number}", f"Conversation {number}", _THEN, _THEN, said, tags=("trip",))
