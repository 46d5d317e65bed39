"""What keeps recall complete: jobs after replies and imports, models that change or fail."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.recall import ALL, KIND, RecallService
from atlas_desktop.settings.schema import JobSettings
from memory.entities import NewMessage
from memory.jobs.foreground_gate import ForegroundGate
from memory.recall.entities import RecallQuery
from models.errors import ModelDamaged, NoModel
from models.messages import Role
from tests.contract.talk import begin, talk
from tests.fakes.clock import FakeClock
from tests.fakes.models import HashEmbedder
from tests.fakes.vector_index import BruteForceVectorIndex
from tests.stores import InMemoryStore


class Broken(HashEmbedder):
    async def embedding_fingerprint(self) -> str:
        raise NoModel("embed")

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise NoModel("embed")


class Room:
    """A service over the fakes, with the embedder that `use` says."""

    def __init__(self) -> None:
        clock = FakeClock()
        self.store = InMemoryStore(clock)
        self.index = BruteForceVectorIndex()
        self.embedder: HashEmbedder | None = HashEmbedder()
        self.background = BackgroundService(self.store, clock, ForegroundGate(), JobSettings())
        self.recall = RecallService(
            self.store, lambda: self.embedder, lambda _passages: self.index, clock, self.background
        )


@pytest.fixture
def room() -> Room:
    return Room()


async def test_prepared_it_finds_by_meaning_what_the_queue_has_embedded(room: Room) -> None:
    await talk(room.store, 3)
    await room.recall.prepare()
    assert [(job.kind, job.key) for job in await room.store.jobs.list()] == [(KIND, ALL)]
    assert not (await room.index.count())
    report = await room.background.run()
    assert (report.done, report.failed) == (1, 0)
    found = await room.recall.answer(RecallQuery("message 2", k=1))
    assert found.semantic
    assert found.hits[0].text == "message 2"
    assert await room.index.count() == 3


async def test_the_first_vectors_of_a_room_are_in_the_index_before_anything_is_asked(room: Room) -> None:
    await room.recall.prepare()
    await room.background.run()
    session, _ = await begin(room.store, "a green bicycle")
    await room.recall.remember(session.id)
    await room.background.run()
    assert await room.index.count() == 1


async def test_a_damaged_model_is_told_of_once_and_words_serve(room: Room) -> None:
    damaged = ModelDamaged("embed", "mini", Path("mini.gguf"))
    recall = RecallService(
        room.store,
        lambda: None,
        lambda _passages: room.index,
        FakeClock(),
        BackgroundService(room.store, FakeClock(), ForegroundGate(), JobSettings()),
        damaged=lambda: damaged,
    )
    await begin(room.store, "a green bicycle")
    told: list[BaseException] = []
    recall.start(told.append)
    recall.start(told.append)
    assert [hit.text for hit in await recall.recall(RecallQuery("bicycle"))] == ["a green bicycle"]
    await recall.stop()
    assert told == [damaged]


async def test_before_it_is_prepared_words_serve(room: Room) -> None:
    await begin(room.store, "a green bicycle")
    found = await room.recall.answer(RecallQuery("bicycle"))
    assert not found.semantic
    assert [hit.text for hit in await room.recall.recall(RecallQuery("bicycle"))] == ["a green bicycle"]


async def test_one_session_is_embedded_after_its_reply(room: Room) -> None:
    session, _ = await talk(room.store, 2)
    other, _ = await talk(room.store, 2)
    await room.recall.remember(session.id)
    (job,) = await room.store.jobs.list()
    assert (job.session_id, dict(job.payload)) == (session.id, {"session": session.id})
    await room.background.run()
    assert set((await room.store.vectors.scan("hash")).sessions) == {session.id}
    assert other.id != session.id


async def test_without_an_embedding_model_words_serve_and_nothing_fails(room: Room) -> None:
    await begin(room.store, "a green bicycle")
    room.embedder = None
    await room.recall.prepare()
    assert not (await room.recall.answer(RecallQuery("bicycle"))).semantic
    assert await room.store.jobs.list() == []


async def test_a_model_that_cannot_embed_costs_the_meaning_only(room: Room) -> None:
    await begin(room.store, "a green bicycle")
    await room.recall.prepare()
    await room.background.run()
    room.embedder = Broken()
    found = await room.recall.answer(RecallQuery("bicycle"))
    assert not found.semantic
    assert len(found.hits) == 1
    # It is left alone for a while, even when another one takes its place.
    room.embedder = HashEmbedder()
    assert not (await room.recall.answer(RecallQuery("bicycle"))).semantic


async def test_another_model_embeds_anew_while_words_serve(room: Room) -> None:
    await begin(room.store, "a green bicycle")
    await room.recall.prepare()
    await room.background.run()
    room.embedder = HashEmbedder("another")
    assert not (await room.recall.answer(RecallQuery("bicycle"))).semantic
    await room.recall.catch_up()
    assert (await room.background.run()).done == 1
    assert (await room.recall.answer(RecallQuery("bicycle"))).semantic
    assert (await room.store.vectors.counts()).by_model == {"another": 1}
    await room.recall.catch_up()
    assert (await room.background.run()).done == 0


async def test_what_is_said_next_is_found_at_once(room: Room) -> None:
    session, _ = await begin(room.store, "a green bicycle")
    await room.recall.prepare()
    await room.background.run()
    await room.store.append_message(session.id, NewMessage(Role.USER, "the lighthouse"))
    assert [hit.text for hit in await room.recall.recall(RecallQuery("lighthouse", k=1))] == [
        "the lighthouse"
    ]


async def test_started_in_the_background_it_can_be_stopped(room: Room) -> None:
    faults: list[BaseException] = []
    await talk(room.store, 2)
    room.recall.start(faults.append)
    await room.recall.stop()
    assert faults == []
    await room.recall.stop()
