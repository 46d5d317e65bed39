"""Measures a first sync, joining, one change and an idle look: `python -m benchmarks.sync [MESSAGES]`."""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import msgspec

from memory.clock import SystemClock
from memory.entities import NewMessage, NewSession, RoomKind, SessionPatch
from memory.storage.connection import Connection
from memory.storage.queries import full_text
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.sync import folder as sync_folder
from memory.sync.entities import Change, KeySet, Segment, SyncReport
from memory.sync.exchange import SLICE, Exchange
from memory.sync.folder import SyncFolder
from memory.sync.tables import ALL
from memory.transfer import TravellingMessage, TravellingSession
from memory.vault.keys import RoomKey
from models.messages import Role

_EACH = 100
_WORDS = "anchor buoy chart deck ebb fender gale halyard inlet jetty keel ledge mast neap oar pier quay reef"


def _session(number: int) -> TravellingSession:
    begun = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(hours=number)
    words = _WORDS.split()

    def text(place: int) -> str:
        first = (number * 7 + place * 3) % len(words)
        return " ".join((words[first:] + words[:first]) * 3) + f" {number} {place}"

    messages = tuple(
        TravellingMessage(
            id=f"s{number}.{place}",
            parent=f"s{number}.{place - 1}" if place else None,
            role=Role.ASSISTANT if place % 2 else Role.USER,
            speaker="",
            content=text(place),
            created_at=begun + timedelta(seconds=place),
        )
        for place in range(_EACH)
    )
    return TravellingSession(
        id=f"s{number}", title=f"Talk {number}", created_at=begun, updated_at=begun, messages=messages
    )


async def _sync(store: Store, folder: SyncFolder) -> tuple[float, SyncReport]:
    """Returns wall clock in seconds; prints processor time too where that is long."""
    begun, used = time.perf_counter(), time.process_time()
    report = await Exchange(store.sync, folder, SystemClock()).run()
    if (spent := time.process_time() - used) > 1:
        print(f"  (processor {spent:.2f} s)")
    return time.perf_counter() - begun, report


async def _begin(store: Store, folder: SyncFolder, stream: KeySet, name: str) -> float:
    begun = time.perf_counter()
    place = folder.make_place()
    pairs = sync_folder.signing_pair(), sync_folder.sealing_pair()
    await store.sync.begin(
        str(folder.path), name, place, stream, *pairs, device_id=sync_folder.new_device_id()
    )
    return time.perf_counter() - begun


def _size(folder: SyncFolder) -> int:
    return sum(file.stat().st_size for file in folder.path.rglob("*") if file.is_file())


