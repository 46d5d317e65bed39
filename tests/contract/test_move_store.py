"""Sessions that move between rooms: whole, once, and seen by nobody on the way."""

import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory.context.entities import NewSummary, Outcome, RecallDecision
from memory.entities import (
    MemoryMode,
    MessagePatch,
    MessageStatus,
    NewMessage,
    NewSession,
    RoomKind,
    Session,
    SessionPatch,
)
from memory.errors import ParcelUnreadable, SessionNotFound
from memory.memories.entities import MemoryKind, MemoryOrigin, MemorySource, NewMemory
from memory.organising import ProjectPatch
from memory.skills.entities import UsedSkill
from memory.storage.room import open_off_record, open_room
from memory.storage.store import Store
from memory.transfer import RoomSealer
from memory.vault.keys import RoomKey
from models.messages import Role
from tests.fakes.clock import FakeClock

Pair = tuple[Store, Store]


KEPT = pytest.mark.parametrize("pair", ["file"], indirect=True)


@pytest.fixture(params=["file", "off the record"])
async def pair(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Pair]:
    """An open room and a private one; or one off the record and the open room, whence nothing goes back."""
    opened: Store
    private: Store
    clock = FakeClock()
    if request.param == "file":
        opened = await open_room(tmp_path / "open.db", RoomKey.generate(), RoomKind.OPEN, clock, create=True)
        private = await open_room(
            tmp_path / "private.db", RoomKey.generate(), RoomKind.PRIVATE, clock, create=True
        )
    else:
        opened = await open_off_record(clock)
        private = await open_room(tmp_path / "open.db", RoomKey.generate(), RoomKind.OPEN, clock, create=True)
    yield opened, private
    await opened.close()
    await private.close()


async def talked(store: Store, *said: str, project: str | None = "Boats") -> Session:
    """A session with variants, marks, a summary and a memory that was learned from its first words."""
    session, first = await store.create_session(
        NewSession(said[0][:20], project=project, system_prompt="Be brief."), NewMessage(Role.USER, said[0])
    )
    for text in said[1:]:
        answer = await store.append_message(session.id, NewMessage(Role.ASSISTANT, f"About {text}"))
        await store.update_message(
            answer.id, MessagePatch(status=MessageStatus.COMPLETE, tokens=(1, 2), token_model="m")
        )
        await store.append_message(session.id, NewMessage(Role.USER, text))
    await store.append_message(session.id, NewMessage(Role.ASSISTANT, "again"), parent_id=first.id)
    await store.update_message(first.id, MessagePatch(important=True, preface="It is Monday."))
    await store.update_session(session.id, SessionPatch(starred=True, memory_mode=MemoryMode.READS))
    await store.context.add_summary(session.id, NewSummary("They talked.", (first.id,)))
    await learn(store, f"They said: {said[0]}", (first.id, session.id, said[0]))
    return await store.get_session(session.id)


async def learn(store: Store, text: str, *sources: tuple[str, str, str]) -> str:
    memory = await store.memories.add(
        NewMemory(MemoryKind.FACT, text, MemoryOrigin.PATTERN, tuple(MemorySource(*one) for one in sources))
    )
    return memory.id


async def move(source: Store, target: Store, session_id: str) -> bool:
    sealer = await target.moves.sealer()
    await source.moves.depart(session_id, target.room, sealer)
    arrived = await target.moves.arrive(sealer.unseal(await source.moves.parcel(session_id), session_id))
    await source.moves.delivered(session_id)
    return arrived


async def everything(store: Store, session_id: str) -> dict[str, object]:
    """All of a session that can be asked for, but for the room that it is in."""
    session = await store.get_session(session_id)
    head = session.head_id
    assert head is not None
    branch = await store.branch(session_id)
    return {
        "session": {name: getattr(session, name) for name in session.__slots__ if name != "room"},
        "branch": branch,
        "variants": list(itertools.chain(*[await store.variants(one.id) for one in branch])),
        "summaries": await store.context.summaries(session_id),
        "memories": [
            (memory, await store.memories.sources(memory.id))
            for memory in sorted(await store.memories.select(), key=lambda one: one.id)
        ],
    }


