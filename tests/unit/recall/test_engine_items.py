"""Memories and summaries beside messages: found by the same score, and never those that are out of use."""

from datetime import timedelta

import pytest

from memory.context.entities import NewSummary
from memory.entities import NewMessage, NewSession
from memory.memories.entities import (
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemorySource,
    MemoryState,
    MemoryTier,
    NewMemory,
    UseKind,
)
from memory.recall.entities import Hit, RecallQuery
from memory.storage.store import Store
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.unit.recall.test_engine import by_words, say, store, with_meaning

__all__ = ["store"]

MEMORY = frozenset({"memory"})
BOTH = frozenset({"message", "memory"})


def known(text: str, **fields: object) -> NewMemory:
    return NewMemory(MemoryKind.FACT, text, MemoryOrigin.PERSON, **fields)  # type: ignore[arg-type]


def texts(hits: list[Hit]) -> list[str]:
    return [hit.text for hit in hits]


@pytest.mark.parametrize("meaning", [False, True])
async def test_a_memory_is_found_with_its_reasons_and_its_source(store: Store, meaning: bool) -> None:
    session, message = await store.create_session(
        NewSession("a"), NewMessage(Role.USER, "my boat is called Marigold")
    )
    source = MemorySource(message.id, session.id, "my boat is called Marigold")
    made = await store.memories.add(known("The boat is called Marigold.", sources=(source,)))
    await store.memories.add(known("Tea is taken without milk."))
    engine = await with_meaning(store) if meaning else by_words(store)
    found = await engine.answer(RecallQuery("what is the boat called", kinds=MEMORY))
    hit = found.hits[0]
    assert (hit.id, hit.kind, hit.text, hit.sources) == (made.id, "memory", made.text, (message.id,))
    assert (hit.source.session, hit.source.message) == (session.id, message.id)
    assert found.semantic is meaning
    assert hit.parts["lexical"] > 0
    assert (hit.parts["semantic"] > 0) is meaning
    together = await engine.recall(RecallQuery("what is the boat called", kinds=BOTH))
    assert {hit.kind for hit in together[:2]} == {"message", "memory"}
    assert together[0].parts.keys() == hit.parts.keys()


async def test_what_is_out_of_use_is_never_found(store: Store) -> None:
    memories = store.memories
    old = await memories.add(known("The boat is green."))
    await memories.add(known("The boat is blue.", supersedes=(old.id,)))
    for state in (MemoryState.ARCHIVED, MemoryState.REJECTED):
        gone = await memories.add(known(f"The boat is {state}."))
        await memories.change(gone.id, MemoryPatch(state=state))
    await memories.add(known("The boat is hired.", expires_at=FakeClock().now() - timedelta(hours=1)))
    way = await memories.add(
        NewMemory(
            MemoryKind.PROCEDURE, "The boat is moored so.", MemoryOrigin.MODEL, tier=MemoryTier.PROCEDURAL
        )
    )
    engine = by_words(store)
    assert texts(await engine.recall(RecallQuery("boat", kinds=MEMORY))) == ["The boat is blue."]
    await memories.change(way.id, MemoryPatch(state=MemoryState.KEPT))
    assert way.text in texts(await engine.recall(RecallQuery("boat", kinds=MEMORY)))


async def test_changes_of_memories_are_followed(store: Store) -> None:
    engine = await with_meaning(store)
    assert await engine.recall(RecallQuery("boat", kinds=MEMORY)) == []
    made = await store.memories.add(known("The boat is blue."))
    assert texts(await engine.recall(RecallQuery("boat", kinds=MEMORY))) == [made.text]
    await store.memories.change(made.id, MemoryPatch(text="The barge is blue."))
    (hit,) = await engine.recall(RecallQuery("barge", kinds=MEMORY))
    assert (hit.text, hit.grounds.words) == ("The barge is blue.", 1.0)
    await store.memories.forget([made.id])
    assert await engine.recall(RecallQuery("barge", kinds=MEMORY)) == []


async def test_projects_sessions_and_exclusions_bound_memories(store: Store) -> None:
    session = await say(store, "my boat is at home", project="Home")
    message = (await store.branch(session))[0]
    source = MemorySource(message.id, session, "boat")
    home = await store.memories.add(known("boat at home", project="Home", sources=(source,)))
    work = await store.memories.add(known("boat at work", project="Work"))
    anywhere = await store.memories.add(known("boat anywhere"))
    engine = by_words(store)

    async def found(**bounds: object) -> set[str]:
        return {hit.id for hit in await engine.recall(RecallQuery("boat", kinds=MEMORY, **bounds))}  # type: ignore[arg-type]

    assert await found() == {home.id, work.id, anywhere.id}
    assert await found(project="Home") == {home.id, anywhere.id}
    assert await found(session=session) == {home.id}
    assert await found(exclude_messages=[message.id]) == {work.id, anywhere.id}
    assert await found(exclude_messages=[work.id]) == {home.id, anywhere.id}
    assert await found(exclude_sessions=[session]) == {work.id, anywhere.id}
    assert await found(before=home.created_at) == set()
    await store.bin_session(session)
    assert await found() == {work.id, anywhere.id}


async def test_a_memory_that_served_is_before_its_equal(store: Store) -> None:
    session = await say(store, "hello")
    reply = await store.append_message(session, NewMessage(Role.ASSISTANT, "yes"))
    await store.memories.add(known("The boat is blue."))
    served = await store.memories.add(known("The boat is green."))
    await store.memories.use([served.id], reply_id=reply.id, session_id=session, how=UseKind.CITED)
    await store.memories.add(known("The boat is brown."))
    hits = await by_words(store).recall(RecallQuery("boat", kinds=MEMORY))
    assert hits[0].id == served.id
    assert hits[0].parts["importance"] > hits[1].parts["importance"]


async def test_summaries_are_found_when_they_are_asked_for(store: Store) -> None:
    session = await say(store, "the boat leaks", "and the pump is broken")
    first, second = await store.branch(session)
    made = await store.context.add_summary(session, NewSummary("The boat leaks.", (first.id, second.id)))
    engine = by_words(store)
    (hit,) = await engine.recall(RecallQuery("boat", kinds=["summary"]))
    assert (hit.id, hit.kind, hit.source.session) == (made.id, "summary", session)
    await store.context.age_summaries([first.id])
    assert await engine.recall(RecallQuery("boat", kinds=["summary"])) == []
