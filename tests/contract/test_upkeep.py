"""What becomes of memories by themselves, in every store: promoting, merging, collecting, and undoing it."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from memory.entities import NewMessage, NewSession
from memory.memories.entities import (
    Memory,
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemorySource,
    MemoryState,
    MemoryTier,
    NewMemory,
    UseKind,
)
from memory.memories.lifetime import FadingReason, Ground, Retention
from memory.memories.upkeep import Upkeep
from memory.storage.store import Store
from memory.vectors.entities import Embedded
from memory.vectors.indexing import packed
from models.messages import Role
from tests.fakes.clock import FakeClock

RULES = Retention()
MODEL = "model"
TEA = ("I like green tea", "I like green tea in the morning")


def upkeep(store: Store, clock: FakeClock, rules: Retention = RULES) -> Upkeep:
    return Upkeep(store, clock, lambda: rules)


async def learn(store: Store, text: str, **given: object) -> Memory:
    usual: dict[str, object] = {"kind": MemoryKind.FACT, "origin": MemoryOrigin.PATTERN, "importance": 0.5}
    return await store.memories.add(NewMemory(text=text, **(usual | given)))  # type: ignore[arg-type]


async def embed(store: Store, meant: Mapping[str, tuple[float, ...]]) -> None:
    """Gives texts the vectors that they are to have."""
    found = await store.vectors.unembedded(MODEL, limit=100)
    made = [Embedded(one, (packed(meant[one.text]),)) for one in found if one.text in meant]
    assert await store.vectors.put(MODEL, made) == len(made)


async def said(store: Store, *texts: str) -> list[MemorySource]:
    session, first = await store.create_session(NewSession("Tea"), NewMessage(Role.USER, texts[0]))
    messages = [first]
    for text in texts[1:]:
        await store.append_message(session.id, NewMessage(Role.ASSISTANT, "Noted."))
        messages.append(await store.append_message(session.id, NewMessage(Role.USER, text)))
    return [MemorySource(one.id, session.id, one.content) for one in messages]


async def test_near_memories_become_one_with_their_lineage_and_back(store: Store) -> None:
    first, second = await said(store, *TEA)
    one = await learn(store, TEA[0], sources=(first,))
    other = await learn(store, TEA[1], sources=(second,))
    far = await learn(store, "My rent is 900 euros")
    await embed(store, {TEA[0]: (1.0, 0.0), TEA[1]: (0.8, 0.6), far.text: (0.0, 1.0)})
    work = upkeep(store, FakeClock())

    (planned,) = await work.consolidate(dry_run=True)
    assert planned.made is None
    assert {part.id for part in planned.cluster.members} == {one.id, other.id}
    assert len(await store.memories.select()) == 3

    (merger,) = await work.consolidate()
    assert merger.made is not None
    made = await store.memories.get(merger.made.id)
    assert made.text == TEA[1]
    assert made.origin is MemoryOrigin.CONSOLIDATION
    assert {part.id for part in await store.memories.parts(made.id)} == {one.id, other.id}
    quotes = {source.message_id for source in await store.memories.sources(made.id)}
    assert quotes == {first.message_id, second.message_id}
    assert (await store.memories.get(one.id)).state is MemoryState.ARCHIVED
    assert {each.id for each in await store.memories.select()} == {made.id, far.id}
    (change, *_) = await store.memories.changes()
    assert (change.action, change.automatic) == ("consolidate", True)

    await store.memories.undo(change.id)
    assert {each.id for each in await store.memories.select()} == {one.id, other.id, far.id}
    await embed(store, {TEA[0]: (1.0, 0.0), TEA[1]: (0.8, 0.6)})
    assert await work.consolidate() == []


async def test_memories_without_vectors_are_left_alone(store: Store) -> None:
    for text in TEA:
        await learn(store, text)
    assert await upkeep(store, FakeClock()).consolidate() == []


async def test_what_a_model_words_stands_for_all_of_it(store: Store) -> None:
    for text in TEA:
        await learn(store, text)
    await embed(store, {TEA[0]: (1.0, 0.0), TEA[1]: (0.9, 0.1)})

    async def reword(texts: object) -> str:
        return "Green tea I like, in the morning"

    work = Upkeep(store, FakeClock(), lambda: RULES, reword=lambda: reword)
    (merger,) = await work.consolidate()
    assert merger.made is not None
    assert merger.made.text == "Green tea I like, in the morning"


@pytest.mark.parametrize(("hours", "left"), [(1, 1), (72, 0)])
async def test_what_has_run_out_is_archived_after_a_dry_run_and_comes_back(
    store: Store, hours: int, left: int
) -> None:
    clock = FakeClock()
    end = clock.now() + timedelta(hours=48)
    parcel = await learn(store, "The parcel comes today", tier=MemoryTier.SHORT_TERM, expires_at=end)
    pinned = await learn(store, "My bus", tier=MemoryTier.SHORT_TERM, expires_at=end, pinned=True)
    clock.advance(timedelta(hours=hours))
    work = upkeep(store, clock)

    planned = await work.collect(dry_run=True)
    assert [expiry.memory.id for expiry in planned.archive] == [parcel.id] * (1 - left)
    assert (await store.memories.get(parcel.id)).state is MemoryState.INBOX
    assert await work.collect() == planned
    assert len(await store.memories.select()) == 1 + left
    assert (await store.memories.get(pinned.id)).state is MemoryState.INBOX
    if not left:
        (change, *_) = await store.memories.changes()
        assert (change.action, change.automatic) == ("archive", True)
        await store.memories.undo(change.id)
        assert (await work.collect()).archive == ()
        assert [expiry for expiry in await work.fading() if expiry.memory.id == parcel.id] == []


async def test_a_clock_that_is_ahead_makes_no_memory_older(store: Store) -> None:
    clock = FakeClock()
    end = clock.now() + timedelta(days=30)
    parcel = await learn(store, "The exam is next month", tier=MemoryTier.EPISODIC, expires_at=end)
    old = await learn(store, "My bus", state=MemoryState.ARCHIVED)
    work = upkeep(store, clock, Retention(archive_days=90))
    assert (await work.collect()).archive == ()
    clock.advance(timedelta(days=365))
    made = await work.collect()
    assert (made.archive, made.erase) == ((), ())
    await store.retention.look_at_clock(clock.now(), believe=True)
    made = await work.collect()
    assert [expiry.memory.id for expiry in (*made.archive, *made.erase)] == [parcel.id, old.id]


async def test_fading_is_listed_before_it_goes(store: Store) -> None:
    clock = FakeClock()
    near = clock.now() + timedelta(hours=48)
    far = clock.now() + timedelta(days=30)
    soon = await learn(store, "The parcel comes today", tier=MemoryTier.SHORT_TERM, expires_at=near)
    await learn(store, "The exam is next month", tier=MemoryTier.EPISODIC, expires_at=far)
    lasting = await learn(store, "My cat is grey", tier=MemoryTier.LONG_TERM)
    work = upkeep(store, clock)
    assert await work.fading() == []
    clock.advance(timedelta(hours=40))
    assert [(expiry.memory.id, expiry.why) for expiry in await work.fading()] == [
        (soon.id, FadingReason.EXPIRES_SOON)
    ]
    clock.advance(timedelta(days=300))
    assert [expiry.why for expiry in await work.fading()] == [
        FadingReason.EXPIRED,
        FadingReason.EXPIRED,
        FadingReason.FAINT,
    ]
    assert len((await work.collect()).archive) == 2
    assert (await store.memories.get(lasting.id)).state is MemoryState.INBOX


async def test_what_comes_up_often_is_given_time(store: Store) -> None:
    clock = FakeClock()
    end = clock.now() + timedelta(hours=48)
    sources = await said(
        store, "The shed leaks", "It leaks again", "The shed leaks a lot", "Rain in the shed"
    )
    leak = await learn(
        store, "The shed leaks", tier=MemoryTier.SHORT_TERM, expires_at=end, sources=tuple(sources)
    )
    clock.advance(timedelta(hours=60))
    made = await upkeep(store, clock).collect()
    assert [expiry.memory.id for expiry in made.prolong] == [leak.id]
    after = await store.memories.get(leak.id)
    assert after.expires_at is not None
    assert after.expires_at > clock.now()
    assert after.importance > leak.importance


async def test_the_archive_is_erased_only_when_that_is_wanted(store: Store) -> None:
    clock = FakeClock()
    old = await learn(store, "The parcel comes today", state=MemoryState.ARCHIVED)
    clock.advance(timedelta(days=400))
    assert (await upkeep(store, clock).collect()).erase == ()
    made = await upkeep(store, clock, Retention(archive_days=365)).collect()
    assert [expiry.memory.id for expiry in made.erase] == [old.id]
    assert await store.memories.get_many([old.id]) == []


async def test_what_was_of_use_or_matters_or_belongs_to_what_lasts_is_promoted(store: Store) -> None:
    clock = FakeClock()
    end = clock.now() + timedelta(hours=48)
    passing = {"tier": MemoryTier.SHORT_TERM, "expires_at": end}
    sources = await said(store, "Tea again", "More tea", "Tea for the third time")
    plain = await learn(store, "The bus was late", **passing)
    used = await learn(store, "My bus is the 12", **passing)
    important = await learn(store, "I moved to Bergen", **{**passing, "importance": 0.9})
    themed = await learn(store, "I bought green tea", sources=tuple(sources[:1]), **passing)
    await learn(store, "I like tea", tier=MemoryTier.LONG_TERM)
    await embed(
        store,
        {
            plain.text: (0.0, 1.0),
            used.text: (0.0, 1.0),
            important.text: (0.0, 1.0),
            themed.text: (0.9, 0.4),
            "I like tea": (1.0, 0.0),
        },
    )
    session = sources[0].session_id
    for _ in range(6):
        reply = await store.append_message(session, NewMessage(Role.ASSISTANT, "The 12."))
        await store.memories.use([used.id], reply_id=reply.id, session_id=session, how=UseKind.CITED)
    made = await upkeep(store, clock).promote()
    assert {one.memory.id: one.ground for one in made} == {
        used.id: Ground.USED,
        important.id: Ground.IMPORTANT,
    }
    clock.advance(timedelta(hours=2))
    made = await upkeep(store, clock).promote()
    assert {one.memory.id: one.ground for one in made} == {themed.id: Ground.LASTING_THEME}
    kept = await store.memories.get(used.id)
    assert (kept.tier, kept.state, kept.expires_at) == (MemoryTier.LONG_TERM, MemoryState.KEPT, None)
    assert (await store.memories.get(plain.id)).tier is MemoryTier.SHORT_TERM

    (change, *_) = await store.memories.changes(memory_id=themed.id)
    await store.memories.undo(change.id)
    assert await upkeep(store, clock).promote() == []
    assert (await store.memories.get(themed.id)).expires_at == end


async def test_nothing_is_merged_that_was_changed_meanwhile(store: Store) -> None:
    memories = [await learn(store, text) for text in TEA]
    await embed(store, {TEA[0]: (1.0, 0.0), TEA[1]: (0.9, 0.1)})

    async def slow(_texts: object) -> None:
        await store.memories.change(memories[0].id, MemoryPatch(text="I like black tea"))

    work = Upkeep(store, FakeClock(), lambda: RULES, reword=lambda: slow)
    assert await work.consolidate() == []
    assert len(await store.memories.select()) == 2
