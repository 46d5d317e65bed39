"""What every store of summaries, epochs and turns does."""

from collections.abc import Awaitable, Callable

import pytest

from memory.context.entities import (
    NewEpoch,
    NewSummary,
    Outcome,
    RecallDecision,
    SummaryState,
    TierUse,
    TurnRecord,
)
from memory.entities import Message
from memory.errors import (
    AmbiguousId,
    MessageNotFound,
    RoomClosed,
    SessionNotFound,
    SummaryNotFound,
    SummaryStale,
)
from memory.memories.entities import MemoryKind, MemoryOrigin, NewMemory
from memory.storage.store import Store
from tests.contract.talk import assistant, begin, talk

NOBODY = "00000000-0000-7000-8000-000000000000"


def ids(messages: list[Message]) -> tuple[str, ...]:
    return tuple(message.id for message in messages)


def head_of(*held: str) -> tuple[TierUse, ...]:
    return TierUse("system", 20), TierUse("summary", 40, held)


# --- summaries -------------------------------------------------------------------------------------


async def test_a_summary_has_what_it_was_given(store: Store) -> None:
    session, said = await talk(store, 4)
    new = NewSummary(
        "What was said", ids(said[:2]), topics=("soil", "\ud800"), fallback=True, model="small", level=2
    )
    summary = await store.context.add_summary(session.id, new)

    assert (summary.session_id, summary.level, summary.text) == (session.id, 2, "What was said")
    assert (summary.covers, summary.topics, summary.model) == (ids(said[:2]), ("soil", "\ufffd"), "small")
    assert (summary.fallback, summary.edited, summary.merged_into) == (True, False, None)
    assert (summary.state, summary.created_at) == (SummaryState.CURRENT, summary.updated_at)
    assert summary.created_at.utcoffset() is not None
    assert await store.context.summary(summary.id) == summary
    assert await store.context.summaries(session.id) == [summary]
    assert (await store.get_session(session.id)).updated_at == said[-1].created_at


async def test_a_summary_is_found_by_a_unique_prefix(store: Store) -> None:
    session, said = await talk(store, 2)
    one = await store.context.add_summary(session.id, NewSummary("one", ids(said)))
    two = await store.context.add_summary(session.id, NewSummary("two", ids(said)))
    unique = next(n for n in range(1, 37) if not one.id.startswith(two.id[:n]))

    assert await store.context.summary(f" {two.id[:unique].upper()} ") == two
    with pytest.raises(AmbiguousId) as caught:
        await store.context.summary(one.id[: unique - 1])
    assert caught.value.matches == 2
    for ref in ("", "last", "%", NOBODY, said[0].id):
        with pytest.raises(SummaryNotFound):
            await store.context.summary(ref)


async def test_a_wider_summary_stands_for_those_it_replaces(store: Store) -> None:
    session, said = await talk(store, 6)
    first = await store.context.add_summary(session.id, NewSummary("a", ids(said[:2])))
    second = await store.context.add_summary(session.id, NewSummary("b", ids(said[2:4])))
    other = await store.context.add_summary(session.id, NewSummary("c", ids(said[4:])))
    wide = await store.context.add_summary(
        session.id, NewSummary("ab", ids(said[:4]), level=1, replaces=(first.id, second.id))
    )

    found = await store.context.summaries(session.id)
    assert [one.id for one in found] == [first.id, second.id, other.id, wide.id]
    assert [(one.state, one.merged_into) for one in found] == [
        (SummaryState.MERGED, wide.id),
        (SummaryState.MERGED, wide.id),
        (SummaryState.CURRENT, None),
        (SummaryState.CURRENT, None),
    ]
    assert (await store.verify()).problems == ()


