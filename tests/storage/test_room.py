"""A room's file: who can read it, what opens it, and what is refused with nothing changed."""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from memory.entities import MessagePatch, MessageStatus, NewMessage, NewSession, RoomKind
from memory.errors import FutureSchema, NotARoom, RoomClosed, RoomMissing
from memory.storage.room import open_off_record
from memory.storage.store import Store
from memory.vault.keys import RoomKey
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.storage.conftest import Place, database_of

CANARY = "Quetzalcoatl-4711"


async def fill(store: Store, messages: int = 3) -> str:
    session, _ = await store.create_session(
        NewSession(f"title {CANARY}", project=f"project {CANARY}", system_prompt=CANARY),
        NewMessage(Role.USER, f"text {CANARY}", speaker=CANARY),
    )
    for n in range(messages):
        await store.append_message(session.id, NewMessage(Role.ASSISTANT, f"{CANARY} {n} " + "words " * 200))
    return session.id


async def test_files_are_for_their_owner_alone(place: Place) -> None:
    before = os.umask(0o000)
    try:
        store = await place.open(create=True)
        await fill(store)
        modes = {file.name: file.stat().st_mode & 0o777 for file in place.path.parent.iterdir()}
        await store.close()
    finally:
        os.umask(before)
    assert modes == {"open.db": 0o600, "open.db-wal": 0o600, "open.db-shm": 0o600}
    assert place.path.parent.stat().st_mode & 0o777 == 0o700


async def test_only_a_relaxed_room_writes_without_waiting_for_the_disk(place: Place, store: Store) -> None:
    async def waits() -> int:
        return int(
            await database_of(store).read(lambda conn: conn.execute("PRAGMA synchronous").fetchone()[0])
        )

    assert await waits() == 2
    await store.relax()
    assert await waits() == 0
    session = await fill(store)
    await store.close()
    again = await place.open()
    try:
        assert len(await again.branch(session)) == 4
    finally:
        await again.close()


async def test_no_word_is_readable_in_any_file(place: Place, store: Store) -> None:
    await fill(store, messages=200)
    needles = [
        CANARY.encode(),
        CANARY.encode("utf-16-le"),
        CANARY.lower().encode(),
        CANARY[:12].encode(),
        b"CREATE TABLE",
        b"SQLite format 3",
        place.key.data,
        place.key.data.hex().encode(),
    ]

    def exposed() -> list[tuple[str, bytes]]:
        return [
            (file.name, needle)
            for file in place.path.parent.iterdir()
            for needle in needles
            if needle in file.read_bytes()
        ]

    assert len(list(place.path.parent.iterdir())) == 3
    assert exposed() == []
    await store.close()
    assert exposed() == []


async def test_what_was_stored_is_there_after_reopening(place: Place) -> None:
    store = await place.open(create=True)
    session_id = await fill(store)
    before = await store.branch(session_id)
    await store.close()

    store = await place.open()
    after = await store.branch(session_id)
    await store.close()
    assert before == after
    assert len(after) == 4


async def test_a_missing_room_is_not_made_by_chance(place: Place) -> None:
    with pytest.raises(RoomMissing):
        await place.open()
    assert not place.path.parent.exists()


async def test_a_creation_that_was_cut_short_leaves_nothing_in_the_way(place: Place) -> None:
    place.path.parent.mkdir()
    for suffix in (".new", ".new-wal", ".new-journal", "-wal", "-shm"):
        place.path.with_name(place.path.name + suffix).write_bytes(b"half a room")
    store = await place.open(create=True)
    await fill(store)
    await store.close()
    assert {file.name for file in place.path.parent.iterdir()} == {"open.db", "open.count"}


async def test_the_wrong_key_changes_nothing(place: Place, unchanged: Callable[[], None]) -> None:
    store = await place.open(create=True)
    await fill(store)
    await store.close()
    unchanged()
    with pytest.raises(NotARoom):
        await Place(place.path, RoomKey.generate()).open()
    unchanged()


async def crashed(place: Place, folder: Path) -> Place:
    """A copy of a room as a crash leaves it: with committed work that is in the log only."""
    store = await place.open(create=True)
    await fill(store)
    await asyncio.to_thread(shutil.copytree, place.path.parent, folder)
    await store.close()
    return Place(folder / place.path.name, place.key)


async def test_the_log_of_a_crash_is_read(place: Place, tmp_path: Path) -> None:
    left = await crashed(place, tmp_path / "left")
    store = await left.open()
    (session,) = await store.list_sessions()
    report = await store.verify()
    await store.close()
    assert session.message_count == 4
    assert report.problems == ()


