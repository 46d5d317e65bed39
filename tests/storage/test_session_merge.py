"""Sessions that become one with all that was made from them, come apart again, and leave nothing behind."""

from dataclasses import dataclass

import pytest

from memory.attachments import NewAttachment
from memory.context.entities import NewEpoch, NewSummary, TierUse, TurnRecord
from memory.entities import NewMessage, NewSession, RoomKind
from memory.memories.entities import MemoryKind, MemoryOrigin, MemoryPatch, MemorySource, NewMemory, UseKind
from memory.organising import MarksPatch
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.transfer import TravellingMessage, TravellingSession
from memory.vectors.entities import Embedded
from memory.vectors.indexing import packed
from models.messages import Role
from tests.contract.reading import asked_about, read, shelved
from tests.fakes.clock import FakeClock
from tests.storage.conftest import Place, database_of
from tests.storage.test_erasure import holding
from tests.storage.test_moves import moved

MODEL = "m"
UNSPACED = "\u98a8\u8239\u98db\u884c"


@dataclass
class Told:
    """A session with all that can be made from one."""

    session: str
    messages: list[str]
    summary: str
    memory: str
    change: str


async def told(store: Store, word: str) -> Told:
    session, first = await store.create_session(
        NewSession(f"title {word}"), NewMessage(Role.USER, f"{word} {UNSPACED} first")
    )
    reply = await store.append_message(session.id, NewMessage(Role.ASSISTANT, f"{word} answered"))
    variant = await store.append_message(
        session.id, NewMessage(Role.ASSISTANT, f"{word} otherwise"), parent_id=first.id
    )
    last = await store.append_message(session.id, NewMessage(Role.USER, f"{word} last"))
    summary = await store.context.add_summary(session.id, NewSummary(f"about {word}", (first.id, variant.id)))
    parts = (TierUse("recall", 1, (first.id,)),)
    epoch = await store.context.add_epoch(NewEpoch(session.id, MODEL, f"head {word}", (), first.id))
    await store.context.record_turn(TurnRecord(reply.id, session.id, epoch.id, MODEL, "ab", 7, parts))
    source = MemorySource(first.id, session.id, word)
    memory = await store.memories.add(
        NewMemory(MemoryKind.FACT, f"likes {word}", MemoryOrigin.PATTERN, (source,))
    )
    await store.memories.change(memory.id, MemoryPatch(text=f"likes {word} a lot"))
    await store.memories.use([memory.id], reply_id=reply.id, session_id=session.id, how=UseKind.RECALLED)
    for one in await store.vectors.unembedded(MODEL):
        await store.vectors.put(MODEL, [Embedded(one, (packed([1.0, 0.0]),))])
    await store.attachments.attach(session.id, NewAttachment(f"{word}.txt", "text/plain", 3, word))
    await store.organising.apply([session.id], MarksPatch(add_tags=(word,)))
    await store.memories.mark_learned(session.id, 10_000)
    change = (await store.memories.changes(memory_id=memory.id))[0].id
    return Told(session.id, [first.id, reply.id, variant.id, last.id], summary.id, memory.id, change)


async def sound(store: Store) -> bool:
    return (await store.verify()).problems == ()


async def test_everything_follows_and_nothing_is_doubled(store: Store) -> None:
    other, target = await told(store, "quokka"), await told(store, "heron")
    await store.evidence.changes(None)
    before = (await store.evidence.changes(0)).version
    await store.organising.merge(target.session, [other.session])
    assert await sound(store)
    branch = [m.id for m in await store.branch(target.session)]
    assert branch == [target.messages[n] for n in (0, 2, 3)] + [other.messages[n] for n in (0, 2, 3)]
    assert {m.id for m in await store.variants(other.messages[1])} == {other.messages[1], other.messages[2]}
    assert {s.id for s in await store.context.summaries(target.session)} == {target.summary, other.summary}
    assert [s.session_id for s in await store.memories.sources(other.memory)] == [target.session]
    assert [u.session_id for u in await store.memories.uses(other.memory)] == [target.session]
    assert await store.context.epochs(target.session, MODEL) == []
    turn = await store.context.turn(other.messages[1])
    assert turn is not None
    assert turn.session_id == target.session
    vectors = await store.vectors.of(MODEL, sessions=[target.session, other.session])
    assert {v.session_id for v in vectors} == {target.session}
    assert {v.owner_id for v in vectors} >= {*target.messages, *other.messages}
    for query in ("quokka first", UNSPACED):
        hits = {h.message.id for h in await store.search(query)}
        assert other.messages[0] in hits
    assert len(await store.attachments.attached(target.session)) == 2
    # Whoever keeps the room in mind hears of the messages' new places.
    changes = await store.evidence.changes(before)
    assert {e.id for e in await store.evidence.entries_of(changes.messages)} >= set(other.messages)
    assert len(await store.evidence.entries()) == 8
    assert await store.memories.unlearned() == []
    await store.memories.undo(other.change)
    assert (await store.memories.get(other.memory)).text == "likes quokka"


