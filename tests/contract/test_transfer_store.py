"""What every store does with sessions that come in and go out."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memory.entities import MemoryMode, MessageStatus, NewMessage, TitleSource
from memory.errors import MessageNotFound, SessionNotFound
from memory.storage.store import Store
from memory.transfer import Arrival, Refused, TravellingAttachment, TravellingMessage, TravellingSession
from models.messages import Role
from tests.contract.talk import begin, talk

THEN = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def message(name: str, parent: str | None, content: str = "words", minutes: int = 0) -> TravellingMessage:
    return TravellingMessage(
        name, parent, Role.USER, "Ada", content, THEN + timedelta(minutes=minutes), meta='{"mood": 3}'
    )


def session(*messages: TravellingMessage, name: str = "s1") -> TravellingSession:
    return TravellingSession(
        id=name,
        title="A trip",
        created_at=THEN,
        updated_at=THEN + timedelta(hours=1),
        messages=messages or (message("m1", None), message("m2", "m1", minutes=1)),
        title_source=TitleSource.PERSON,
        project="Travel",
        tags=("a", "b"),
        memory_mode=MemoryMode.READS,
        system_prompt="Be brief.",
        model="small",
        starred=True,
        important=True,
        head=None,
        meta='{"colour": "red"}',
    )


async def test_what_comes_in_goes_out_as_it_was(store: Store) -> None:
    given = session()
    arrival = await store.transfer.take(given)
    assert (arrival.new_session, arrival.messages, arrival.already) == (True, 2, 0)
    assert await store.transfer.give(arrival.session_id) == replace(given, head="m2")
    shown = await store.get_session(arrival.session_id)
    assert (shown.external_id, shown.message_count, shown.project) == ("s1", 2, "Travel")
    assert [one.external_id for one in await store.branch(shown.id)] == ["m1", "m2"]


@pytest.mark.parametrize("count", [499, 500, 501, 1_001])
async def test_an_outline_is_in_order_however_long(store: Store, count: int) -> None:
    said = [message(f"m{n}", f"m{n - 1}" if n else None, str(n), n) for n in range(count)]
    arrival = await store.transfer.take(session(*said))
    found = await store.outline(arrival.session_id)
    shown = await store.branch(arrival.session_id)
    assert [one.id for one in found] == [one.id for one in shown]
    assert [one.parent_id for one in found] == [None, *(one.id for one in shown[:-1])]
    assert [one.content for one in shown] == [str(n) for n in range(count)]


async def test_what_is_to_be_attached_is_attached_once(store: Store) -> None:
    files = tuple(TravellingAttachment(f"{n}.txt", "text/plain", n, THEN, f"text {n}") for n in (2, 1))
    for _ in range(2):
        arrival = await store.transfer.take(replace(session(), attachments=files))
        found = await store.attachments.attached(arrival.session_id)
        assert [(one.name, one.size, one.added_at, one.text) for one in found] == [
            ("2.txt", 2, THEN, "text 2"),
            ("1.txt", 1, THEN, "text 1"),
        ]


async def test_a_second_time_changes_nothing(store: Store) -> None:
    first = await store.transfer.take(session())
    before = await store.transfer.give(first.session_id)
    again = await store.transfer.take(replace(session(), title="Another title", head="m1"))
    assert (again.session_id, again.new_session, again.messages, again.already) == (
        first.session_id,
        False,
        0,
        2,
    )
    assert await store.transfer.give(first.session_id) == before


async def test_what_is_new_in_a_known_session_is_added(store: Store) -> None:
    first = await store.transfer.take(session())
    longer = session(message("m1", None), message("m2", "m1", minutes=1), message("m3", "m2", minutes=2))
    again = await store.transfer.take(longer)
    assert (again.session_id, again.messages, again.already) == (first.session_id, 1, 2)
    assert [one.external_id for one in await store.branch(first.session_id)] == ["m1", "m2", "m3"]


async def test_a_trial_stores_nothing(store: Store) -> None:
    arrival = await store.transfer.take(session(), dry_run=True)
    assert (arrival.new_session, arrival.messages) == (True, 2)
    assert await store.list_sessions() == []
    assert await store.transfer.all_ids() == []


async def test_variants_and_the_chosen_branch_travel(store: Store) -> None:
    given = replace(
        session(message("m1", None), message("r1", "m1", "one"), message("r2", "m1", "two")), head="r1"
    )
    arrival = await store.transfer.take(given)
    assert [one.content for one in await store.branch(arrival.session_id)] == ["words", "one"]
    assert await store.transfer.give(arrival.session_id) == given


@pytest.mark.parametrize(
    "wrong",
    [session(message("m1", "nobody")), replace(session(), head="nobody")],
    ids=["parent", "head"],
)
async def test_a_tree_that_does_not_hold_together_is_refused_whole(
    store: Store, wrong: TravellingSession
) -> None:
    with pytest.raises(MessageNotFound):
        await store.transfer.take(wrong)
    assert await store.transfer.all_ids() == []


async def test_own_sessions_keep_their_ids_in_another_room(store: Store) -> None:
    own, said = await talk(store, 2)
    given = await store.transfer.give(own.id)
    assert (given.id, [one.id for one in given.messages]) == (own.id, [one.id for one in said])
    assert (await store.transfer.take(given)).already == 2
    moved = await store.erase_session(own.id)
    assert moved.messages == 2
    back = await store.transfer.take(given)
    assert back.session_id == own.id
    assert await store.transfer.give(own.id) == given
    assert (await store.get_session(own.id)).external_id is None


async def test_what_is_being_written_stays(store: Store) -> None:
    own, _ = await begin(store, "said")
    await store.append_message(own.id, NewMessage(Role.ASSISTANT, "gro", status=MessageStatus.STREAMING))
    assert [one.content for one in (await store.transfer.give(own.id)).messages] == ["said"]


async def test_sessions_go_out_by_age_without_those_in_the_bin(store: Store) -> None:
    late = await store.transfer.take(replace(session(name="late"), created_at=THEN + timedelta(days=1)))
    early = await store.transfer.take(session(name="early"))
    binned = await store.transfer.take(session(name="binned"))
    await store.bin_session(binned.session_id)
    assert await store.transfer.all_ids() == [early.session_id, late.session_id]
    with pytest.raises(SessionNotFound):
        await store.transfer.give("nobody")


async def test_many_come_in_together_and_one_that_is_refused_leaves_the_others(store: Store) -> None:
    given = [session(name="s1"), session(message("m1", "nobody"), name="s2"), session(name="s3")]
    tried = await store.transfer.take_many(given, dry_run=True)
    assert await store.transfer.all_ids() == []
    taken = await store.transfer.take_many(given)
    first, refused, last = taken
    assert refused == Refused("nobody")
    assert isinstance(first, Arrival)
    assert isinstance(last, Arrival)
    assert (first.messages, last.messages) == (2, 2)
    assert [replace(one, session_id="") if isinstance(one, Arrival) else one for one in taken] == tried
    assert await store.transfer.all_ids() == [first.session_id, last.session_id]
    # The same session twice in one call is one session.
    again = await store.transfer.take_many([session(name="s4"), session(name="s4")])
    assert [(one.new_session, one.messages) for one in again if isinstance(one, Arrival)] == [
        (True, 2),
        (False, 0),
    ]


async def test_what_comes_in_is_learned_from_only_when_that_is_wished(store: Store) -> None:
    normal = replace(session(), memory_mode=MemoryMode.NORMAL)
    await store.transfer.take_many([normal], learn=False)
    assert await store.memories.unlearned() == []
    await store.transfer.take_many([replace(normal, id="s2")])
    assert len(await store.memories.unlearned()) == 1


async def test_a_session_that_was_used_here_since_shows_what_it_showed(store: Store) -> None:
    first = await store.transfer.take(session())
    said = await store.append_message(first.session_id, NewMessage(Role.USER, "here"))
    await store.transfer.take(session(message("m1", None), message("m2", "m1"), message("m3", "m2")))
    assert (await store.get_session(first.session_id)).head_id == said.id
    assert (await store.get_session(first.session_id)).message_count == 4
