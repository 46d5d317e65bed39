"""Second looks, and rooms in which not everything is compared."""

import math
from collections.abc import AsyncIterator, Sequence

import pytest

from memory.entities import NewMessage, NewSession
from memory.recall import engine as searching
from memory.recall import feature_builder, rows
from memory.recall.engine import RecallEngine
from memory.recall.entities import Hit, QueryVector, RecallQuery
from memory.storage.room import open_off_record
from memory.storage.store import Store
from memory.vectors.flat import FlatVectorIndex
from memory.vectors.indexing import IndexMirror, VectorMaker
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.fakes.models import HashEmbedder

LONG = 90


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    opened = await open_off_record(FakeClock())
    yield opened
    await opened.close()


class Questions:
    """Embeds questions as the texts are, and counts them."""

    def __init__(self) -> None:
        self.embedder = HashEmbedder()
        self.asked: list[str] = []

    async def vector(self, text: str) -> QueryVector | None:
        self.asked.append(text)
        return QueryVector(self.embedder.fingerprint, tuple((await self.embedder.embed([text]))[0]))


async def chat(store: Store, *said: str) -> None:
    """A session of a person's messages, each with a model's reply."""
    session, _ = await store.create_session(NewSession("a"), NewMessage(Role.USER, said[0]))
    for text in said[1:]:
        await store.append_message(session.id, NewMessage(Role.ASSISTANT, "Noted.", model="m"))
        await store.append_message(session.id, NewMessage(Role.USER, text))


async def say(store: Store, *said: str) -> None:
    """A session of a person's messages."""
    session, _ = await store.create_session(NewSession("a"), NewMessage(Role.USER, said[0]))
    for text in said[1:]:
        await store.append_message(session.id, NewMessage(Role.USER, text))


async def engine(store: Store, questions: Questions, *, refined: bool = True) -> RecallEngine:
    await VectorMaker(store.vectors, questions.embedder).make_missing()
    mirror = IndexMirror(store.vectors, FlatVectorIndex())
    await mirror.fill(questions.embedder.fingerprint)
    return RecallEngine(store.evidence, FakeClock(), mirror=mirror, vectors=questions, refined=refined)


def semantic(hits: list[Hit], text: str) -> float:
    return next(hit.parts["semantic"] for hit in hits if hit.text == text)


async def test_a_long_answer_asks_once_more(store: Store) -> None:
    long = "zebra " + "alpha beta " * (LONG // 2)
    kin, other = "alpha beta", "gamma delta"
    await chat(store, long.strip(), other, kin)
    once = await (await engine(store, Questions(), refined=False)).recall(RecallQuery("zebra"))
    twice = await (await engine(store, Questions())).recall(RecallQuery("zebra"))
    assert semantic(twice, kin) - semantic(twice, other) > 0.3
    assert semantic(once, kin) - semantic(once, other) < 0.1
    # How near the question itself is does not change.
    assert {hit.id: hit.grounds for hit in once} == {hit.id: hit.grounds for hit in twice}


async def test_a_short_answer_does_not(store: Store) -> None:
    await chat(store, "zebra alpha beta", "gamma delta", "alpha beta")
    once = await (await engine(store, Questions(), refined=False)).recall(RecallQuery("zebra"))
    twice = await (await engine(store, Questions())).recall(RecallQuery("zebra"))
    assert [hit.parts for hit in once] == [hit.parts for hit in twice]


async def test_a_plain_search_looks_for_the_question_as_it_is_and_keeps_nothing_for_others(
    store: Store,
) -> None:
    await chat(store, "I love zebra alpha", "gamma delta")
    questions = Questions()
    await (await engine(store, questions, refined=False)).recall(RecallQuery("Can you recommend a zebra?"))
    assert questions.asked == ["Can you recommend a zebra?"]


async def test_requests_for_advice_find_what_is_said_about_their_topic(store: Store) -> None:
    await chat(store, "I hate cucumbers.", "I never liked studying.", "I love gardening.")
    questions = Questions()
    found = await engine(store, questions)
    hits = await found.recall(RecallQuery("Can you recommend classes?", k=9))
    best = max(hits, key=lambda hit: hit.parts["topic"])
    assert best.text == "I never liked studying."
    asked = len(questions.asked)
    await found.recall(RecallQuery("Can you recommend more classes?", k=9))
    assert len(questions.asked) == asked + 1
    plain = await found.recall(RecallQuery("When were the classes?", k=9))
    assert not any(hit.parts["topic"] for hit in plain)


async def test_in_a_large_room_the_same_is_found(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    await chat(store, *[f"common thing number{n} word{n % 7}" for n in range(40)])
    monkeypatch.setattr(searching, "NEAREST", 6)
    monkeypatch.setattr(rows, "BACKGROUND", 2)
    found = await engine(store, Questions())
    queries = ("the word3 thing", "number12", "what was number5 and word6 about", "nothing known")
    every = [[(hit.text, hit.score) for hit in await found.recall(RecallQuery(one, k=4))] for one in queries]
    monkeypatch.setattr(feature_builder, "COMPARED", 10)
    few = [[(hit.text, hit.score) for hit in await found.recall(RecallQuery(one, k=4))] for one in queries]
    # What nothing in the question speaks for has one score; which of these comes in is chance.
    tied = 0.127
    assert [[text for text, score in one if score > tied] for one in few] == [
        [text for text, score in one if score > tied] for one in every
    ]
    assert [len([1 for _, score in one if score > tied]) for one in few] == [4, 2, 4, 2]
    assert [score for one in few for _, score in one] == pytest.approx(
        [score for one in every for _, score in one], abs=0.02
    )


class Talk:
    """Most of what is said is alike: the first number. The others are of the sea and of nothing else."""

    fingerprint = "talk"

    async def embedding_fingerprint(self) -> str:
        return self.fingerprint

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._of(text) for text in texts]

    async def vector(self, text: str) -> QueryVector | None:
        return QueryVector(self.fingerprint, tuple(self._of(text)))

    def _of(self, text: str) -> list[float]:
        usual, sea = (0.5, 0.5) if "ankles" in text else (0.95, 0.3 * ("lengths" in text))
        return [usual, sea, math.sqrt(max(0.0, 1.0 - usual**2 - sea**2))]


async def test_a_statement_is_reminiscent_of_what_is_special_not_of_the_usual(store: Store) -> None:
    deep = "Nothing above the ankles, ever."
    await say(store, *(f"Number {n} was fine." for n in range(20)), deep, "Fine as well.")
    talk = Talk()
    await VectorMaker(store.vectors, talk).make_missing()
    mirror = IndexMirror(store.vectors, FlatVectorIndex())
    await mirror.fill(talk.fingerprint)
    found = RecallEngine(store.evidence, FakeClock(), mirror=mirror, vectors=talk)
    said = await found.recall(RecallQuery("I swam forty lengths this morning.", k=1))
    assert [hit.text for hit in said] == [deep]
    # By plain cosine, all others are nearer, and so they are for a question.
    asked = await found.recall(RecallQuery("Who swam forty lengths this morning?", k=1))
    assert [hit.text for hit in asked] != [deep]
