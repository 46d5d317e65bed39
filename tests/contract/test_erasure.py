"""Forgetting a message, and erasing a session for good."""

from collections.abc import Awaitable, Callable
from hashlib import sha256

import pytest

from memory.context.entities import NewEpoch, NewSummary, SummaryState, TierUse, TurnRecord
from memory.entities import Erased, MessagePatch, MessageStatus
from memory.errors import MessageNotFound, RoomClosed, SessionNotFound, SummaryNotFound
from memory.storage.store import Store
from memory.vectors.entities import Embedded
from tests.contract.talk import assistant, begin, talk, texts

NOBODY = "00000000-0000-7000-8000-000000000000"
DIGEST = sha256(b"a text").digest()


async def recalling(store: Store, *recalled: str) -> tuple[str, str, str]:
    """Ids of a session, its question and its answer, before which something was recalled."""
    session, said = await talk(store, 2)
    await store.update_message(said[0].id, MessagePatch(preface="what was recalled"))
    epoch = await store.context.add_epoch(NewEpoch(session.id, "m", "head", (), said[0].id))
    parts = (TierUse("recall", 3, recalled), TierUse("user", 4, (said[0].id,)))
    await store.context.record_turn(TurnRecord(said[1].id, session.id, epoch.id, "m", "ab", 7, parts))
    return session.id, said[0].id, said[1].id


# --- forgetting ------------------------------------------------------------------------------------


async def test_a_forgotten_message_leaves_an_empty_place(store: Store) -> None:
    session, said = await talk(store, 6)
    await store.update_message(
        said[2].id,
        MessagePatch(content="a wombat", preface="noon", tokens=(1,), token_model="m", stop_reason="stop"),
    )
    ids = [message.id for message in said]
    add = store.context.add_summary
    narrow = await add(session.id, NewSummary("a", tuple(ids[2:4])))
    wide = await add(session.id, NewSummary("b", tuple(ids[:4]), level=1, replaces=(narrow.id,)))
    apart = await add(session.id, NewSummary("c", tuple(ids[4:])))
    epoch = await store.context.add_epoch(NewEpoch(session.id, "m", "head", (), ids[0]))
    await store.context.record_turn(TurnRecord(ids[3], session.id, epoch.id, "m", "ab", 7, ()))
    await store.jobs.keep_result("summary", DIGEST, "about a wombat", session.id)
    for source in await store.vectors.unembedded("v"):
        await store.vectors.put("v", [Embedded(source, (bytes.fromhex("0000803f"),))])
    aged = await store.forget_message(ids[2])

    assert await store.vectors.of("v", owners=[ids[2]]) == []
    assert len(await store.vectors.of("v", owners=ids)) == 5
    assert [(one.id, one.state) for one in aged] == [
        (narrow.id, SummaryState.STALE),
        (wide.id, SummaryState.STALE),
    ]
    assert await store.context.summary(apart.id) == apart
    branch = await store.branch(session.id)
    assert texts(branch) == ["message 0", "message 1", "", "message 3", "message 4", "message 5"]
    place = branch[2]
    assert (place.content, place.preface, place.tokens, place.token_model) == ("", "", (), None)
    assert (place.status, place.stop_reason) == (MessageStatus.COMPLETE, "stop")
    assert await store.search("wombat") == []
    assert await store.context.epochs(session.id, "m") == []
    turn = await store.context.turn(ids[3])
    assert turn is not None
    assert turn.epoch_id is None
    assert await store.jobs.result("summary", DIGEST) is None
    assert await store.get_session(session.id) == session
    assert (await store.forget_message(ids[2])) == aged
    assert (await store.verify()).problems == ()


async def test_forgetting_reaches_what_was_recalled_elsewhere(store: Store) -> None:
    _, said = await talk(store, 2)
    touched = await recalling(store, "a memory", said[0].id)
    untouched = await recalling(store, "a memory", said[1].id)
    assert await store.forget_message(said[0].id) == []

    for (session, question, reply), preface in ((touched, ""), (untouched, "what was recalled")):
        assert (await store.branch(session, question))[0].preface == preface
        assert len(await store.context.epochs(session, "m")) == (1 if preface else 0)
        turn = await store.context.turn(reply)
        assert turn is not None
        assert (turn.epoch_id is None) is not bool(preface)