async def test_a_summary_that_makes_no_sense_is_refused_whole(store: Store) -> None:
    session, said = await talk(store, 4)
    narrow = await store.context.add_summary(session.id, NewSummary("a", ids(said[:2]), level=1))
    other, theirs = await talk(store, 2)
    foreign = await store.context.add_summary(other.id, NewSummary("f", ids(theirs)))
    add = store.context.add_summary

    wrong_messages = (NewSummary("x", (said[0].id, theirs[0].id)), NewSummary("x", (NOBODY,)))
    for new in wrong_messages:
        with pytest.raises(MessageNotFound) as caught:
            await add(session.id, new)
        assert caught.value.ref == new.covers[-1]
    for replaced in (foreign.id, NOBODY):
        with pytest.raises(SummaryNotFound):
            await add(session.id, NewSummary("x", ids(said), level=2, replaces=(narrow.id, replaced)))
    senseless = (
        NewSummary("x", ()),
        NewSummary("x", (said[0].id, said[0].id)),
        NewSummary("x", ids(said), level=1, replaces=(narrow.id,)),
        NewSummary("x", ids(said[1:]), level=2, replaces=(narrow.id,)),
    )
    for new in senseless:
        with pytest.raises(ValueError, match="summary"):
            await add(session.id, new)
    with pytest.raises(SessionNotFound):
        await add(NOBODY, NewSummary("x", ids(said)))
    assert await store.context.summaries(session.id) == [narrow]


async def test_a_changed_message_makes_all_its_summaries_stale(store: Store) -> None:
    session, said = await talk(store, 6)
    add = store.context.add_summary
    narrow = await add(session.id, NewSummary("a", ids(said[:2])))
    beside = await add(session.id, NewSummary("b", ids(said[2:4])))
    wide = await add(session.id, NewSummary("ab", ids(said[:4]), level=1, replaces=(narrow.id, beside.id)))
    apart = await add(session.id, NewSummary("c", ids(said[4:])))

    aged = await store.context.age_summaries([said[1].id, NOBODY])
    assert [(one.id, one.state) for one in aged] == [
        (narrow.id, SummaryState.STALE),
        (wide.id, SummaryState.STALE),
    ]
    assert aged[0].merged_into == wide.id
    assert await store.context.summary(apart.id) == apart
    assert [one.id for one in await store.context.to_improve()] == [narrow.id, wide.id]
    assert await store.context.age_summaries([]) == []
    assert (await store.verify()).problems == ()

    again = await store.context.rewrite_summary(narrow.id, "A", topics=("t",), model="big")
    assert (again.state, again.merged_into, again.text) == (SummaryState.MERGED, wide.id, "A")
    assert (again.topics, again.model, again.covers) == (("t",), "big", narrow.covers)
    assert again.created_at == narrow.created_at < again.updated_at
    assert (await store.context.rewrite_summary(wide.id, "AB")).state is SummaryState.CURRENT
    assert await store.context.to_improve() == []


async def test_what_was_made_from_a_stale_summary_is_stale(store: Store) -> None:
    session, said = await talk(store, 4)
    one = await store.context.add_summary(session.id, NewSummary("a", ids(said[:2])))
    await store.context.age_summaries([said[0].id])
    wide = await store.context.add_summary(
        session.id, NewSummary("w", ids(said), level=1, replaces=(one.id,))
    )
    narrow = await store.context.summary(one.id)
    assert (narrow.state, narrow.merged_into) == (SummaryState.STALE, wide.id)
    assert wide.state is SummaryState.STALE
    assert [found.id for found in await store.context.to_improve(limit=1)] == [one.id]


async def test_a_person_s_summary_is_never_improved(store: Store) -> None:
    session, said = await talk(store, 2)
    summary = await store.context.add_summary(session.id, NewSummary("a", ids(said), fallback=True))
    assert await store.context.to_improve() == [summary]
    assert await store.context.to_improve(limit=0) == []
    edited = await store.context.rewrite_summary(summary.id, "mine", edited=True)
    assert (edited.edited, edited.fallback) == (True, False)
    await store.context.age_summaries([said[0].id])
    assert await store.context.to_improve() == []
    with pytest.raises(SummaryNotFound):
        await store.context.rewrite_summary(NOBODY, "x")


