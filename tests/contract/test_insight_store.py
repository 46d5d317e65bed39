"""Every store counts what is done in it, and knows what leads from one thing to others."""

from datetime import UTC, timedelta, timezone

from memory.entities import NewMessage, NewSession
from memory.insights import Timed
from memory.memories.entities import MemoryKind, MemoryOrigin, MemorySource, NewMemory, UseKind
from memory.organising import MarksPatch
from memory.storage.store import Store
from models.messages import Role
from tests.contract.reading import read, shelved
from tests.contract.talk import begin, talk

TOKYO = timezone(timedelta(hours=9))


async def test_days_are_those_of_the_zone_and_the_bin_counts_nowhere(store: Store) -> None:
    session, said = await talk(store, 4)
    await begin(store, "Grüße 🌊")
    gone, _ = await talk(store, 2)
    await store.bin_session(gone.id)
    (day,) = await store.insights.days(UTC)
    assert day.day == said[0].created_at.date()
    assert (day.sessions, day.begun, day.messages, day.questions) == (2, 2, 5, 3)
    assert day.characters == len("message 0message 2Grüße 🌊")
    (there,) = await store.insights.days(TOKYO)
    assert there.day == said[0].created_at.astimezone(TOKYO).date()
    assert await store.insights.days(UTC, said[0].created_at + timedelta(days=1)) == []
    totals = await store.insights.totals()
    assert (totals.sessions, totals.messages, totals.archived) == (2, 5, 0)
    assert totals.first_at == session.created_at


async def test_topics_are_tags_projects_and_categories(store: Store) -> None:
    ids = [(await begin(store))[0].id for _ in range(3)]
    await store.organising.apply(ids[:2], MarksPatch(add_tags=("garden",), category="Home"))
    await store.organising.apply(ids[:1], MarksPatch(add_tags=("rain",), project="Peas"))
    found = await store.insights.topics(UTC)
    assert [(t.kind, t.name, t.sessions) for t in found] == [
        ("tag", "garden", 2),
        ("tag", "rain", 1),
        ("project", "Peas", 1),
        ("category", "Home", 2),
    ]
    assert found[0].session_ids == tuple(ids[:2])
    assert list(found[0].months.values()) == [2]


async def test_timings_go_with_their_session(store: Store) -> None:
    session, said = await talk(store, 2)
    at = said[0].created_at
    first, second = (
        Timed(one.id, "m", at + timedelta(hours=n), 1.5, 20.25, 3, 4) for n, one in enumerate(said)
    )
    await store.insights.note_timing(session.id, second)
    await store.insights.note_timing(session.id, first)
    assert await store.insights.timings() == [first, second]
    assert await store.insights.timings(limit=1) == [second]
    assert await store.insights.timings(at + timedelta(minutes=1)) == [second]
    await store.bin_session(session.id)
    assert await store.insights.timings() == []
    await store.erase_session(session.id)
    assert await store.insights.timings() == []


async def test_timings_have_guesses_and_older_ones_are_read_without(store: Store) -> None:
    session, said = await talk(store, 2)
    at = said[0].created_at
    old = Timed(said[0].id, "m", at, 1.5, 20.25, 3, 4)
    new = Timed(said[1].id, "m", at + timedelta(hours=1), 1.5, 20.25, 3, 40, 24, 20)
    for one in (old, new):
        await store.insights.note_timing(session.id, one)
    # As it was written before there were guesses.
    await store._database.write(
        lambda conn: conn.execute(
            "UPDATE job_results SET result = ? WHERE kind = 'timing' AND created_at = "
            "(SELECT min(created_at) FROM job_results WHERE kind = 'timing')",
            (f'["{said[0].id}", "m", 1.5, 20.25, 3, 4]',),
        )
    )
    assert await store.insights.timings() == [old, new]


async def test_forgetting_a_message_keeps_how_fast_other_replies_came(store: Store) -> None:
    session, said = await talk(store, 4)
    timed = [Timed(one.id, "m", said[0].created_at, 1.5, 20.25, 3, 4) for one in (said[1], said[3])]
    for one in timed:
        await store.insights.note_timing(session.id, one)
    await store.forget_messages([said[1].id])
    assert await store.insights.timings() == timed[1:]


async def test_the_most_used_do_not_begin_with_the_user(store: Store) -> None:
    session, said = await talk(store, 2)
    source = MemorySource(said[0].id, session.id, "message")
    new = NewMemory(MemoryKind.FACT, "I live in Girona", MemoryOrigin.PATTERN, (source,), subject="I")
    memory = await store.memories.add(new)
    reply = await store.append_message(session.id, NewMessage(Role.ASSISTANT, "so"))
    await store.memories.use([memory.id], reply_id=reply.id, session_id=session.id, how=UseKind.CITED)
    assert [one.text for one in await store.insights.most_used()] == ["I live in Girona"]


async def test_hours_count_what_the_user_wrote(store: Store) -> None:
    _session, said = await talk(store, 4)
    hours = await store.insights.hours(UTC)
    own = [one for one in said if one.role is Role.USER]
    assert sum(hours) == len(own)
    assert hours[own[0].created_at.astimezone(UTC).hour] > 0


async def test_memories_grow_and_the_most_used_lead(store: Store) -> None:
    session, said = await talk(store, 4)

    def fact(text: str, at: int) -> NewMemory:
        source = MemorySource(said[at].id, session.id, "message")
        return NewMemory(MemoryKind.FACT, text, MemoryOrigin.PATTERN, (source,), subject="she")

    one, two = [await store.memories.add(fact(text, 0)) for text in ("likes rain", "has peas")]
    other = await store.create_session(NewSession("other"), NewMessage(Role.USER, "more"))
    reply = await store.append_message(other[0].id, NewMessage(Role.ASSISTANT, "so"))
    await store.memories.use([two.id], reply_id=reply.id, session_id=other[0].id, how=UseKind.CITED)
    await store.memories.use([one.id], reply_id=reply.id, session_id=other[0].id, how=UseKind.RECALLED)
    (week,) = await store.insights.growth(UTC)
    assert (week.added, week.total, week.week.weekday()) == (2, 2, 0)
    assert [(u.memory_id, u.text, u.uses) for u in await store.insights.most_used()] == [
        (two.id, "she: has peas", 1)
    ]
    assert [(s.session_id, s.memory_id) for s in await store.links.shared(session.id)] == [
        (other[0].id, two.id)
    ]
    assert [(b.session_id, b.how, b.count) for b in await store.links.backlinks(two.id)] == [
        (session.id, "learned", 1),
        (other[0].id, "cited", 1),
    ]
    assert [b.how for b in await store.links.backlinks(one.id)] == ["learned", "recalled"]
    await store.bin_session(other[0].id)
    assert await store.links.shared(session.id) == []
    assert [b.how for b in await store.links.backlinks(two.id)] == ["learned"]


async def test_storage_counts_documents_with_their_copies_chunks_and_vectors(store: Store) -> None:
    before = {one.kind: one for one in await store.insights.storage()}
    copy = bytes(50_000)
    await shelved(store, read("/home/me/heron.txt", "Herons wade.", "They eat frogs.", content=copy))
    after = {one.kind: one for one in await store.insights.storage()}
    assert (after["documents"].rows, after["vectors"].rows) == (1, 2)
    assert 50_000 < after["documents"].bytes < 53_000
    assert after["full_text"].bytes > before["full_text"].bytes


async def test_storage_names_what_there_is(store: Store) -> None:
    await talk(store, 2)
    found = {one.kind: one for one in await store.insights.storage()}
    assert found["messages"].rows == 2
