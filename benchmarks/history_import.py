"""Measures how fast another program's export is imported: read, stored durably, and indexed for search.

Creates a ChatGPT export, with questions of 25 words and answers of 160, and imports it into a room. Figures
are wall clock, and processor time, which a busy machine changes less.
"""

import argparse
import json
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from itertools import accumulate, count
from pathlib import Path
from typing import Any

from atlas_desktop.importing.importer import Importer
from memory.clock import SystemClock
from memory.entities import RoomKind
from memory.storage.room import open_room
from memory.vault.keys import RoomKey

_VOCABULARY = 30_000


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser("import", help="messages a second from a file to durable and searchable")
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--messages", type=int, default=20, help="messages a session")
    parser.add_argument("--megabytes", type=int, help="make a file of so many, in place of --sessions")
    parser.add_argument("--again", action="store_true", help="measure a second import of the same file too")
    parser.set_defaults(run=run)


async def run(args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "conversations.json"
        least = 1_000_000 * args.megabytes if args.megabytes else None
        write(file, args.sessions, args.messages, least)
        before = peak()
        store = await open_room(
            Path(folder) / "rooms" / "open.db", RoomKey.generate(), RoomKind.OPEN, SystemClock(), create=True
        )
        for name in ("first time", "again")[: 2 if args.again else 1]:
            wall, used = time.perf_counter(), time.process_time()
            report = await Importer(store.transfer).take([file])
            wall, used = time.perf_counter() - wall, time.process_time() - used
            total = report.messages + report.already_there
            print(f"{name}: {total:,} messages in {report.sessions + report.known_sessions:,} conversations")
            print(f"  {total / wall:,.0f} messages/s; {total / used:,.0f} a second of processor time")
        found = await store.search("w7", limit=1)
        print(f"  {file.stat().st_size / 1e6:,.0f} MB of JSON; found by its words: {bool(found)}")
        print(f"  at most {peak():,.0f} MB of resident memory; {before:,.0f} before it began")
        await store.close()


def peak() -> float:
    """Returns the peak resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def write(file: Path, sessions: int, messages: int, least: int | None = None) -> None:
    """Writes a `conversations.json` of `sessions` conversations or `least` characters; always the same."""
    written = 0
    with file.open("w", encoding="utf-8") as out:
        out.write("[")
        for number, conversation in enumerate(conversations(sessions if least is None else None, messages)):
            written += out.write(",\n" * (number > 0) + json.dumps(conversation))
            if least is not None and written >= least:
                break
        out.write("]")


def conversations(sessions: int | None, messages: int) -> Iterator[dict[str, Any]]:
    """Yields `sessions` conversations; None: without end."""
    chance = random.Random(4711)
    words = [f"w{n}" if n % 3 else f"word{n}" for n in range(_VOCABULARY)]
    # Words of a language roughly follow Zipf's law.
    weights = list(accumulate(1 / (n + 3) for n in range(_VOCABULARY)))
    for number in count() if sessions is None else range(sessions):
        nodes: dict[str, Any] = {}
        parent: str | None = None
        for place in range(messages):
            asked = place % 2 == 0
            said = " ".join(chance.choices(words, cum_weights=weights, k=25 if asked else 160))
            key = f"{number:08x}-0000-4000-8000-{place:012x}"
            nodes[key] = {
                "id": key,
                "parent": parent,
                "children": [],
                "message": {
                    "id": key,
                    "author": {"role": "user" if asked else "assistant", "name": None, "metadata": {}},
                    "create_time": 1.7e9 + number * 3600 + place,
                    "content": {"content_type": "text", "parts": [said]},
                    "status": "finished_successfully",
                    "weight": 1.0,
                    "metadata": {} if asked else {"model_slug": "gpt-4o", "finish_details": {"type": "stop"}},
                    "recipient": "all",
                },
            }
            parent = key
        yield {
            "title": f"Conversation {number}",
            "create_time": 1.7e9 + number * 3600,
            "update_time": 1.7e9 + number * 3600 + messages,
            "mapping": nodes,
            "current_node": parent,
            "conversation_id": f"{number:08x}-0000-4000-8000-ffffffffffff",
        }