# --- epochs ----------------------------------------------------------------------------------------


async def test_epochs_are_kept_by_session_and_model(store: Store) -> None:
    session, said = await talk(store, 4)
    summary = await store.context.add_summary(session.id, NewSummary("a", ids(said[:2])))
    parts = (*head_of(summary.id), TierUse("profile", 3, ("p\u00e9",)))
    first = await store.context.add_epoch(NewEpoch(session.id, "abc", "You are brief.", parts, said[2].id))
    second = await store.context.add_epoch(NewEpoch(session.id, "abc", "\ud800", (), said[0].id))
    third = await store.context.add_epoch(NewEpoch(session.id, "def", "x", (), said[0].id))

    assert (first.head, first.parts, first.start_id) == ("You are brief.", parts, said[2].id)
    assert (first.session_id, first.model, second.head) == (session.id, "abc", "\ufffd")
    assert await store.context.epochs(session.id, "abc") == [first, second]
    assert await store.context.epochs(session.id, "def") == [third]
    assert await store.context.epochs(session.id, "nothing") == []
    assert await store.context.drop_epochs(session.id) == 3
    assert await store.context.drop_epochs(session.id) == 0
    assert await store.context.epochs(session.id, "abc") == []


async def test_an_epoch_starts_in_its_own_session_with_fresh_summaries(store: Store) -> None:
    session, said = await talk(store, 2)
    _, theirs = await talk(store, 2)
    for start in (theirs[0].id, NOBODY):
        with pytest.raises(MessageNotFound):
            await store.context.add_epoch(NewEpoch(session.id, "m", "x", (), start))
    with pytest.raises(SessionNotFound):
        await store.context.add_epoch(NewEpoch(NOBODY, "m", "x", (), said[0].id))
    summary = await store.context.add_summary(session.id, NewSummary("a", ids(said)))
    await store.context.age_summaries([said[0].id])
    with pytest.raises(SummaryStale) as caught:
        await store.context.add_epoch(NewEpoch(session.id, "m", "x", head_of(summary.id), said[0].id))
    assert caught.value.ref == summary.id
    assert await store.context.epochs(session.id, "m") == []


async def test_an_epoch_ends_with_what_its_head_holds(store: Store) -> None:
    session, said = await talk(store, 6)
    add = store.context.add_summary
    old = await add(session.id, NewSummary("a", ids(said[:2])))
    new = await add(session.id, NewSummary("b", ids(said[2:4]), fallback=True))

    async def epoch(*held: str) -> str:
        start = said[4].id
        return (await store.context.add_epoch(NewEpoch(session.id, "m", "h", head_of(*held), start))).id

    async def left() -> list[str]:
        return [one.id for one in await store.context.epochs(session.id, "m")]

    both, second, pinned = await epoch(old.id, new.id), await epoch(new.id), await epoch(said[0].id)
    await store.context.age_summaries([said[0].id])
    assert await left() == [second]
    third, plain = await epoch(new.id), await epoch()
    await store.context.rewrite_summary(new.id, "better than a fallback")
    assert await left() == [second, third, plain]
    await store.context.rewrite_summary(new.id, "a person's", edited=True)
    assert await left() == [plain]
    assert len({both, second, pinned, third, plain}) == 5


# --- turns -----------------------------------------------------------------------------------------


