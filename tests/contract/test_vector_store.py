"""What every store of vectors does."""

from memory.context.entities import NewSummary
from memory.entities import MemoryMode, MessagePatch, MessageStatus, NewSession, SessionPatch
from memory.storage.store import Store
from memory.vectors.entities import Embedded, Unembedded
from memory.vectors.indexing import packed
from tests.contract.talk import assistant, begin, talk, user

MODEL = "f1"


def embedded(text: Unembedded, *vectors: list[float]) -> Embedded:
    return Embedded(text, tuple(packed(vector) for vector in vectors or ([1.0, 0.0],)))


async def embed_all(store: Store, model: str = MODEL) -> int:
    return await store.vectors.put(model, [embedded(one) for one in await store.vectors.unembedded(model)])


async def test_what_was_said_is_unembedded_until_it_has_a_vector_of_that_model(store: Store) -> None:
    session, said = await talk(store, 3)
    found = await store.vectors.unembedded(MODEL)
    assert [one.text for one in found] == ["message 2", "message 1", "message 0"]
    assert {one.session_id for one in found} == {session.id}
    assert await store.vectors.put(MODEL, [embedded(found[0])]) == 1
    assert [one.owner_id for one in await store.vectors.unembedded(MODEL)] == [said[1].id, said[0].id]
    assert len(await store.vectors.unembedded("f2")) == 3


async def test_unembedded_goes_on_from_a_place_and_within_a_session(store: Store) -> None:
    first, _ = await talk(store, 2)
    await talk(store, 2)
    found = await store.vectors.unembedded(MODEL, limit=1)
    rest = await store.vectors.unembedded(MODEL, before=found[0].seq)
    assert len(rest) == 3
    assert found[0].seq > max(one.seq for one in rest)
    assert {one.session_id for one in await store.vectors.unembedded(MODEL, session=first.id)} == {first.id}


async def test_growing_empty_and_blank_are_left_out(store: Store) -> None:
    session, _ = await begin(store, "kept")
    await store.append_message(session.id, assistant("growing", MessageStatus.STREAMING))
    await store.append_message(session.id, user("   "))
    blank, _ = await store.create_session(NewSession("b", memory_mode=MemoryMode.BLANK), user("not this"))
    assert [one.text for one in await store.vectors.unembedded(MODEL)] == ["kept"]
    await store.update_session(blank.id, SessionPatch(memory_mode=MemoryMode.NORMAL))
    assert {one.text for one in await store.vectors.unembedded(MODEL)} == {"kept", "not this"}


async def test_passages_come_back_in_order_with_what_is_filtered_by(store: Store) -> None:
    session, message = await store.create_session(NewSession("a", project="Home"), user("long"))
    (text,) = await store.vectors.unembedded(MODEL)
    await store.vectors.put(MODEL, [embedded(text, [1.0, 0.0], [0.0, 1.0])])
    rows = list((await store.vectors.scan(MODEL)).rows())
    assert [(row.owner_id, row.part, row.data) for row in rows] == [
        (message.id, 0, packed([1.0, 0.0])),
        (message.id, 1, packed([0.0, 1.0])),
    ]
    assert {(row.kind, row.session_id, row.project) for row in rows} == {("message", session.id, "Home")}
    assert (await store.vectors.counts()).by_model == {MODEL: 2}


async def test_a_scan_goes_on_where_it_was(store: Store) -> None:
    await talk(store, 5)
    await embed_all(store)
    seen: list[str] = []
    after = 0
    while page := await store.vectors.scan(MODEL, after=after, limit=2):
        seen += page.owners
        after = page.last
    assert len(seen) == len(set(seen)) == 5


async def test_vectors_of_owners_and_of_sessions(store: Store) -> None:
    first, said = await talk(store, 2)
    second, _ = await talk(store, 2)
    await embed_all(store)
    found = await store.vectors.of(MODEL, owners=[said[0].id], sessions=[second.id])
    assert {row.session_id for row in found} == {first.id, second.id}
    assert len(found) == 3
    assert await store.vectors.of("other", owners=[said[0].id]) == []


async def test_a_text_that_changed_meanwhile_is_not_taken(store: Store) -> None:
    _, message = await begin(store, "before")
    (text,) = await store.vectors.unembedded(MODEL)
    await store.update_message(message.id, MessagePatch(content="after"))
    assert await store.vectors.put(MODEL, [embedded(text)]) == 0
    assert not len(await store.vectors.scan(MODEL))


async def test_new_words_take_the_vectors_of_the_old_ones_away(store: Store) -> None:
    _, message = await begin(store, "before")
    await embed_all(store)
    await store.update_message(message.id, MessagePatch(content="after"))
    assert not len(await store.vectors.scan(MODEL))
    assert [one.text for one in await store.vectors.unembedded(MODEL)] == ["after"]


async def test_forgetting_and_erasing_take_vectors_along(store: Store) -> None:
    _, kept = await begin(store, "kept")
    session, message = await begin(store, "forgotten")
    await store.append_message(session.id, assistant("erased"))
    await embed_all(store)
    await store.forget_message(message.id)
    assert len(await store.vectors.scan(MODEL)) == 2
    await store.erase_session(session.id)
    assert list((await store.vectors.scan(MODEL)).owners) == [kept.id]


async def test_vectors_of_other_models_can_go(store: Store) -> None:
    await talk(store, 2)
    await embed_all(store, "old")
    await embed_all(store, "new")
    assert await store.vectors.drop_others("new") == 2
    assert (await store.vectors.counts()).by_model == {"new": 2}


async def test_changes_name_owners_and_sessions(store: Store) -> None:
    session, message = await begin(store, "hello")
    start = await store.vectors.changes(None)
    assert (start.owners, start.sessions) == (frozenset(), frozenset())
    await embed_all(store)
    made = await store.vectors.changes(start.version)
    assert made.owners == {message.id}
    await store.erase_session(session.id)
    gone = await store.vectors.changes(made.version)
    assert gone.owners == {message.id}
    assert gone.sessions == {session.id}
    assert (await store.vectors.changes(gone.version)).owners == frozenset()


async def test_a_summary_has_vectors_until_a_message_of_it_is_forgotten(store: Store) -> None:
    session, said = await talk(store, 2)
    made = await store.context.add_summary(session.id, NewSummary("It leaks.", (said[0].id, said[1].id)))
    waiting = await store.vectors.unembedded(MODEL)
    assert (waiting[0].kind, waiting[0].text) == ("summary", "It leaks.")
    rest = await store.vectors.unembedded(MODEL, before=waiting[0].seq)
    assert [one.kind for one in rest] == ["message", "message"]
    assert [one.owner_id for one in await store.vectors.unembedded(MODEL, limit=1)] == [made.id]
    assert await embed_all(store) == 3
    found = [row for row in (await store.vectors.scan(MODEL)).rows() if row.kind == "summary"]
    assert [(row.owner_id, row.session_id) for row in found] == [(made.id, session.id)]
    await store.forget_message(said[0].id)
    assert set((await store.vectors.scan(MODEL)).owners) == {said[1].id}