async def measure(base: Path, count: int) -> None:
    folder = SyncFolder(base / "folder")
    folder.path.mkdir()
    rooms = [
        await open_room(base / f"{name}.db", RoomKey.generate(), RoomKind.OPEN, SystemClock(), create=True)
        for name in ("one", "two")
    ]
    one, two = rooms
    sessions = [_session(number) for number in range(count // _EACH)]
    begun = time.perf_counter()
    for at in range(0, len(sessions), 50):
        await one.transfer.take_many(sessions[at : at + 50])
    print(f"import of {count:,} messages, not synced   {time.perf_counter() - begun:7.2f} s")
    stream = sync_folder.new_keys()
    took = await _begin(one, folder, stream, "one")
    print(f"stamps for what is there                {took:7.2f} s")
    took, report = await _sync(one, folder)
    print(f"first sync                              {took:7.2f} s  {report.sent_bytes:,} bytes")
    await _begin(two, folder, stream, "two")
    took, report = await _sync(two, folder)
    print(f"joining                                 {took:7.2f} s  {report.received_changes:,} changes")
    bare = await _bare(base, folder, stream)
    print(f"the same rows, decrypted and stored     {bare:7.2f} s")
    print(f"joining takes                           {took / bare:7.1f} times as long as that")
    (talk, *_) = await one.list_sessions(limit=1)
    for name, store in (("idle", one), ("idle, the other", two)):
        await _sync(store, folder)
        took, report = await _sync(store, folder)
        print(f"{name:<39} {took * 1000:6.1f} ms  {report.sent_bytes:,} bytes")
    await one.append_message(talk.id, NewMessage(Role.USER, "One more message"))
    took, report = await _sync(one, folder)
    print(f"one new message, sent                   {took * 1000:6.1f} ms  {report.sent_bytes:,} bytes")
    took, report = await _sync(two, folder)
    print(f"one new message, received               {took * 1000:6.1f} ms  {report.received_bytes:,} bytes")
    await one.update_session(talk.id, SessionPatch(title="Another title"))
    took, report = await _sync(one, folder)
    print(f"one new title, sent                     {took * 1000:6.1f} ms  {report.sent_bytes:,} bytes")
    took, report = await _sync(two, folder)
    print(f"one new title, received                 {took * 1000:6.1f} ms  {report.received_bytes:,} bytes")
    await _writing(base, folder)
    await one.erase_session(talk.id)
    took, report = await _sync(one, folder)
    print(f"a session of {_EACH} forgotten, sent      {took * 1000:8.1f} ms  {report.sent_bytes:,} bytes")
    took, report = await _sync(two, folder)
    print(f"a session of {_EACH} forgotten, received  {took * 1000:8.1f} ms")
    print(f"folder {_size(folder) / 1e6:.1f} MB, rooms {(base / 'one.db').stat().st_size / 1e6:.1f} MB each")
    for store in rooms:
        await store.close()


async def _bare(base: Path, folder: SyncFolder, stream: KeySet) -> float:
    """Returns the seconds that it takes to decrypt all changes and store their rows in a new room, indexed,
    without a check or a stamp: no merge can be faster."""
    store = await open_room(base / "bare.db", RoomKey.generate(), RoomKind.OPEN, SystemClock(), create=True)
    await store._database.prepare(lambda conn: conn.execute("PRAGMA foreign_keys = OFF"))
    begun = time.perf_counter()
    for place, files in folder.look().places.items():
        for name in files:
            opened = sync_folder.read(folder.read(place, name) or b"", stream.keys)
            if isinstance(opened, sync_folder.Opened) and opened.kind == sync_folder.Kind.SEGMENT:
                changes = msgspec.msgpack.decode(opened.content, type=Segment).changes
                for at in range(0, len(changes), SLICE):
                    part = changes[at : at + SLICE]
                    await store._database.write(partial(_store_rows, changes=part))
    took = time.perf_counter() - begun
    await store.close()
    return took


def _store_rows(conn: Connection, changes: Sequence[Change]) -> None:
    with full_text.many(conn):
        for table in ALL:
            rows = [one.base for one in changes if one.table == table.name]
            for row in rows[:1]:
                names = ", ".join(f'"{name}"' for name in row)
                marks = ", ".join("?" for _ in row)
                conn.executemany(
                    f"INSERT INTO {table.name} ({names}) VALUES ({marks})",
                    [tuple(one.values()) for one in rows],
                )


async def _writing(base: Path, folder: SyncFolder) -> None:
    """Compares storing messages in a room that is synced with one that is not."""
    store = await open_room(base / "new.db", RoomKey.generate(), RoomKind.OPEN, SystemClock(), create=True)
    session, _ = await store.create_session(NewSession(title="Talk"), NewMessage(Role.USER, "Begin"))
    for name in ("not synced", "synced"):
        if name == "synced":
            await _begin(store, folder, sync_folder.new_keys(), name)
        begun = time.perf_counter()
        for number in range(500):
            await store.append_message(session.id, NewMessage(Role.USER, f"Message {number}"))
        each = (time.perf_counter() - begun) / 500 * 1000
        print(f"storing a message, {name:<20} {each:6.2f} ms")
    await store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("messages", nargs="?", type=int, default=100_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as base:
        asyncio.run(measure(Path(base), args.messages))


if __name__ == "__main__":
    main()