async def test_the_instructions_of_a_project_go_only_with_its_last_session(pair: Pair) -> None:
    source, target = pair
    first, second = await talked(source, "the red kayak leaks"), await talked(source, "the oar is split")
    await source.projects.change("Boats", ProjectPatch("Say port and starboard.", isolated=True))
    await move(source, target, first.id)
    arrived = (await target.projects.get("Boats")).settings
    assert (arrived.instructions, arrived.isolated) == ("", True)
    assert await source.projects.instructions("Boats") == "Say port and starboard."
    await target.projects.rename("Boats", "Other boats")
    await move(source, target, second.id)
    assert await target.projects.instructions("Other boats") == "Say port and starboard."
    assert [one.sessions for one in await target.projects.list()] == [2]
    assert await source.projects.list() == []


async def test_a_session_arrives_whole_and_is_gone_where_it_was(pair: Pair) -> None:
    source, target = pair
    session = await talked(source, "the red kayak leaks", "and the paddle is split")
    before = await everything(source, session.id)
    assert await move(source, target, session.id)
    assert await everything(target, session.id) == before
    assert (await target.get_session(session.id)).room is target.room
    with pytest.raises(SessionNotFound):
        await source.get_session(session.id)
    assert await source.memories.select() == []
    assert await source.search("kayak") == []
    assert [hit.message.session_id for hit in await target.search("kayak")] == [session.id]
    assert await source.moves.waiting() == []
    assert (await source.verify()).problems == ()
    assert (await target.verify()).problems == ()


async def test_a_reply_says_which_skill_it_used_after_its_session_has_moved(pair: Pair) -> None:
    opened, private = pair
    session, said = await opened.create_session(NewSession("Boats"), NewMessage(Role.USER, "Pack, please"))
    reply = await opened.append_message(session.id, NewMessage(Role.ASSISTANT, "Two ropes."))
    used = UsedSkill("0192", "pack-for-sailing", 2, said.id, 12)
    await opened.skills.begin_use(session.id, reply.id, used)
    await move(opened, private, session.id)
    assert await private.skills.used_in([reply.id]) == {reply.id: (used,)}
    assert await opened.skills.used_in([reply.id]) == {}


@KEPT
async def test_there_and_back_again_nothing_has_changed(pair: Pair) -> None:
    source, target = pair
    other = await talked(source, "something else", project=None)
    session = await talked(source, "the red kayak leaks", "and the paddle is split")
    before = await everything(source, session.id)
    await move(source, target, session.id)
    await move(target, source, session.id)
    assert await everything(source, session.id) == before
    assert {one.id for one in await source.list_sessions()} == {session.id, other.id}
    assert await target.list_sessions() == []


async def test_what_was_looked_at_goes_along_but_for_what_stays(pair: Pair) -> None:
    source, target = pair
    stays = await talked(source, "something else", project=None)
    session = await talked(source, "the red kayak leaks", "and the paddle is split")
    said = await source.branch(session.id)
    reply = said[-1].id
    other = (await source.branch(stays.id))[0]
    own = RecallDecision("message", said[0].id, Outcome.TOLD, 0.75, {"lexical": 0.5})
    foreign = RecallDecision("message", other.id, Outcome.TOO_FAR, 0.5, {"lexical": 0.25})
    await source.context.record_considered(session.id, reply, [foreign, own])
    await move(source, target, session.id)
    assert await target.context.considered(reply) == [own]
    assert await target.context.considered_in(own.id) == [(reply, own)]
    assert await source.context.considered(reply) == []


async def test_what_was_merged_into_a_session_moves_with_it_and_can_be_separated_there(pair: Pair) -> None:
    source, target = pair
    first, second = await talked(source, "the red kayak leaks"), await talked(source, "the oar is split")
    own, other = await source.branch(first.id), await source.branch(second.id)
    await source.organising.merge(first.id, [second.id])
    await move(source, target, first.id)
    assert await source.transfer.all_ids() == []
    assert [m.id for m in await target.branch(first.id)] == [m.id for m in (*own, *other)]
    assert (await target.restore_session(second.id)).title == second.title
    assert await target.branch(first.id) == own
    assert await target.branch(second.id) == other
    assert (await target.verify()).problems == ()


