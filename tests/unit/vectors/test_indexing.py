"""Vectors that are missing are made, in batches, and once."""

import asyncio
import struct

import pytest

from memory.entities import NewMessage
from memory.vectors.indexing import BATCH, STEP, VectorMaker
from models.messages import Role
from tests.contract.talk import begin, talk
from tests.fakes.models import HashEmbedder
from tests.stores import InMemoryStore


async def test_every_text_gets_its_vector_once() -> None:
    store, embedder = InMemoryStore(), HashEmbedder()
    _, said = await talk(store, BATCH + 3)
    maker = VectorMaker(store.vectors, embedder)
    steps = 0

    async def between() -> None:
        nonlocal steps
        steps += 1

    assert await maker.make_missing(between=between) == len(said)
    assert steps == 3
    assert await maker.make_missing() == 0
    assert sorted(embedder.embedded) == sorted(message.content for message in said)


async def test_vectors_are_little_endian_and_of_length_1() -> None:
    store, embedder = InMemoryStore(), HashEmbedder()
    await begin(store, "hello there")
    await VectorMaker(store.vectors, embedder).make_missing()
    (row,) = (await store.vectors.scan(embedder.fingerprint)).rows()
    numbers = struct.unpack(f"<{embedder.dimension}f", row.data)
    assert sum(x * x for x in numbers) == pytest.approx(1.0, abs=1e-6)


async def test_a_long_text_has_a_vector_for_each_passage() -> None:
    store, embedder = InMemoryStore(), HashEmbedder()
    await begin(store, " ".join(f"Sentence {number} of several." for number in range(60)))
    await VectorMaker(store.vectors, embedder).make_missing()
    rows = list((await store.vectors.scan(embedder.fingerprint)).rows())
    assert [row.part for row in rows] == list(range(len(embedder.embedded)))
    assert len(rows) > 2


async def test_what_is_said_over_and_over_is_embedded_once() -> None:
    store, embedder = InMemoryStore(), HashEmbedder()
    await begin(store, "Look at this" + "!" * 20_000)
    await VectorMaker(store.vectors, embedder).make_missing()
    rows = list((await store.vectors.scan(embedder.fingerprint)).rows())
    assert [row.part for row in rows] == list(range(41))
    assert len(embedder.embedded) == 3


async def test_only_one_session_when_it_is_named() -> None:
    store = InMemoryStore()
    session, _ = await talk(store, 2)
    await talk(store, 2)
    maker = VectorMaker(store.vectors, HashEmbedder())
    assert await maker.make_missing(session=session.id) == 2
    assert await maker.make_missing() == 2


async def test_stopped_between_batches_it_goes_on_where_it_was() -> None:
    store, embedder = InMemoryStore(), HashEmbedder()
    await talk(store, 2 * BATCH)

    async def stop() -> None:
        if len(embedder.embedded) > BATCH:
            raise asyncio.CancelledError

    maker = VectorMaker(store.vectors, embedder)
    with pytest.raises(asyncio.CancelledError):
        await maker.make_missing(between=stop)
    assert len(embedder.embedded) == BATCH + STEP
    # What was stored is not made again; the batch under way is.
    assert await maker.make_missing() == BATCH
    assert len(embedder.embedded) == 2 * BATCH + STEP


async def test_another_model_takes_over_and_only_then_the_old_vectors_go() -> None:
    store = InMemoryStore()
    session, _ = await talk(store, 3)
    await VectorMaker(store.vectors, HashEmbedder("old")).make_missing()
    await VectorMaker(store.vectors, HashEmbedder("new")).make_missing(session=session.id)
    assert (await store.vectors.counts()).by_model == {"old": 3, "new": 3}
    await VectorMaker(store.vectors, HashEmbedder("new")).make_missing()
    assert (await store.vectors.counts()).by_model == {"new": 3}


async def test_an_edit_meanwhile_is_embedded_the_next_time() -> None:
    store = InMemoryStore()
    session, _ = await begin(store, "before")

    class Editing(HashEmbedder):
        async def embed(self, texts):  # type: ignore[no-untyped-def]
            if "before" in texts:
                await store.append_message(session.id, NewMessage(Role.USER, "added meanwhile"))
            return await super().embed(texts)

    maker = VectorMaker(store.vectors, Editing())
    assert await maker.make_missing() == 1
    assert await maker.make_missing() == 1