async def test_the_wrong_key_leaves_the_log_of_a_crash_alone(place: Place, tmp_path: Path) -> None:
    left = await crashed(place, tmp_path / "left")
    left.path.with_name("open.db-shm").unlink()
    before = left.digests()
    with pytest.raises(NotARoom):
        await Place(left.path, RoomKey.generate()).open()
    after = left.digests()
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"not a database at all",
        lambda data: data[:100],
        lambda data: data[:4096],
        lambda data: data[:10_000],
        lambda data: os.urandom(len(data)),
        lambda data: data[:50] + bytes([data[50] ^ 1]) + data[51:],
    ],
    ids=["empty", "text", "100 bytes", "one page", "cut short", "noise", "a flipped bit"],
)
async def test_a_damaged_file_is_refused_and_kept(
    place: Place, unchanged: Callable[[], None], damage: Callable[[bytes], bytes]
) -> None:
    store = await place.open(create=True)
    await fill(store)
    await store.close()
    place.path.write_bytes(damage(place.path.read_bytes()))
    unchanged()
    with pytest.raises(NotARoom):
        await place.open()
    unchanged()


async def test_a_plain_database_is_refused_and_kept(place: Place, unchanged: Callable[[], None]) -> None:
    place.path.parent.mkdir()
    plain = sqlite3.connect(place.path)
    plain.execute("CREATE TABLE t (a)")
    plain.commit()
    plain.close()
    unchanged()
    with pytest.raises(NotARoom):
        await place.open()
    unchanged()


async def test_a_folder_in_its_place_is_refused(place: Place) -> None:
    place.path.mkdir(parents=True)
    with pytest.raises(NotARoom):
        await place.open()


async def test_a_damaged_header_salt_locks_nobody_out(place: Place) -> None:
    store = await place.open(create=True)
    session_id = await fill(store)
    await store.close()
    place.path.write_bytes(bytes(16) + place.path.read_bytes()[16:])
    store = await place.open()
    assert len(await store.branch(session_id)) == 4
    await store.close()


async def test_a_room_from_the_future_is_refused_and_kept(place: Place, tmp_path: Path) -> None:
    store = await place.open(create=True)
    await fill(store)
    await database_of(store).write(lambda conn: conn.execute("PRAGMA user_version = 999"))
    shutil.copytree(place.path.parent, tmp_path / "left")
    await store.close()
    for path in (place.path, tmp_path / "left" / "open.db"):
        room = Place(path, place.key)
        before = room.digests()
        with pytest.raises(FutureSchema) as caught:
            await room.open()
        assert caught.value.found == 999
        after = room.digests()
        after.pop("open.db-shm", None)
        before.pop("open.db-shm", None)
        assert after == before


async def test_replies_that_a_crash_cut_off_are_marked(place: Place) -> None:
    store = await place.open(create=True)
    session_id = await fill(store, messages=0)
    streaming = NewMessage(Role.ASSISTANT, "", status=MessageStatus.STREAMING)
    empty = await store.append_message(session_id, streaming)
    begun = await store.append_message(session_id, streaming)
    await store.update_message(begun.id, MessagePatch(content="half an axolotl"))
    await store.close()

    store = await place.open()
    found = {message.id: message.status for message in await store.branch(session_id)}
    hits = await store.search("axolotl")
    report = await store.verify()
    await store.close()
    assert (found[empty.id], found[begun.id]) == (MessageStatus.FAILED, MessageStatus.PARTIAL)
    assert [hit.message.id for hit in hits] == [begun.id]
    assert report.problems == ()


async def test_deleted_words_leave_no_trace_in_the_pages(place: Place, store: Store) -> None:
    session_id = await fill(store)
    (message, *_) = await store.branch(session_id)
    await store.update_message(message.id, MessagePatch(content="nothing to see"))
    for other in (await store.branch(session_id))[1:]:
        await store.update_message(other.id, MessagePatch(content="nothing"))

    def terms(conn: object) -> list[str]:
        execute = conn.execute  # type: ignore[attr-defined]
        execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, messages_fts, row)")
        return [row[0] for row in execute("SELECT term FROM temp.vocabulary")]

    assert set(await database_of(store).write(terms)) == {"noth", "to", "see"}


async def test_nothing_off_the_record_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = await open_off_record(FakeClock())
    session_id = await fill(store, messages=500)
    files = await database_of(store).read(lambda conn: conn.execute("PRAGMA database_list").fetchall())
    count = len(await store.branch(session_id))
    await store.close()

    assert store.room is RoomKind.OFF_RECORD
    assert {row[2] for row in files} == {""}
    assert count == 501
    assert not any(tmp_path.iterdir())  # noqa: ASYNC240  # an empty folder
    with pytest.raises(RoomClosed):
        await store.list_sessions()