async def test_what_comes_back_from_the_bin_takes_its_own_along(store: Store) -> None:
    other, target = await told(store, "quokka"), await told(store, "heron")
    third = await told(store, "ibis")
    await store.organising.merge(target.session, [other.session, third.session])
    said = await store.append_message(target.session, NewMessage(Role.USER, "since then"))
    covers = (other.messages[3], third.messages[0])
    await store.context.add_summary(target.session, NewSummary("of two", covers))
    restored = await store.restore_session(other.session)
    assert await sound(store)
    assert (restored.message_count, restored.tags, restored.deleted_at) == (4, ("quokka",), None)
    assert [m.id for m in await store.branch(other.session)] == [other.messages[n] for n in (0, 2, 3)]
    left = [m.id for m in await store.branch(target.session)]
    assert left == [o.messages[n] for o in (target, third) for n in (0, 2, 3)] + [said.id]
    assert (await store.get_session(target.session)).tags == ("heron", "ibis")
    assert [s.id for s in await store.context.summaries(other.session)] == [other.summary]
    assert {s.id for s in await store.context.summaries(target.session)} == {target.summary, third.summary}
    assert [s.session_id for s in await store.memories.sources(other.memory)] == [other.session]
    own = {v.owner_id for v in await store.vectors.of(MODEL, sessions=[other.session])}
    assert own == {*other.messages, other.summary}
    assert [a.name for a in await store.attachments.attached(other.session)] == ["quokka.txt"]
    await store.organising.apply([third.session], MarksPatch(binned=False))
    assert [m.id for m in await store.branch(target.session)] == [
        *(target.messages[n] for n in (0, 2, 3)),
        said.id,
    ]
    assert await sound(store)


async def test_a_message_that_continues_another_session_begins_a_branch_when_both_come_apart(
    store: Store,
) -> None:
    other, target = await told(store, "quokka"), await told(store, "heron")
    await store.organising.merge(target.session, [other.session])
    # As it is after merges that two devices have made of the same sessions.
    moved_to, message = target.messages[3], other.messages[3]
    await database_of(store).write(
        lambda conn: conn.execute("UPDATE messages SET parent_id = ? WHERE id = ?", (moved_to, message))
    )
    assert (await store.restore_session(other.session)).message_count == 4
    assert await sound(store)
    assert [m.id for m in await store.branch(other.session)] == [message]
    assert [m.id for m in await store.branch(target.session)] == [target.messages[n] for n in (0, 2, 3)]


async def test_one_that_took_others_in_can_itself_be_merged(store: Store) -> None:
    first, second, third = [await told(store, word) for word in ("quokka", "heron", "ibis")]
    await store.organising.merge(second.session, [first.session])
    await store.organising.merge(third.session, [second.session])
    assert (await store.restore_session(first.session)).message_count == 4
    assert (await store.restore_session(second.session)).message_count == 4
    assert (await store.get_session(third.session)).message_count == 4
    assert await sound(store)


async def test_an_erased_session_takes_along_what_was_merged_into_it(store: Store) -> None:
    other, target = await told(store, "quokka"), await told(store, "heron")
    await store.organising.merge(target.session, [other.session])
    erased = await store.erase_session(target.session)
    assert erased.verified
    wanted = ("quokka", "heron", other.session, target.session, *other.messages)
    assert await database_of(store).read(lambda conn: holding(conn, *wanted)) == set()


async def test_what_is_forgotten_later_is_gone_from_the_title_in_the_bin(store: Store) -> None:
    merged, said = await store.create_session(
        NewSession("the zanzibar plan"), NewMessage(Role.USER, "the zanzibar plan")
    )
    between, target = await told(store, "quokka"), await told(store, "heron")
    await store.organising.merge(between.session, [merged.id])
    await store.organising.merge(target.session, [between.session])
    erased = await store.forget_messages([said.id])
    assert erased.verified
    assert set(erased.untitled) == {merged.id}
    assert await database_of(store).read(lambda conn: holding(conn, "zanzibar")) == set()
    assert (await store.get_session(between.session)).title == "title quokka"


async def test_a_session_that_moves_leaves_no_shell_behind(store: Store, place: Place) -> None:
    other, target = await told(store, "quokka"), await told(store, "heron")
    await store.organising.merge(target.session, [other.session])
    path = place.path.with_name("private.db")
    private = await open_room(path, place.key, RoomKind.PRIVATE, FakeClock(), create=True)
    await moved(store, private, target.session)
    wanted = ("quokka", "heron", other.session, target.session)
    assert await database_of(store).read(lambda conn: holding(conn, *wanted)) == set()
    assert len(await private.branch(target.session)) == 6
    assert (await private.verify()).problems == ()
    await private.close()


