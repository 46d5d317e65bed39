"""Forgotten memories, and what goes with them."""

from dataclasses import replace

import pytest

from memory.entities import NewSession
from memory.errors import (
    CannotUndo,
    MemoryNotFound,
    MessageNotFound,
)
from memory.memories.entities import MemoryFilter, MemoryPatch
from memory.storage.store import Store
from tests.contract.knowing import MODEL, asked_with, embed_all, fact, own, quoted
from tests.contract.talk import begin, user

NOBODY = "00000000-0000-7000-8000-000000000000"


async def test_a_forgotten_memory_is_gone_from_everywhere(store: Store) -> None:
    kept = await store.memories.add(own("Rides a bicycle"))
    old = await store.memories.add(own("Works in Oslo"))
    memory = await store.memories.add(replace(own("Works in Bergen"), supersedes=(old.id,)))
    await store.memories.change(memory.id, MemoryPatch(text="Works near Bergen"))
    await store.memories.change_many(
        [(memory.id, MemoryPatch(pinned=True)), (kept.id, MemoryPatch(pinned=True))], action="pin"
    )
    session, reply = await asked_with(store, memory)
    elsewhere, _ = await asked_with(store, kept)
    profiled, _ = await asked_with(store, memory, tier="profile")
    await embed_all(store)
    erased = await store.memories.erase([memory.id, NOBODY])
    assert (erased.memories, erased.versions, erased.vectors, erased.full_text) == (1, 1, 1, 1)
    assert erased.verified
    assert set(erased.recalled_in) == {session.id, profiled.id}
    assert await store.memories.forget([memory.id]) == 0

    with pytest.raises(MemoryNotFound):
        await store.memories.get(memory.id)
    assert [one.id for one in await store.memories.select()] == [kept.id, old.id]
    assert await store.vectors.of(MODEL, owners=[memory.id]) == []
    turn = await store.context.turn(reply)
    assert turn is not None
    assert turn.parts[0].ids == ()
    assert [(await store.branch(one.id))[0].preface for one in (session, elsewhere)] == ["", "what is known"]
    assert [len(await store.context.epochs(one.id, "m")) for one in (session, elsewhere, profiled)] == [
        0,
        1,
        0,
    ]
    assert await store.memories.changes(memory_id=memory.id) == []
    (pin,) = [one for one in await store.memories.changes() if one.action == "pin"]
    assert pin.memory_ids == (kept.id,)
    with pytest.raises(CannotUndo):
        await store.memories.undo(pin.id)


async def test_what_was_merged_is_forgotten_together(store: Store) -> None:
    add = store.memories.add
    oslo, welder, boat = [await add(own(text)) for text in ("Works in Oslo", "Is a welder", "Has a boat")]
    merged = await add(replace(own("Is a welder, works in Oslo"), parts=(oslo.id, welder.id)))
    await add(replace(own("Is a welder with a boat"), parts=(merged.id, boat.id)))
    assert await store.memories.forget([oslo.id]) == 3
    assert {one.id for one in await store.memories.select()} == {welder.id, boat.id}
    again = await add(replace(own("Has a boat, is a welder"), parts=(boat.id, welder.id)))
    assert await store.memories.forget([again.id]) == 3
    assert await store.memories.select(MemoryFilter(states=None)) == []


async def test_memories_go_with_the_last_words_they_rest_on(store: Store) -> None:
    session, said = await begin(store, "I work in Oslo as a welder")
    _, again = await begin(store, "my work in Oslo")
    alone = await store.memories.add(fact("Is a welder", said))
    both = await store.memories.add(fact("Works in Oslo", said, again))
    first_said = await store.memories.add(fact("Is a welder in Oslo", said, again))
    told = await store.memories.add(own("Likes welders"))
    await store.memories.add_sources(told.id, [quoted(said)])
    merged = await store.memories.add(replace(fact("A welder", said), parts=(told.id,)))
    await embed_all(store)
    erased = await store.erase_session(session.id)

    assert (erased.memories, erased.verified) == (3, True)
    assert {one.id for one in await store.memories.select()} == {both.id, told.id}
    assert await store.memories.sources(both.id) == [quoted(again)]
    assert await store.memories.sources(told.id) == []
    assert await store.memories.get_many([alone.id, first_said.id, merged.id]) == []
    assert await store.memories.changes(memory_id=both.id) != []
    for change in await store.memories.changes():
        with pytest.raises(CannotUndo):
            await store.memories.undo(change.id)
    assert (await store.verify()).problems == ()


async def test_a_memory_loses_what_it_said_in_forgotten_words(store: Store) -> None:
    _, said = await begin(store, "I am a welder")
    _, later = await begin(store, "I am a baker now")
    memory = await store.memories.add(fact("Is a welder", said))
    await store.memories.add_sources(memory.id, [quoted(later)])
    await store.memories.change(memory.id, MemoryPatch(text="Is a baker"))
    _, reply = await asked_with(store, memory)
    erased = await store.forget_messages([said.id])
    assert (erased.memories, erased.versions, erased.verified) == (0, 1, True)
    assert [one.text for one in await store.memories.select()] == ["Is a baker"]
    assert await store.memories.versions(memory.id) == []
    assert await store.memories.sources(memory.id) == [quoted(later)]
    turn = await store.context.turn(reply)
    assert turn is not None
    assert turn.parts[0].ids == (memory.id,)
    assert (await store.branch(turn.session_id))[0].preface == ""


async def test_titles_go_with_the_words_they_are_made_of(store: Store) -> None:
    session, said = await store.create_session(NewSession("My zeppelin"), user("My zeppelin leaks"))
    named, other = await begin(store, "a zeppelin", title="Travel")
    erased = await store.forget_messages([said.id, other.id])
    assert erased.untitled == (session.id,)
    assert (await store.get_session(session.id)).title == ""
    assert (await store.get_session(named.id)).title == "Travel"
    with pytest.raises(MessageNotFound):
        await store.forget_messages([NOBODY])


@pytest.mark.parametrize(
    ("title", "words", "left", "stays"),
    [
        ("Hello there", "Hello  there", "", False),
        ("Hello there", "hello there, and so on", "And you?", False),
        ("Hello there…", "Hello there, you", "Hello there again", True),
        ("Then and now", "It was so", "And you?", True),
    ],
)
async def test_a_title_of_small_words_goes_with_the_words_that_held_it(
    store: Store, title: str, words: str, left: str, stays: bool
) -> None:
    session, said = await store.create_session(NewSession(title), user(words))
    if left:
        await store.append_message(session.id, user(left))
    erased = await store.forget_messages([said.id])
    assert erased.untitled == (() if stays else (session.id,))
    assert (await store.get_session(session.id)).title == (title if stays else "")