@KEPT
async def test_what_came_back_by_itself_stays_where_it_is_when_the_whole_comes_back(pair: Pair) -> None:
    source, target = pair
    first, second = await talked(source, "the red kayak leaks"), await talked(source, "the oar is split")
    own, other = await source.branch(first.id), await source.branch(second.id)
    await source.organising.merge(first.id, [second.id])
    since = await source.append_message(first.id, NewMessage(Role.USER, "And the rudder?"))
    sealer = await target.moves.sealer()
    await source.moves.depart(first.id, target.room, sealer)
    await target.moves.arrive(sealer.unseal(await source.moves.parcel(first.id), first.id))
    await target.restore_session(second.id)
    await move(target, source, second.id)
    await source.moves.take_back(first.id, sealer)
    assert await source.branch(second.id) == other
    assert [m.id for m in await source.branch(first.id)] == [*(m.id for m in own), since.id]
    assert sorted(one.text for one in await source.memories.select()) == [
        "They said: the oar is split",
        "They said: the red kayak leaks",
    ]
    assert (await source.verify()).problems == ()


async def test_on_its_way_it_is_in_neither_room_and_can_arrive_later(pair: Pair) -> None:
    source, target = pair
    session = await talked(source, "the red kayak leaks")
    sealer = await target.moves.sealer()
    departure = await source.moves.depart(session.id, target.room, sealer)
    assert departure.verified
    assert (departure.messages, departure.memories) == (2, 1)
    assert await source.list_sessions() == []
    assert await source.search("kayak") == []
    assert [(one.item_id, one.destination) for one in await source.moves.waiting()] == [
        (session.id, target.room)
    ]
    parcel = await source.moves.parcel(session.id)
    assert b"kayak" not in parcel
    opened = sealer.unseal(parcel, session.id)
    assert await target.moves.arrive(opened)
    assert not await target.moves.arrive(opened)
    assert len(await target.list_sessions()) == 1


async def test_a_move_that_cannot_be_made_is_taken_back(pair: Pair) -> None:
    source, target = pair
    session = await talked(source, "the red kayak leaks", "and the paddle is split")
    before = await everything(source, session.id)
    sealer = await target.moves.sealer()
    await source.moves.depart(session.id, target.room, sealer)
    await source.moves.take_back(session.id, sealer)
    assert await everything(source, session.id) == before
    assert await source.moves.waiting() == []


async def test_a_parcel_opens_for_its_own_room_and_session_alone(pair: Pair) -> None:
    source, target = pair
    session = await talked(source, "the red kayak leaks")
    sealer = await target.moves.sealer()
    await source.moves.depart(session.id, target.room, sealer)
    parcel = await source.moves.parcel(session.id)
    with pytest.raises(ParcelUnreadable):
        RoomSealer(b"?" * 32).unseal(parcel, session.id)
    with pytest.raises(ParcelUnreadable):
        sealer.unseal(parcel, "another")
    with pytest.raises(ParcelUnreadable):
        sealer.unseal(b"", session.id)
    again = await target.moves.sealer()
    assert again.unseal(parcel, session.id) == sealer.unseal(parcel, session.id)
    assert repr(again) == "RoomSealer(<redacted>)"


async def test_what_another_conversation_says_too_stays_without_the_words_that_left(pair: Pair) -> None:
    source, target = pair
    session = await talked(source, "the red kayak leaks")
    (said,) = [one for one in await source.branch(session.id) if one.role is Role.USER]
    other, words = await source.create_session(NewSession("other"), NewMessage(Role.USER, "my kayak is red"))
    both = await learn(
        source,
        "The kayak is red.",
        (said.id, session.id, "the red kayak"),
        (words.id, other.id, "my kayak is red"),
    )
    await move(source, target, session.id)
    assert [one.id for one in await source.memories.select()] == [both]
    assert [one.session_id for one in await source.memories.sources(both)] == [other.id]
    assert both not in [one.id for one in await target.memories.select()]


async def test_a_session_that_is_not_there_does_not_leave(pair: Pair) -> None:
    source, target = pair
    with pytest.raises(SessionNotFound):
        await source.moves.depart("nothing", target.room, await target.moves.sealer())
    with pytest.raises(SessionNotFound):
        await source.moves.parcel("nothing")
    await source.moves.delivered("nothing")
    assert await source.moves.waiting() == []