async def test_a_merging_that_fails_has_changed_nothing(store: Store) -> None:
    other, target = await told(store, "quokka"), await told(store, "heron")
    await database_of(store).write(
        lambda conn: conn.execute(
            """
            CREATE TEMP TRIGGER no_more BEFORE INSERT ON main.meta WHEN new.key LIKE 'merged:%'
            BEGIN SELECT RAISE(ABORT, 'cut short'); END
            """
        )
    )
    with pytest.raises(Exception, match="cut short"):
        await store.organising.merge(target.session, [other.session])
    assert [len(await store.branch(one.session)) for one in (other, target)] == [3, 3]
    assert await sound(store)


async def test_what_comes_in_again_after_a_merging_adds_nothing(store: Store) -> None:
    at = FakeClock().now()

    def travelling(name: str, *texts: str) -> TravellingSession:
        messages = tuple(
            TravellingMessage(f"m{n}", f"m{n - 1}" if n else None, Role.USER, "", text, at)
            for n, text in enumerate(texts)
        )
        return TravellingSession(name, name, at, at, messages)

    one, two = [await store.transfer.take(travelling(*given)) for given in (("a", "x", "y"), ("b", "p", "q"))]
    await store.organising.merge(one.session_id, [two.session_id])
    grown = (("a", "x", "y", "z"), ("b", "p", "q", "r"))
    again = [await store.transfer.take(travelling(*given)) for given in grown]
    assert [(found.session_id, found.messages) for found in again] == [(one.session_id, 1)] * 2
    assert (await store.get_session(two.session_id)).message_count == 0
    assert (await store.get_session(one.session_id)).message_count == 6
    above = {m.content: m.parent_id for m in await store.branch(one.session_id)}
    assert list(above) == ["x", "y", "p", "q", "r"]
    given = await store.transfer.give(one.session_id)
    assert len({message.id for message in given.messages}) == 6
    assert {message.parent for message in given.messages} <= {None, *(m.id for m in given.messages)}
    await store.restore_session(two.session_id)
    assert await sound(store)


async def test_what_two_sessions_read_is_numbered_anew_and_comes_apart_again(store: Store) -> None:
    shared = await shelved(store, read("/home/me/heron.txt", "Herons wade."))
    alone = await shelved(store, read("/home/me/coot.txt", "Coots dive."))
    target, _, kept_reply = await asked_about(store, shared)
    other, said, reply = await asked_about(store, shared)
    await store.documents.bind(other.id, [alone])
    cited = await store.documents.cited(reply)
    await store.organising.merge(target.id, [other.id])
    assert await sound(store)
    assert [one.id for one in await store.documents.bound(target.id)] == [shared, alone]
    passages = await store.documents.passages(target.id)
    assert [(one.marker, one.message == said) for one in passages] == [(1, False), (2, True)]
    # Two passages with the same number would be in the prompt.
    assert [bool(one.preface) for one in await store.branch(target.id)] == [True, False, False, False]
    assert (await store.documents.cited(reply)).citations == cited.citations
    assert (await store.documents.get(alone)).sessions == (target.id,)
    await store.restore_session(other.id)
    assert await sound(store)
    assert [one.id for one in await store.documents.bound(target.id)] == [shared]
    assert {one.id for one in await store.documents.bound(other.id)} == {shared, alone}
    assert [one.marker for one in await store.documents.passages(target.id)] == [1]
    assert [one.message for one in await store.documents.passages(other.id)] == [said]
    assert (await store.documents.cited(reply)).citations == cited.citations
    assert (await store.documents.cited(kept_reply)).citations != ()


async def test_the_note_of_a_merge_names_no_document(store: Store) -> None:
    document = await shelved(store, read("/home/me/heron.txt", "Herons wade."))
    target, other = await told(store, "quokka"), await asked_about(store, document)
    await store.organising.merge(target.session, [other[0].id])
    assert (await store.documents.erase([document])).verified
    assert await database_of(store).read(lambda conn: holding(conn, document, "Heron", "heron")) == set()
    await store.restore_session(other[0].id)
    assert await sound(store)


async def test_a_session_in_the_bin_keeps_what_it_read(store: Store) -> None:
    document = await shelved(store, read("/home/me/heron.txt", "Herons wade."))
    session, _, reply = await asked_about(store, document)
    await store.organising.apply([session.id], MarksPatch(binned=True))
    assert (await store.documents.get(document)).sessions == ()
    await store.restore_session(session.id)
    assert (await store.documents.get(document)).sessions == (session.id,)
    assert len((await store.documents.cited(reply)).citations) == 1
    await store.erase_session(session.id)
    assert await store.documents.text(document) == "Herons wade."
    assert (await store.documents.get(document)).sessions == ()
