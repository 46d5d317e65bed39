"""The rooms of a program: what is seen of the private one, what moves, and what cannot be lost on the way."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from atlas_desktop.services.retention import HeldBack
from memory.attachments import NewAttachment
from memory.entities import Freshness, MemoryMode, NewMessage, NewSession, RoomKind, Session, SessionPatch
from memory.errors import AmbiguousId, RoomClosed, SessionNotFound, StorageFull, WrongPassphrase
from memory.recall.entities import RecallQuery
from memory.storage.store import Store
from memory.transfer import KEY_BYTES, RoomSealer
from models.messages import Role
from tests.unit.services.two_rooms import OTHER, PASSPHRASE, OneKey, TwoRooms


@pytest.fixture
def two(tmp_path: Path) -> TwoRooms:
    return TwoRooms(tmp_path)


async def said(store: Store, text: str, mode: MemoryMode = MemoryMode.NORMAL) -> Session:
    session, _ = await store.create_session(NewSession(text, memory_mode=mode), NewMessage(Role.USER, text))
    return session


async def test_a_moved_session_is_found_while_its_room_is_open_and_never_while_it_is_closed(
    two: TwoRooms,
) -> None:
    opened, private = await two.both()
    session = await said(opened.store, "the red kayak")
    moved = await two.rooms.move(session.id[:20], RoomKind.PRIVATE)
    assert moved.room is RoomKind.PRIVATE
    assert (await two.rooms.find(session.id))[0] is private
    assert (await two.rooms.find("last"))[0] is private
    await two.rooms.leave_private()
    assert two.rooms.private is None
    with pytest.raises(SessionNotFound) as hidden:
        await two.rooms.find(session.id)
    with pytest.raises(SessionNotFound) as random:
        await two.rooms.find("0" * 36)
    assert str(hidden.value) == str(random.value).replace("0" * 36, session.id)
    with pytest.raises(RoomClosed):
        await two.rooms.move((await said(opened.store, "another")).id, RoomKind.PRIVATE)
    await two.rooms.enter_private(PASSPHRASE)
    back = await two.rooms.move(session.id, RoomKind.OPEN)
    assert back.room is RoomKind.OPEN
    assert await opened.sessions.search("kayak")


async def test_a_prefix_that_begins_ids_of_two_rooms_is_none_of_them(two: TwoRooms) -> None:
    opened, private = await two.both()
    first, second = await said(opened.store, "one"), await said(private.store, "two")
    assert first.id[0] == second.id[0]
    with pytest.raises(AmbiguousId):
        await two.rooms.find(first.id[0])


async def test_the_private_room_opens_with_its_passphrase_alone(tmp_path: Path) -> None:
    two = TwoRooms(tmp_path, vault=OneKey(apart=True))
    with pytest.raises(WrongPassphrase):
        await two.rooms.enter_both("no")
    with pytest.raises(WrongPassphrase):
        await two.rooms.enter_both(PASSPHRASE)
    await two.open()
    with pytest.raises(WrongPassphrase):
        await two.rooms.enter_private(PASSPHRASE)
    room = await two.rooms.enter_private(OTHER)
    assert await two.rooms.enter_private("it is open already") is room


async def test_what_was_cut_short_is_completed_when_both_rooms_are_open(two: TwoRooms) -> None:
    opened, private = await two.both()
    there, back = await said(opened.store, "there"), await said(private.store, "back")
    sealer = await private.store.moves.sealer()
    await opened.store.moves.depart(there.id, RoomKind.PRIVATE, sealer)
    await private.store.moves.depart(back.id, RoomKind.OPEN, sealer)
    await two.rooms.leave_private()
    assert await two.rooms.complete() == 0
    assert await opened.sessions.recent() == []
    private = await two.rooms.enter_private(PASSPHRASE)
    assert [one.id for one in await private.sessions.recent()] == [there.id]
    assert [one.id for one in await opened.sessions.recent()] == [back.id]
    assert await opened.store.moves.waiting() == []
    assert await private.store.moves.waiting() == []


async def test_a_parcel_that_had_arrived_already_is_not_stored_twice(two: TwoRooms) -> None:
    opened, private = await two.both()
    session = await said(opened.store, "there")
    sealer = await private.store.moves.sealer()
    await opened.store.moves.depart(session.id, RoomKind.PRIVATE, sealer)
    await private.store.moves.arrive(sealer.unseal(await opened.store.moves.parcel(session.id), session.id))
    assert await two.rooms.complete() == 1
    assert [one.id for one in await private.sessions.recent()] == [session.id]
    assert await opened.store.moves.waiting() == []


async def test_a_room_that_takes_nothing_leaves_the_session_where_it_was(
    two: TwoRooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, private = await two.both()
    session = await said(opened.store, "the red kayak")

    async def full(_parcel: bytes) -> bool:
        raise StorageFull("no space")

    monkeypatch.setattr(private.store.moves, "arrive", full)
    with pytest.raises(StorageFull):
        await two.rooms.move(session.id, RoomKind.PRIVATE)
    assert (await two.rooms.find(session.id))[0] is opened
    assert await opened.store.moves.waiting() == []


async def test_what_is_off_the_record_is_kept_on_demand_and_gone_otherwise(two: TwoRooms) -> None:
    opened = await two.open()
    off = await two.rooms.off_record()
    assert await two.rooms.off_record() is off
    session = await said(off.store, "nobody knows", MemoryMode.OFF)
    kept = await two.rooms.keep(session.id)
    assert (kept.id, kept.room, kept.memory_mode) == (session.id, RoomKind.OPEN, MemoryMode.NORMAL)
    assert await off.sessions.recent() == []
    assert (await two.rooms.keep(session.id)) == await opened.store.get_session(session.id)
    await said(off.store, "not this one", MemoryMode.OFF)
    await two.desk.leave(off)
    assert [one.title for one in await opened.sessions.recent()] == ["nobody knows"]


async def test_off_the_record_a_session_goes_on_as_a_copy_beside_the_one_that_is_saved(
    two: TwoRooms,
) -> None:
    opened = await two.open()
    session = await said(opened.store, "my plan")
    copy = await two.rooms.set_mode(session.id, MemoryMode.OFF)
    assert (copy.room, copy.memory_mode, copy.title) == (RoomKind.OFF_RECORD, MemoryMode.OFF, "my plan")
    assert copy.id != session.id
    off = two.desk.at(RoomKind.OFF_RECORD)
    assert [one.content for one in await off.store.branch(copy.id)] == ["my plan"]
    assert [one.id for one in await off.sessions.recent()] == [copy.id]
    assert await two.rooms.set_mode(copy.id, MemoryMode.OFF) == copy
    await off.store.append_message(copy.id, NewMessage(Role.USER, "and a secret"))
    kept = await two.rooms.set_mode(copy.id, MemoryMode.BLANK)
    assert (kept.room, kept.memory_mode) == (RoomKind.OPEN, MemoryMode.BLANK)
    assert [one.content for one in await opened.store.branch(session.id)] == ["my plan"]
    assert [one.content for one in await opened.store.branch(copy.id)] == ["my plan", "and a secret"]


async def test_off_the_record_a_session_goes_on_with_its_files(two: TwoRooms) -> None:
    opened, _ = await two.both()
    session = await said(opened.store, "the red kayak")
    await opened.attachments.attach(session.id, NewAttachment("kayak.txt", "text/plain", 5, "paint"))
    copy = await two.rooms.off_the_record(session.id)
    room = await two.rooms.off_record()
    assert [(one.name, one.text) for one in await room.attachments.attached(copy.id)] == [
        ("kayak.txt", "paint")
    ]
    kept = await two.rooms.keep(copy.id)
    assert [one.name for one in await opened.attachments.attached(kept.id)] == ["kayak.txt"]


async def test_what_was_said_while_nothing_was_to_be_learned_is_not_learned_later(two: TwoRooms) -> None:
    opened = await two.open()
    session = await said(opened.store, "I like tea")
    await two.rooms.set_mode(session.id, MemoryMode.READS)
    await opened.store.append_message(session.id, NewMessage(Role.USER, "I am ill"))
    changed = await two.rooms.set_mode(session.id, MemoryMode.NORMAL)
    assert changed.memory_mode is MemoryMode.NORMAL
    assert await opened.store.memories.unlearned(session=session.id) == []
    await opened.store.append_message(session.id, NewMessage(Role.USER, "I like coffee"))
    (left,) = await opened.store.memories.unlearned(session=session.id)
    assert len(left.message_ids) == 1


async def test_to_the_private_room_from_off_the_record_it_is_an_ordinary_session(two: TwoRooms) -> None:
    await two.both()
    off = await two.rooms.off_record()
    session = await said(off.store, "nobody knows", MemoryMode.OFF)
    moved = await two.rooms.move(session.id, RoomKind.PRIVATE)
    assert (moved.room, moved.memory_mode) == (RoomKind.PRIVATE, MemoryMode.NORMAL)


async def test_the_private_room_closes_when_nobody_uses_it_and_stays_while_somebody_does(
    two: TwoRooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds, slept, closed = [0.0], list[float](), list[bool]()
    await two.both()
    rooms = two.rooms
    monkeypatch.setattr(rooms, "_now", lambda: seconds[0])

    async def closing() -> None:
        closed.append(rooms.private is not None)

    rooms.on_closing = closing
    used, turning = iter([True, False, False]), iter([False, True, False])

    async def sleep(wanted: float) -> None:
        slept.append(wanted)
        seconds[0] += wanted
        if next(used):
            seconds[0] -= 60
            rooms.used()
            seconds[0] += 60

    monkeypatch.setattr("atlas_desktop.services.desk.asyncio.sleep", sleep)
    rooms.busy = lambda: next(turning)
    rooms.watch()
    task = rooms._watching
    assert task is not None
    await asyncio.wait_for(task, 5)
    assert slept == [300, 240, 300]
    assert closed == [True]
    assert rooms.private is None


async def test_replies_of_a_private_session_recall_nothing_of_the_open_room_and_the_other_way_round(
    two: TwoRooms,
) -> None:
    opened, private = await two.both()
    for room, word in ((opened, "marmot"), (private, "walrus")):
        await said(room.store, f"my favourite animal is the {word}")
    for room, word in ((opened, "marmot"), (private, "walrus")):
        found = await room.recall.answer(RecallQuery("favourite animal", k=5))
        assert [word in hit.text for hit in found.hits] == [True]


async def test_a_parcel_that_nothing_opens_keeps_nobody_out(two: TwoRooms) -> None:
    opened, private = await two.both()
    session = await said(opened.store, "kayaks")
    await opened.store.moves.depart(session.id, RoomKind.PRIVATE, RoomSealer(b"x" * KEY_BYTES))
    await two.rooms.leave_private()
    private = await two.rooms.enter_private(PASSPHRASE)
    assert two.rooms.stuck == 1
    assert [one.item_id for one in await opened.store.moves.waiting()] == [session.id]
    assert await private.store.list_sessions() == []


async def test_a_kept_title_and_marks_survive_the_move(two: TwoRooms) -> None:
    opened, _ = await two.both()
    session = await said(opened.store, "kayaks")
    await opened.store.update_session(session.id, SessionPatch(starred=True, important=True))
    moved = await two.rooms.move(session.id, RoomKind.PRIVATE)
    assert (moved.starred, moved.important, moved.title) == (True, True, "kayaks")


async def test_a_move_that_nobody_waits_for_any_more_is_carried_out(
    two: TwoRooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, private = await two.both()
    session = await said(opened.store, "kayaks")
    gate, arrive, under_way = asyncio.Event(), private.store.moves.arrive, asyncio.Event()

    async def slowly(parcel: bytes) -> bool:
        under_way.set()
        await gate.wait()
        return await arrive(parcel)

    monkeypatch.setattr(private.store.moves, "arrive", slowly)
    moving = asyncio.create_task(two.rooms.move(session.id, RoomKind.PRIVATE))
    await under_way.wait()
    moving.cancel()
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await moving
    assert [one.id for one in await private.store.list_sessions()] == [session.id]
    assert await opened.store.moves.waiting() == []


async def test_a_private_room_that_is_missing_is_told_of_when_the_open_one_is_entered(tmp_path: Path) -> None:
    class Missing(OneKey):
        async def private_missing(self) -> bool:
            return True

    two = TwoRooms(tmp_path, vault=Missing())
    told: list[tuple[RoomKind, Freshness]] = []
    two.desk.on_stale = lambda room, freshness: told.append((room, freshness))
    await two.desk.enter(OneKey().key)
    assert told == [(RoomKind.PRIVATE, Freshness.MISSING)]


async def test_what_a_clock_that_is_ahead_would_erase_is_told_once(two: TwoRooms) -> None:
    told: list[HeldBack] = []
    two.desk.on_held_back = lambda _room, held: told.append(held)
    room = await two.desk.enter(OneKey().key)
    await room.store.bin_session((await said(room.store, "binned")).id)
    await two.desk.leave(room)
    assert told == []
    two.clock.advance(timedelta(days=400))
    room = await two.desk.enter(OneKey().key)
    await room.background.run()
    assert [one.sessions for one in told] == [1]
