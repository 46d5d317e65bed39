"""The index follows the room, whatever is written to it."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from memory.entities import MessagePatch, NewMessage, NewSession
from memory.storage.room import open_off_record
from memory.storage.store import Store
from memory.vectors.entities import Scope, VectorPage
from memory.vectors.indexing import IndexMirror, VectorMaker
from models.messages import Role
from tests.contract.talk import begin, talk
from tests.fakes.clock import FakeClock
from tests.fakes.models import HashEmbedder
from tests.fakes.vector_index import BruteForceVectorIndex
from tests.stores import InMemoryStore


@pytest.fixture(params=["fake", "real"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    clock = FakeClock()
    opened: Store = InMemoryStore(clock) if request.param == "fake" else await open_off_record(clock)
    yield opened
    await opened.close()


async def owners(mirror: IndexMirror, scope: Scope | None = None) -> set[str]:
    near = await mirror.index.search([1.0] + [0.0] * 63, limit=1000, scope=scope or Scope())
    return set(near.owners)


async def embed(store: Store, fingerprint: str = "hash") -> None:
    await VectorMaker(store.vectors, HashEmbedder(fingerprint)).make_missing()


async def test_it_is_filled_with_the_vectors_of_one_model(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.vectors.indexing.PAGE", 2)
    _, said = await talk(store, 5)
    await embed(store)
    mirror = IndexMirror(store.vectors, BruteForceVectorIndex())
    assert mirror.model is None
    await mirror.follow()
    assert await mirror.index.count() == 0
    assert await mirror.fill("hash") == 5
    assert await owners(mirror) == {message.id for message in said}
    assert await mirror.fill("hash") == 5


async def test_it_follows_new_edited_forgotten_and_erased_messages(store: Store) -> None:
    session, said = await talk(store, 3)
    other, kept = await begin(store, "kept")
    await embed(store)
    mirror = IndexMirror(store.vectors, BruteForceVectorIndex())
    await mirror.fill("hash")

    added = await store.append_message(session.id, NewMessage(Role.USER, "added"))
    await embed(store)
    await mirror.follow()
    assert added.id in await owners(mirror)

    await store.update_message(said[0].id, MessagePatch(content="edited"))
    await store.forget_message(said[1].id)
    await mirror.follow()
    assert await owners(mirror) == {said[2].id, added.id, kept.id}

    await embed(store)
    await store.erase_session(session.id)
    await mirror.follow()
    assert await owners(mirror) == {kept.id}
    assert await mirror.index.count() == 1
    assert other.id


async def test_a_new_session_in_a_project_is_found_by_it(store: Store) -> None:
    await begin(store, "elsewhere")
    mirror = IndexMirror(store.vectors, BruteForceVectorIndex())
    await mirror.fill("hash")
    _, message = await store.create_session(NewSession("a", project="Home"), NewMessage(Role.USER, "here"))
    await embed(store)
    await mirror.follow()
    assert await owners(mirror, Scope(project="Home")) == {message.id}


async def test_another_model_fills_it_anew(store: Store) -> None:
    await talk(store, 3)
    await embed(store, "old")
    mirror = IndexMirror(store.vectors, BruteForceVectorIndex())
    await mirror.fill("old")
    assert await mirror.fill("new") == 0
    assert mirror.model == "new"
    await embed(store, "new")
    await mirror.follow()
    assert await mirror.index.count() == 3


async def test_a_question_that_is_given_up_leaves_no_half_change(store: Store) -> None:
    class Slow(BruteForceVectorIndex):
        def __init__(self) -> None:
            super().__init__()
            self.begun, self.go_on = asyncio.Event(), asyncio.Event()

        async def add(self, page: VectorPage) -> None:
            await super().add(page)
            self.begun.set()
            await self.go_on.wait()

    index = Slow()
    mirror = IndexMirror(store.vectors, index)
    await mirror.fill("hash")
    await talk(store, 3)
    await embed(store)
    following = asyncio.create_task(mirror.follow())
    await index.begun.wait()
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following
    index.go_on.set()
    await mirror.follow()
    assert await index.count() == 3