async def test_what_cannot_be_forgotten(store: Store) -> None:
    with pytest.raises(MessageNotFound):
        await store.forget_message(NOBODY)


# --- erasing ---------------------------------------------------------------------------------------


async def test_an_erased_session_is_gone_with_all_that_was_made_from_it(store: Store) -> None:
    kept, others = await talk(store, 3)
    theirs = await store.context.add_summary(kept.id, NewSummary("k", (others[0].id,)))
    session, said = await talk(store, 6)
    ids = [message.id for message in said]
    await store.append_message(session.id, assistant("a wombat"), parent_id=ids[0])
    await store.append_message(session.id, assistant("", MessageStatus.STREAMING))
    add = store.context.add_summary
    narrow = await add(session.id, NewSummary("a", tuple(ids[:2])))
    wide = await add(session.id, NewSummary("b", tuple(ids[:4]), level=1, replaces=(narrow.id,)))
    for model in ("m", "n", "n"):
        epoch = await store.context.add_epoch(NewEpoch(session.id, model, "head", (), ids[0]))
    await store.context.record_turn(TurnRecord(ids[3], session.id, epoch.id, "m", "ab", 7, ()))
    await store.jobs.add("title", session.id, session_id=session.id)
    await store.jobs.add("tag", "x", payload={"session": session.id})
    other = await store.jobs.add("title", kept.id, session_id=kept.id)
    await store.jobs.keep_result("summary", DIGEST, "about a wombat", session.id)
    first, second = (await store.vectors.unembedded("v", session=session.id))[:2]
    number = bytes.fromhex("0000803f")
    await store.vectors.put("v", [Embedded(first, (number, number)), Embedded(second, (number,))])
    erased = await store.erase_session(session.id)

    assert erased == Erased(
        messages=8,
        summaries=2,
        epochs=3,
        turns=1,
        vectors=3,
        full_text=7,
        jobs=2,
        results=1,
        verified=True,
    )
    for attempt in (store.get_session, store.branch, store.context.summaries, store.erase_session):
        with pytest.raises(SessionNotFound):
            await attempt(session.id)
    with pytest.raises(SummaryNotFound):
        await store.context.summary(wide.id)
    with pytest.raises(MessageNotFound):
        await store.variants(ids[0])
    assert await store.search("wombat") == []
    assert await store.context.turn(ids[3]) is None
    assert (await store.vectors.counts()).by_model == {}
    assert await store.jobs.list() == [other]
    assert await store.jobs.result("summary", DIGEST) is None
    assert await store.list_sessions() == [kept]
    assert await store.branch(kept.id) == others
    assert await store.context.summaries(kept.id) == [theirs]
    report = await store.verify()
    assert (report.sessions, report.messages, report.problems) == (1, 3, ())


async def test_a_session_in_the_bin_can_be_erased(store: Store) -> None:
    session, _ = await begin(store)
    await store.bin_session(session.id)
    assert (await store.erase_session(session.id)).verified
    assert await store.list_sessions(binned=True) == []


async def test_what_was_recalled_from_an_erased_session_goes_too(store: Store) -> None:
    session, said = await talk(store, 2)
    summary = await store.context.add_summary(session.id, NewSummary("a", (said[0].id,)))
    from_message = await recalling(store, "a memory", said[1].id)
    from_summary = await recalling(store, summary.id)
    untouched = await recalling(store, "a memory")
    erased = await store.erase_session(session.id)
    assert erased.verified
    assert set(erased.recalled_in) == {from_message[0], from_summary[0]}

    for (owner, question, reply), left in (
        (from_message, ("a memory",)),
        (from_summary, ()),
        (untouched, ("a memory",)),
    ):
        intact = reply == untouched[2]
        assert (await store.branch(owner, question))[0].preface == ("what was recalled" if intact else "")
        assert len(await store.context.epochs(owner, "m")) == int(intact)
        turn = await store.context.turn(reply)
        assert turn is not None
        assert turn.parts[0] == TierUse("recall", 3, left)


async def test_a_closed_room_erases_nothing(store: Store) -> None:
    session, said = await talk(store, 2)
    await store.close()
    attempts: list[Callable[[], Awaitable[object]]] = [
        lambda: store.erase_session(session.id),
        lambda: store.forget_message(said[0].id),
    ]
    for attempt in attempts:
        with pytest.raises(RoomClosed):
            await attempt()