async def test_a_turn_s_record_is_replaced_and_outlives_its_epoch(store: Store) -> None:
    session, said = await talk(store, 2)
    epoch = await store.context.add_epoch(NewEpoch(session.id, "m", "x", (), said[0].id))
    parts = (TierUse("system", 9), TierUse("user", 3, (said[0].id,)))
    record = TurnRecord(said[1].id, session.id, epoch.id, "m", "ab" * 32, 12, parts)

    assert await store.context.turn(said[1].id) is None
    await store.context.record_turn(record)
    assert await store.context.turn(said[1].id) == record
    again = TurnRecord(said[1].id, session.id, epoch.id, "n", "cd" * 32, 13, ())
    await store.context.record_turn(again)
    assert await store.context.turn(said[1].id) == again
    await store.context.drop_epochs(session.id)
    without = TurnRecord(said[1].id, session.id, None, "n", "cd" * 32, 13, ())
    assert await store.context.turn(said[1].id) == without
    await store.context.record_turn(again)
    assert await store.context.turn(said[1].id) == without
    assert await store.context.turn(NOBODY) is None
    assert (await store.verify()).problems == ()


async def test_a_turn_belongs_to_a_reply_of_its_session(store: Store) -> None:
    session, said = await talk(store, 2)
    other, _ = await begin(store)
    for session_id, reply_id in ((session.id, NOBODY), (other.id, said[1].id), (session.id, said[0].id)):
        with pytest.raises(MessageNotFound):
            await store.context.record_turn(TurnRecord(reply_id, session_id, None, "m", "", 0, ()))
    with pytest.raises(SessionNotFound):
        await store.context.record_turn(TurnRecord(said[1].id, NOBODY, None, "m", "", 0, ()))


# --- the room --------------------------------------------------------------------------------------


async def test_unknown_sessions_have_no_context(store: Store) -> None:
    attempts: list[Callable[[], Awaitable[object]]] = [
        lambda: store.context.summaries(NOBODY),
        lambda: store.context.epochs(NOBODY, "m"),
        lambda: store.context.drop_epochs(NOBODY),
    ]
    for attempt in attempts:
        with pytest.raises(SessionNotFound):
            await attempt()


async def test_a_closed_room_keeps_its_context(store: Store) -> None:
    session, said = await talk(store, 2)
    summary = await store.context.add_summary(session.id, NewSummary("a", ids(said)))
    reply = await store.append_message(session.id, assistant("x"))
    await store.close()
    context = store.context
    attempts: list[Callable[[], Awaitable[object]]] = [
        lambda: context.add_summary(session.id, NewSummary("a", ids(said))),
        lambda: context.summaries(session.id),
        lambda: context.summary(summary.id),
        lambda: context.rewrite_summary(summary.id, "x"),
        lambda: context.age_summaries([said[0].id]),
        context.to_improve,
        lambda: context.add_epoch(NewEpoch(session.id, "m", "x", (), said[0].id)),
        lambda: context.epochs(session.id, "m"),
        lambda: context.drop_epochs(session.id),
        lambda: context.record_turn(TurnRecord(reply.id, session.id, None, "m", "", 0, ())),
        lambda: context.turn(reply.id),
    ]
    for attempt in attempts:
        with pytest.raises(RoomClosed):
            await attempt()


async def test_what_was_looked_at_goes_with_the_reply_and_with_what_it_names(store: Store) -> None:
    _, old = await talk(store, 2)
    session, said = await talk(store, 4)
    known = await store.memories.add(NewMemory(MemoryKind.FACT, "Tea is green.", MemoryOrigin.PERSON))
    found = [
        RecallDecision("message", old[0].id, Outcome.TOLD, 0.75, {"lexical": 0.5, "semantic": 1.0}),
        RecallDecision("memory", known.id, Outcome.TOO_FAR, 0.5, {"lexical": 0.25}),
    ]
    reply, other = said[1].id, said[3].id
    assert await store.context.considered(reply) == []
    await store.context.record_considered(session.id, reply, found[:1])
    await store.context.record_considered(session.id, reply, found)
    await store.context.record_considered(session.id, other, found[1:])
    assert await store.context.considered(reply) == found
    assert await store.context.considered_in(known.id) == [(other, found[1]), (reply, found[1])]
    await store.memories.forget([known.id])
    await store.forget_message(old[0].id)
    assert await store.context.considered(reply) == []
    assert await store.context.considered_in(known.id) == []
