"""Measures moving a conversation between rooms: `python -m benchmarks.rooms`.

Moves a session of 1,000 messages, with full-text entries and a vector each, to the private room and back, in
rooms that contain others like it. Prints wall clock, and processor time, which a busy machine changes little.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.storage import text
from memory.clock import SystemClock
from memory.entities import NewMessage, NewSession, RoomKind
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.vault.keys import RoomKey
from memory.vectors.entities import Embedded
from models.messages import Role

VECTOR = bytes(range(256)) * 6


async def fill(store: Store, messages: int) -> str:
    session, _ = await store.create_session(NewSession("long"), NewMessage(Role.USER, text(0)))
    for n in range(1, messages):
        await store.append_message(session.id, NewMessage(Role.ASSISTANT if n % 2 else Role.USER, text(n)))
    while missing := await store.vectors.unembedded("m", limit=256, session=session.id):
        await store.vectors.put("m", [Embedded(one, (VECTOR,)) for one in missing])
    return session.id


async def move(source: Store, target: Store, session_id: str) -> None:
    """Performs the three steps of `atlas_desktop.services.desk`, without notifying the model."""
    private = target if target.room is RoomKind.PRIVATE else source
    sealer = await private.moves.sealer()
    await source.moves.depart(session_id, target.room, sealer)
    await target.moves.arrive(sealer.unseal(await source.moves.parcel(session_id), session_id))
    await source.moves.delivered(session_id)


async def measure(folder: Path, messages: int, sessions: int, rounds: int) -> tuple[list[float], list[float]]:
    """Returns the wall clock and processor seconds of each move."""
    stores = [
        await open_room(folder / f"{kind}.db", RoomKey.generate(), kind, SystemClock(), create=True)
        for kind in (RoomKind.OPEN, RoomKind.PRIVATE)
    ]
    ids = [await fill(store, messages) for store in stores for _ in range(sessions)]
    wall, processor = [], []
    source, target = stores
    for _ in range(rounds):
        at, used = time.perf_counter(), time.process_time()
        await move(source, target, ids[0])
        wall.append(time.perf_counter() - at)
        processor.append(time.process_time() - used)
        source, target = target, source
    for store in stores:
        await store.close()
    return wall, processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1000)
    parser.add_argument("--sessions", type=int, default=3, help="like it, in each room")
    parser.add_argument("--rounds", type=int, default=6)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wall, processor = asyncio.run(measure(Path(folder), args.messages, args.sessions, args.rounds))
    print(f"moving {args.messages:,} messages: {statistics.median(wall):.2f} s (worst {max(wall):.2f} s)")
    print(f"  of the processor {statistics.median(processor):.2f} s")


if __name__ == "__main__":
    main()
