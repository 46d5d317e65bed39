"""What conversations are kept in order by is known to forgetting, to moves between rooms and to salvage."""

from memory.entities import CategorySource, NewMessage, NewSession, RoomKind, Target
from memory.insights import Timed
from memory.memories.entities import MemoryKind, MemoryOrigin, MemorySource, MemoryTier, NewMemory
from memory.organising import MarksPatch
from memory.storage.connection import Connection
from memory.storage.room import open_room
from memory.storage.salvage import salvage
from memory.storage.store import Store
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.storage.conftest import Place, database_of
from tests.storage.test_erasure import holding
from tests.storage.test_moves import moved

WORD = "zeppelin"


async def begun(store: Store, text: str = "hello", project: str | None = None) -> str:
    session, _ = await store.create_session(NewSession("t", project=project), NewMessage(Role.USER, text))
    await store.append_message(session.id, NewMessage(Role.ASSISTANT, "answer"))
    return session.id


async def marked(store: Store, word: str) -> str:
    """A session with the word in everything that it is kept in order by."""
    session = await begun(store)
    patch = MarksPatch(add_tags=(word,), category=word, project=word, pinned=True, archived=True)
    await store.organising.apply([session], patch)
    await store.organising.suggest(session, {f"{word} suggested": 0.5})
    await store.organising.reject(session, [f"{word} rejected"])
    reply = (await store.branch(session))[-1].id
    now = FakeClock().now()
    await store.insights.note_timing(session, Timed(reply, "m", now, 10.0, 20.0, 30, 40))

    def save(conn: Connection) -> None:
        conn.execute("INSERT INTO saved_searches VALUES ('1', ?, ?, 0)", (f"my {word}", f"tag:{word}"))

    await database_of(store).write(save)
    return session


async def held(store: Store, *texts: str) -> set[str]:
    return await database_of(store).read(lambda conn: holding(conn, *texts))


async def test_words_are_forgotten_wherever_they_keep_order(store: Store) -> None:
    session = await marked(store, WORD)
    places = {"session_tags", "tag_suggestions", "sessions", "projects", "saved_searches", "meta"}
    assert await held(store, WORD) == places
    seen = await store.forget(Target(about=WORD), dry_run=True)
    done = await store.forget(Target(about=WORD))
    assert seen.erased.places == done.erased.places
    kinds = [place.kind for place in done.erased.places]
    assert kinds == ["tag", "category", "saved search", "project"]
    assert done.erased.verified
    assert await held(store, WORD) == set()
    left = await store.get_session(session)
    assert (left.tags, left.category, left.category_source) == ((), "", CategorySource.MODEL)
    assert left.project is not None
    assert left.project.startswith("Project ")
    assert len(await store.insights.timings()) == 1


async def test_what_can_be_undone_goes_with_what_is_forgotten(store: Store) -> None:
    one, two = await begun(store, "a"), await begun(store, "b")
    for forget in (
        store.erase_session(two),
        store.forget(Target(messages=((await store.branch(one))[0].id,))),
    ):
        await store.organising.apply([one], MarksPatch(add_tags=(WORD,)))
        await store.organising.apply([one], MarksPatch(remove_tags=(WORD,)))
        assert await held(store, WORD) == {"meta"}
        await forget
        assert await held(store, WORD) == set()
        assert await store.organising.undo_last() == []


async def test_order_moves_along_to_another_room(store: Store, place: Place) -> None:
    session = await marked(store, WORD)
    before = await store.get_session(session)
    path = place.path.with_name("private.db")
    private = await open_room(path, place.key, RoomKind.PRIVATE, FakeClock(), create=True)
    await moved(store, private, session)
    after = await private.get_session(session)
    names = ("tags", "category", "category_source", "project", "pinned_at", "archived_at")
    assert [getattr(after, n) for n in names] == [getattr(before, n) for n in names]
    assert [g.tag for g in await private.organising.suggestions()] == [f"{WORD} suggested"]
    assert await private.organising.suggest(session, {f"{WORD} rejected": 0.9}) == []
    assert len(await private.insights.timings()) == 1
    # What is at hand in a room stays there.
    assert await held(store, WORD, session) == {"saved_searches"}
    await private.close()


async def test_everything_is_everything(store: Store) -> None:
    await marked(store, WORD)
    assert (await store.forget(Target(everything=True))).erased.verified
    assert await held(store, WORD) == set()


async def test_order_is_salvaged(store: Store, place: Place) -> None:
    session = await marked(store, WORD)
    before = await store.get_session(session)
    await store.close()
    target = place.path.with_name("salvaged.db")
    salvage(place.path, place.key, target, FakeClock().now())
    saved = await open_room(target, place.key, RoomKind.OPEN, FakeClock())
    assert await saved.get_session(session) == before
    assert await saved.organising.suggest(session, {f"{WORD} rejected": 0.9}) == []
    assert "saved_searches" in await held(saved, WORD)
    assert (await saved.verify()).problems == ()
    await saved.close()


async def test_a_fork_is_kept_in_the_same_order(store: Store) -> None:
    session = await marked(store, WORD)
    leaf = (await store.branch(session))[-1].id
    fork = await store.fork_session(session, leaf, "fork")
    assert (fork.tags, fork.category, fork.project) == ((WORD,), WORD, WORD)
    assert fork.category_source is CategorySource.PERSON
    assert (fork.pinned_at, fork.archived_at) == (None, None)


async def test_memories_that_rest_on_a_session_follow_it_into_its_project(store: Store) -> None:
    one, two = await begun(store, "a", "garden"), await begun(store, "b", "garden")
    first, second = (await store.branch(one))[0], (await store.branch(two))[0]

    async def known(text: str, *sources: MemorySource) -> str:
        new = NewMemory(
            MemoryKind.EVENT, text, MemoryOrigin.PATTERN, sources, MemoryTier.EPISODIC, project="garden"
        )
        return (await store.memories.add(new)).id

    alone = await known("alone", MemorySource(first.id, one, "a"))
    both = await known("both", MemorySource(first.id, one, "a"), MemorySource(second.id, two, "b"))
    await store.organising.apply([one], MarksPatch(project="attic"))
    assert (await store.memories.get(alone)).project == "attic"
    assert (await store.memories.get(both)).project == "garden"
    await store.organising.undo_last()
    assert (await store.memories.get(alone)).project == "garden"
