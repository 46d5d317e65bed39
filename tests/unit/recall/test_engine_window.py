"""Session memory: what was said just now is looked through first, without a model."""

from datetime import timedelta

from memory.entities import NewMessage, NewSession
from memory.memories.entities import MemoryKind, MemoryOrigin, NewMemory
from memory.recall.engine import RecallEngine, Span
from memory.recall.entities import QueryVector, RecallQuery
from memory.storage.store import Store
from memory.vectors.indexing import IndexMirror, VectorMaker
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.fakes.models import HashEmbedder
from tests.fakes.vector_index import BruteForceVectorIndex
from tests.unit.recall.test_engine import MAY, store, travelled

__all__ = ["store"]

BOTH = ["message", "memory"]
USUAL = Span()


class Counting:
    """Embeds questions and counts them."""

    def __init__(self) -> None:
        self.asked = 0
        self._embedder = HashEmbedder()

    async def vector(self, text: str) -> QueryVector:
        self.asked += 1
        return QueryVector(self._embedder.fingerprint, tuple((await self._embedder.embed([text]))[0]))


async def engine_of(store: Store, span: Span = USUAL) -> tuple[RecallEngine, Counting]:
    embedder, questions = HashEmbedder(), Counting()
    await VectorMaker(store.vectors, embedder).make_missing()
    mirror = IndexMirror(store.vectors, BruteForceVectorIndex())
    await mirror.fill(embedder.fingerprint)
    return (
        RecallEngine(store.evidence, FakeClock(), mirror=mirror, vectors=questions, span=lambda: span),
        questions,
    )


async def test_what_was_said_just_now_answers_without_an_embedding(store: Store) -> None:
    await travelled(store, "old", (Role.USER, "user", "the train to Lyon leaves at seven"))
    await travelled(store, "far", *((Role.USER, "user", f"other {n}") for n in range(8)))
    _, said = await store.create_session(
        NewSession("now"), NewMessage(Role.USER, "the train to Lyon leaves at nine")
    )
    new = NewMemory(MemoryKind.FACT, "The train to Lyon is slow.", MemoryOrigin.PERSON)
    known = await store.memories.add(new)
    engine, questions = await engine_of(store)
    now = said.created_at + timedelta(minutes=5)
    found = await engine.answer(
        RecallQuery("when is it that the train to Lyon leaves", kinds=BOTH, now=now, recent_first=True)
    )
    assert found.window
    assert (questions.asked, found.semantic) == (0, False)
    assert {hit.id for hit in found.hits} == {said.id, known.id}
    # Not asked for, the same question looks through everything.
    assert not (
        await engine.answer(RecallQuery("when is it that the train to Lyon leaves", kinds=BOTH, now=now))
    ).window
    assert questions.asked == 1


async def test_what_is_no_answer_old_or_shown_already_does_not_answer(store: Store) -> None:
    session, said = await store.create_session(
        NewSession("now"), NewMessage(Role.USER, "the train to Lyon leaves at nine")
    )
    engine, _ = await engine_of(store)
    now = said.created_at + timedelta(minutes=5)

    async def from_window(query: str, engine: RecallEngine = engine, **bounds: object) -> bool:
        given = {"now": now, "recent_first": True, **bounds}
        return (await engine.answer(RecallQuery(query, **given))).window  # type: ignore[arg-type]

    assert await from_window("train to Lyon")
    assert not await from_window("which train should Clara take to Geneva")
    assert not await from_window("train to Lyon", exclude_messages=[said.id])
    assert not await from_window("train to Lyon", now=now + timedelta(hours=3))
    assert not await from_window("train to Lyon", (await engine_of(store, Span(turns=0)))[0])
    await store.append_message(session.id, NewMessage(Role.USER, "the boat to Corsica"))
    assert await from_window("boat to Corsica", now=now + timedelta(hours=1))
    assert now > MAY
