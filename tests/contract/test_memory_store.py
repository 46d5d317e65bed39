"""What every store of memories does: adding, finding, changing, using."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from memory.entities import MemoryMode, Message, SessionPatch
from memory.errors import (
    AmbiguousId,
    ChangeNotFound,
    MemoryNotFound,
    MessageNotFound,
    RoomClosed,
    SessionNotFound,
)
from memory.memories.entities import (
    MemoryFilter,
    MemoryKind,
    MemoryPatch,
    MemorySource,
    MemoryState,
    MemoryTier,
    UseKind,
)
from memory.storage.store import Store
from memory.vectors.entities import Embedded
from memory.vectors.indexing import packed
from tests.contract.knowing import MODEL, embed_all, fact, own, quoted
from tests.contract.talk import begin, talk, user

NOBODY = "00000000-0000-7000-8000-000000000000"


async def test_what_is_added_is_found_with_its_sources(store: Store) -> None:
    _, said = await begin(store, "I work in Oslo")
    new = replace(fact("Works in Oslo", said, subject="work"), project="Home", confidence=0.75, model="m")
    added = await store.memories.add(new)
    assert (added.text, added.subject, added.project, added.confidence) == (
        "Works in Oslo",
        "work",
        "Home",
        0.75,
    )
    assert (added.version, added.uses, added.state) == (1, 0, MemoryState.INBOX)
    assert await store.memories.get(added.id[:-4]) == added
    assert await store.memories.sources(added.id) == [quoted(said)]
    assert await store.memories.learned_from([said.id]) == [added]
    assert await store.memories.versions(added.id) == []


async def test_what_is_not_there(store: Store) -> None:
    first = await store.memories.add(own("one"))
    await store.memories.add(own("two"))
    memories = store.memories
    attempts: list[Callable[[], Awaitable[object]]] = [
        lambda: memories.get(NOBODY),
        lambda: memories.change(NOBODY, MemoryPatch(pinned=True)),
        lambda: memories.sources(NOBODY),
        lambda: memories.versions(NOBODY),
        lambda: memories.parts(NOBODY),
        lambda: memories.uses(NOBODY),
        lambda: memories.add(replace(own("three"), supersedes=(NOBODY,))),
    ]
    for attempt in attempts:
        with pytest.raises(MemoryNotFound):
            await attempt()
    with pytest.raises(AmbiguousId):
        await memories.get(first.id[:2])
    with pytest.raises(MessageNotFound):
        await memories.add(replace(fact(), sources=(MemorySource(NOBODY, NOBODY, "x"),)))
    with pytest.raises(ChangeNotFound):
        await memories.undo(NOBODY)
    assert len(await memories.select()) == 2
    assert await memories.get_many([NOBODY, first.id]) == [first]


async def test_the_pinned_come_first_then_the_latest_changed(store: Store) -> None:
    one, two, three = [await store.memories.add(own(text)) for text in ("one", "two", "three")]
    await store.memories.change(one.id, MemoryPatch(importance=0.9))
    await store.memories.change(two.id, MemoryPatch(pinned=True))
    assert [found.id for found in await store.memories.select()] == [two.id, one.id, three.id]
    assert [found.id for found in await store.memories.select(limit=1, offset=1)] == [one.id]


async def test_filters(store: Store) -> None:
    session, said = await begin(store, "I work in Oslo")
    home = await store.memories.add(replace(fact("Works in Oslo", said), project="Home"))
    plain = await store.memories.add(replace(own("Rides a blue bicycle"), kind=MemoryKind.PREFERENCE))
    away = await store.memories.add(replace(own("Boats on lakes"), project="Away", pinned=True))
    gone = await store.memories.add(replace(own("Bluebells bloom"), state=MemoryState.REJECTED))

    async def found(**sides: object) -> set[str]:
        return {one.id for one in await store.memories.select(MemoryFilter(**sides))}  # type: ignore[arg-type]

    assert await found() == {home.id, plain.id, away.id}
    assert await found(states=None) == {home.id, plain.id, away.id, gone.id}
    assert await found(project="Home") == {home.id, plain.id}
    assert await found(session=session.id) == {home.id}
    assert await found(kinds=frozenset({MemoryKind.PREFERENCE})) == {plain.id}
    assert await found(tiers=frozenset({MemoryTier.PROCEDURAL})) == set()
    assert await found(pinned=True) == {away.id}
    assert await found(containing="blu") == {plain.id}
    assert await found(containing="blu bicy", states=None) == {plain.id}
    assert await found(containing="BLU", states=None) == {plain.id, gone.id}
    assert await found(containing='"(') == set()


async def test_words_of_scripts_without_spaces_are_found(store: Store) -> None:
    memory = await store.memories.add(own("\u6211\u4f4f\u5728\u5965\u65af\u9646"))
    for wanted, there in (("\u5965\u65af", True), ("\u67cf\u6797", False)):
        found = await store.memories.select(MemoryFilter(containing=wanted))
        assert [one.id for one in found] == [memory.id] * there


async def test_other_words_are_another_version(store: Store) -> None:
    memory = await store.memories.add(own("Works in Oslo"))
    assert (await store.memories.change(memory.id, MemoryPatch(text="Works in Oslo"))) == memory
    changed = await store.memories.change(memory.id, MemoryPatch(text="Works in Bergen", subject="work"))
    assert (changed.version, changed.text) == (2, "Works in Bergen")
    assert changed.updated_at > memory.updated_at
    (before,) = await store.memories.versions(memory.id)
    assert (before.version, before.text, before.created_at) == (1, "Works in Oslo", memory.created_at)
    pinned = await store.memories.change(memory.id, MemoryPatch(pinned=True, expires_at=memory.created_at))
    assert (pinned.version, pinned.expires_at) == (2, memory.created_at)
    assert (await store.memories.change(memory.id, MemoryPatch(expires_at=None))).expires_at is None


async def test_ten_earlier_versions_of_a_procedure_are_kept(store: Store) -> None:
    memory = await store.memories.add(replace(own("0"), kind=MemoryKind.PROCEDURE))
    for n in range(1, 13):
        await store.memories.change(memory.id, MemoryPatch(text=str(n)))
    assert [one.text for one in await store.memories.versions(memory.id)] == [str(n) for n in range(2, 12)]


async def test_what_is_superseded_or_merged_makes_way(store: Store) -> None:
    old = await store.memories.add(own("Works in Oslo"))
    new = await store.memories.add(replace(own("Works in Bergen"), supersedes=(old.id,)))
    merged = await store.memories.add(replace(own("Works by the sea"), parts=(new.id,)))
    assert await store.memories.select() == [merged]
    (was,) = await store.memories.get_many([old.id])
    assert (was.state, was.superseded_by) == (MemoryState.SUPERSEDED, new.id)
    assert [one.state for one in await store.memories.parts(merged.id)] == [MemoryState.ARCHIVED]
    back = await store.memories.change(old.id, MemoryPatch(state=MemoryState.KEPT))
    assert back.superseded_by is None


async def test_the_same_said_again_is_one_more_source(store: Store) -> None:
    _, first = await begin(store, "I work in Oslo")
    _, second = await begin(store, "still in Oslo")
    memory = await store.memories.add(fact("Works in Oslo", first))
    again = await store.memories.add_sources(memory.id, [quoted(second), quoted(first)])
    assert await store.memories.sources(memory.id) == [quoted(first), quoted(second)]
    assert again.updated_at > memory.updated_at
    assert (await store.memories.add_sources(memory.id, [quoted(first)])) == again
    with pytest.raises(MessageNotFound):
        await store.memories.add_sources(memory.id, [MemorySource(NOBODY, NOBODY, "x")])


async def test_uses_count_once_a_reply_and_being_recalled_does_not(store: Store) -> None:
    session, said = await talk(store, 4)
    memory = await store.memories.add(own("Works in Oslo"))

    async def use(reply: Message, how: UseKind) -> None:
        await store.memories.use([memory.id, NOBODY], reply_id=reply.id, session_id=session.id, how=how)

    await use(said[1], UseKind.RECALLED)
    assert (await store.memories.get(memory.id)).uses == 0
    for how in (UseKind.CITED, UseKind.CITED, UseKind.CONFIRMED):
        await use(said[1], how)
    await use(said[3], UseKind.OPENED)
    used = await store.memories.get(memory.id)
    assert used.uses == 2
    uses = await store.memories.uses(memory.id)
    assert used.used_at == uses[0].used_at
    assert {(one.reply_id, one.how) for one in uses} == {
        (said[1].id, UseKind.RECALLED),
        (said[1].id, UseKind.CITED),
        (said[1].id, UseKind.CONFIRMED),
        (said[3].id, UseKind.OPENED),
    }
    with pytest.raises(MessageNotFound):
        await store.memories.use([memory.id], reply_id=NOBODY, session_id=session.id, how=UseKind.CITED)


async def test_what_has_not_been_learned_from(store: Store) -> None:
    first, said = await talk(store, 4)
    second, other = await begin(store, "in another session")
    waiting = await store.memories.unlearned()
    assert [(one.session_id, one.message_ids) for one in waiting] == [
        (second.id, (other.id,)),
        (first.id, (said[0].id, said[2].id)),
    ]
    assert await store.memories.unlearned(limit=1) == waiting[:1]
    assert await store.memories.unlearned(session=first.id) == waiting[1:]
    await store.memories.mark_learned(first.id, waiting[1].seq)
    await store.memories.mark_learned(first.id, 0)
    assert await store.memories.unlearned() == waiting[:1]
    later = await store.append_message(first.id, user("more"))
    (found,) = await store.memories.unlearned(session=first.id)
    assert found.message_ids == (later.id,)
    await store.bin_session(first.id)
    await store.update_session(second.id, SessionPatch(memory_mode=MemoryMode.READS))
    assert await store.memories.unlearned() == []
    with pytest.raises(SessionNotFound):
        await store.memories.mark_learned(NOBODY, 1)


async def test_what_expires_and_how_many_there_are(store: Store) -> None:
    at = (await store.memories.add(own("zero"))).created_at
    soon = await store.memories.add(replace(own("one"), expires_at=at, tier=MemoryTier.SHORT_TERM))
    await store.memories.add(replace(own("two"), expires_at=at, pinned=True))
    await store.memories.add(replace(own("three"), expires_at=at + timedelta(days=1)))
    await store.memories.add(replace(own("four"), expires_at=at, state=MemoryState.ARCHIVED))
    assert await store.memories.expiring(at) == [soon]
    counts = await store.memories.counts()
    assert counts.by_state == {"kept": 4, "archived": 1}
    assert counts.by_kind == {"fact": 4}
    assert counts.by_tier == {"long_term": 3, "short_term": 1}


async def test_memories_are_embedded_before_messages(store: Store) -> None:
    session, said = await begin(store, "I work in Oslo")
    memory = await store.memories.add(replace(fact("In Oslo", said, subject="work"), project="Home"))
    other = await store.memories.add(own("Rides a bicycle"))
    await store.memories.add(replace(own("Boats"), state=MemoryState.REJECTED))
    found = await store.vectors.unembedded(MODEL)
    assert [(one.kind, one.text) for one in found] == [
        ("memory", "Rides a bicycle"),
        ("memory", "work: In Oslo"),
        ("message", "I work in Oslo"),
    ]
    assert await store.vectors.unembedded(MODEL, limit=1, before=found[0].seq) == [found[1]]
    assert await store.vectors.unembedded(MODEL, before=found[1].seq) == [found[2]]
    assert await store.vectors.unembedded(MODEL, session=session.id) == found[1:]
    await embed_all(store)
    assert await store.vectors.unembedded(MODEL) == []
    (row,) = await store.vectors.of(MODEL, owners=[memory.id])
    assert (row.kind, row.session_id, row.project) == ("memory", None, "Home")
    start = await store.vectors.changes(None)
    await store.memories.change(memory.id, MemoryPatch(text="In Bergen"))
    await store.memories.change(other.id, MemoryPatch(state=MemoryState.ARCHIVED))
    assert (await store.vectors.changes(start.version)).owners == {memory.id, other.id}
    assert list((await store.vectors.scan(MODEL)).owners) == [said.id]
    assert [one.text for one in await store.vectors.unembedded(MODEL)] == ["work: In Bergen"]


async def test_a_memory_that_changed_meanwhile_is_not_taken(store: Store) -> None:
    memory = await store.memories.add(own("Works in Oslo"))
    (text,) = await store.vectors.unembedded(MODEL)
    await store.memories.change(memory.id, MemoryPatch(text="Works in Bergen"))
    assert await store.vectors.put(MODEL, [Embedded(text, (packed([1.0]),))]) == 0


async def test_what_was_touched_is_named(store: Store) -> None:
    session, said = await talk(store, 2)
    memory = await store.memories.add(own("Works in Oslo"))
    start = await store.memories.touched(None)
    assert start.ids == frozenset()
    await store.memories.use([memory.id], reply_id=said[1].id, session_id=session.id, how=UseKind.CITED)
    used = await store.memories.touched(start.version)
    assert used.ids == frozenset()
    other = await store.memories.add(replace(own("Works in Bergen"), supersedes=(memory.id,)))
    both = await store.memories.touched(used.version)
    assert both.ids == {memory.id, other.id}
    await store.memories.forget([other.id])
    assert (await store.memories.touched(both.version)).ids >= {other.id}


async def test_a_closed_room_knows_nothing(store: Store) -> None:
    await store.close()
    attempts: list[Callable[[], Awaitable[object]]] = [
        lambda: store.memories.add(own("x")),
        store.memories.select,
        store.memories.counts,
        lambda: store.memories.forget([NOBODY]),
    ]
    for attempt in attempts:
        with pytest.raises(RoomClosed):
            await attempt()
