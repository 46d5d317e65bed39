"""What every store of memories does."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from memory.context.entities import NewEpoch, TierUse, TurnRecord
from memory.entities import MemoryMode, Message, MessagePatch, NewSession, Session, SessionPatch
from memory.errors import (
    AmbiguousId,
    CannotUndo,
    ChangeNotFound,
    MemoryNotFound,
    MessageNotFound,
    RoomClosed,
    SessionNotFound,
)
from memory.knowledge.entities import (
    Memory,
    MemoryFilter,
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemorySource,
    MemoryState,
    MemoryTier,
    NewMemory,
    UseKind,
)
from memory.ports import SessionStore
from memory.vectors.embedding import packed
from memory.vectors.entities import Embedded
from tests.contract.talk import begin, talk, user

NOBODY = "00000000-0000-7000-8000-000000000000"
MODEL = "f1"


def fact(text: str = "Works in Oslo", *said: Message, subject: str = "") -> NewMemory:
    return NewMemory(
        MemoryKind.FACT,
        text,
        MemoryOrigin.PATTERN,
        sources=tuple(quoted(one) for one in said),
        subject=subject,
    )


def quoted(message: Message) -> MemorySource:
    return MemorySource(message.id, message.session_id, message.content)


def own(text: str) -> NewMemory:
    return NewMemory(MemoryKind.FACT, text, MemoryOrigin.PERSON, state=MemoryState.KEPT)


async def asked_with(store: SessionStore, memory: Memory, tier: str = "recall") -> tuple[Session, str]:
    """A session, and its reply for which a memory stood in the prompt."""
    session, said = await talk(store, 2)
    await store.update_message(said[0].id, MessagePatch(preface="what is known"))
    parts = (TierUse(tier, 3, (memory.id,)),)
    epoch = await store.context.add_epoch(NewEpoch(session.id, "m", "head", parts, said[0].id))
    await store.context.record_turn(TurnRecord(said[1].id, session.id, epoch.id, "m", "ab", 7, parts))
    return session, said[1].id


# --- adding and finding ----------------------------------------------------------------------------


async def test_what_is_added_is_found_with_its_sources(store: SessionStore) -> None:
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


async def test_what_is_not_there(store: SessionStore) -> None:
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


async def test_the_pinned_come_first_then_the_latest_changed(store: SessionStore) -> None:
    one, two, three = [await store.memories.add(own(text)) for text in ("one", "two", "three")]
    await store.memories.change(one.id, MemoryPatch(importance=0.9))
    await store.memories.change(two.id, MemoryPatch(pinned=True))
    assert [found.id for found in await store.memories.select()] == [two.id, one.id, three.id]
    assert [found.id for found in await store.memories.select(limit=1, offset=1)] == [one.id]


async def test_filters(store: SessionStore) -> None:
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


async def test_words_of_scripts_without_spaces_are_found(store: SessionStore) -> None:
    memory = await store.memories.add(own("\u6211\u4f4f\u5728\u5965\u65af\u9646"))
    for wanted, there in (("\u5965\u65af", True), ("\u67cf\u6797", False)):
        found = await store.memories.select(MemoryFilter(containing=wanted))
        assert [one.id for one in found] == [memory.id] * there


# --- changing --------------------------------------------------------------------------------------


async def test_other_words_are_another_version(store: SessionStore) -> None:
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


async def test_ten_earlier_versions_of_a_procedure_are_kept(store: SessionStore) -> None:
    memory = await store.memories.add(replace(own("0"), kind=MemoryKind.PROCEDURE))
    for n in range(1, 13):
        await store.memories.change(memory.id, MemoryPatch(text=str(n)))
    assert [one.text for one in await store.memories.versions(memory.id)] == [str(n) for n in range(2, 12)]


async def test_what_is_superseded_or_merged_makes_way(store: SessionStore) -> None:
    old = await store.memories.add(own("Works in Oslo"))
    new = await store.memories.add(replace(own("Works in Bergen"), supersedes=(old.id,)))
    merged = await store.memories.add(replace(own("Works by the sea"), parts=(new.id,)))
    assert await store.memories.select() == [merged]
    (was,) = await store.memories.get_many([old.id])
    assert (was.state, was.superseded_by) == (MemoryState.SUPERSEDED, new.id)
    assert [one.state for one in await store.memories.parts(merged.id)] == [MemoryState.ARCHIVED]
    back = await store.memories.change(old.id, MemoryPatch(state=MemoryState.KEPT))
    assert back.superseded_by is None


async def test_the_same_said_again_is_one_more_source(store: SessionStore) -> None:
    _, first = await begin(store, "I work in Oslo")
    _, second = await begin(store, "still in Oslo")
    memory = await store.memories.add(fact("Works in Oslo", first))
    again = await store.memories.add_sources(memory.id, [quoted(second), quoted(first)])
    assert await store.memories.sources(memory.id) == [quoted(first), quoted(second)]
    assert again.updated_at > memory.updated_at
    assert (await store.memories.add_sources(memory.id, [quoted(first)])) == again
    with pytest.raises(MessageNotFound):
        await store.memories.add_sources(memory.id, [MemorySource(NOBODY, NOBODY, "x")])


# --- using and learning ----------------------------------------------------------------------------


async def test_uses_count_once_a_reply_and_being_recalled_does_not(store: SessionStore) -> None:
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


async def test_what_has_not_been_learned_from(store: SessionStore) -> None:
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


async def test_what_expires_and_how_many_there_are(store: SessionStore) -> None:
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


# --- the change log --------------------------------------------------------------------------------


async def test_changes_can_be_undone_one_after_another(store: SessionStore) -> None:
    memories = store.memories
    old = await memories.add(own("Works in Oslo"))
    new = await memories.add(
        replace(own("Works in Bergen"), supersedes=(old.id,)), action="learn", automatic=True
    )
    await memories.change_many(
        [(new.id, MemoryPatch(text="Works near Bergen")), (old.id, MemoryPatch(pinned=True))], action="tidy"
    )
    tidied, learned, added = await memories.changes()
    assert [(one.action, one.automatic) for one in (tidied, learned, added)] == [
        ("tidy", False),
        ("learn", True),
        ("add", False),
    ]
    assert set(tidied.memory_ids) == set(learned.memory_ids) == {old.id, new.id}
    with pytest.raises(CannotUndo):
        await memories.undo(learned.id)
    assert (await memories.undo(tidied.id)).undone_at is not None
    assert (await memories.get(new.id)).text == "Works in Bergen"
    assert await memories.versions(new.id) == []
    await memories.undo(learned.id)
    assert await memories.select() == [old]
    with pytest.raises(CannotUndo):
        await memories.undo(learned.id)
    assert [one.id for one in await memories.changes(memory_id=new.id)] == [tidied.id, learned.id]
    await memories.undo(added.id)
    assert await memories.select() == []


async def test_uses_do_not_stand_in_the_way_of_undoing(store: SessionStore) -> None:
    session, said = await talk(store, 2)
    memory = await store.memories.add(own("Works in Oslo"))
    await store.memories.change(memory.id, MemoryPatch(text="Works in Bergen"))
    await store.memories.use([memory.id], reply_id=said[1].id, session_id=session.id, how=UseKind.CITED)
    await store.memories.undo((await store.memories.changes())[0].id)
    back = await store.memories.get(memory.id)
    assert (back.text, back.uses) == ("Works in Oslo", 1)


async def test_what_undoing_takes_away_is_recalled_no_more(store: SessionStore) -> None:
    memory = await store.memories.add(own("Works in Oslo"))
    session, reply = await asked_with(store, memory)
    await store.memories.undo((await store.memories.changes())[0].id)
    turn = await store.context.turn(reply)
    assert turn is not None
    assert turn.parts[0].ids == ()
    assert (await store.branch(session.id))[0].preface == ""
    assert await store.context.epochs(session.id, "m") == []


# --- forgetting ------------------------------------------------------------------------------------


async def test_a_forgotten_memory_is_gone_from_everywhere(store: SessionStore) -> None:
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


async def test_what_was_merged_is_forgotten_together(store: SessionStore) -> None:
    add = store.memories.add
    oslo, welder, boat = [await add(own(text)) for text in ("Works in Oslo", "Is a welder", "Has a boat")]
    merged = await add(replace(own("Is a welder, works in Oslo"), parts=(oslo.id, welder.id)))
    await add(replace(own("Is a welder with a boat"), parts=(merged.id, boat.id)))
    assert await store.memories.forget([oslo.id]) == 3
    assert {one.id for one in await store.memories.select()} == {welder.id, boat.id}
    again = await add(replace(own("Has a boat, is a welder"), parts=(boat.id, welder.id)))
    assert await store.memories.forget([again.id]) == 3
    assert await store.memories.select(MemoryFilter(states=None)) == []


async def test_memories_go_with_the_last_words_they_rest_on(store: SessionStore) -> None:
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


async def test_a_memory_loses_what_it_said_in_forgotten_words(store: SessionStore) -> None:
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


async def test_titles_go_with_the_words_they_are_made_of(store: SessionStore) -> None:
    session, said = await store.create_session(NewSession("My zeppelin"), user("My zeppelin leaks"))
    named, other = await begin(store, "a zeppelin", title="Travel")
    erased = await store.forget_messages([said.id, other.id])
    assert erased.untitled == (session.id,)
    assert (await store.get_session(session.id)).title == ""
    assert (await store.get_session(named.id)).title == "Travel"
    with pytest.raises(MessageNotFound):
        await store.forget_messages([NOBODY])


# --- vectors and changes ---------------------------------------------------------------------------


async def embed_all(store: SessionStore) -> None:
    made = [Embedded(one, (packed([1.0, 0.0]),)) for one in await store.vectors.unembedded(MODEL)]
    await store.vectors.put(MODEL, made)


async def test_memories_are_embedded_before_messages(store: SessionStore) -> None:
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
    assert (row.kind, row.session_id, row.project, row.created_at) == (
        "memory",
        None,
        "Home",
        memory.created_at,
    )
    start = await store.vectors.changes(None)
    await store.memories.change(memory.id, MemoryPatch(text="In Bergen"))
    await store.memories.change(other.id, MemoryPatch(state=MemoryState.ARCHIVED))
    assert (await store.vectors.changes(start.version)).owners == {memory.id, other.id}
    assert [row.owner_id for row in await store.vectors.scan(MODEL)] == [said.id]
    assert [one.text for one in await store.vectors.unembedded(MODEL)] == ["work: In Bergen"]


async def test_a_memory_that_changed_meanwhile_is_not_taken(store: SessionStore) -> None:
    memory = await store.memories.add(own("Works in Oslo"))
    (text,) = await store.vectors.unembedded(MODEL)
    await store.memories.change(memory.id, MemoryPatch(text="Works in Bergen"))
    assert await store.vectors.put(MODEL, [Embedded(text, (packed([1.0]),))]) == 0


async def test_what_was_touched_is_named(store: SessionStore) -> None:
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


async def test_a_closed_room_knows_nothing(store: SessionStore) -> None:
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
