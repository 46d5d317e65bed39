"""Recall over a room: the fake one and a real one, with vectors made of hashed words."""

from collections.abc import AsyncIterator, Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memory.entities import MemoryMode, MessagePatch, NewMessage, NewSession, SessionPatch
from memory.recall.engine import RecallEngine
from memory.recall.entities import Hit, QueryVector, RawScores, RecallQuery, Wording
from memory.storage.room import open_off_record
from memory.storage.store import Store
from memory.transfer import TravellingMessage, TravellingSession
from memory.vectors.indexing import IndexMirror, VectorMaker
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.fakes.models import HashEmbedder
from tests.fakes.vector_index import BruteForceVectorIndex
from tests.stores import InMemoryStore

MAY = datetime(2023, 5, 8, 12, tzinfo=UTC)


@pytest.fixture(params=["fake", "real"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    opened: Store
    opened = InMemoryStore(FakeClock()) if request.param == "fake" else await open_off_record(FakeClock())
    yield opened
    await opened.close()


class Questions:
    """Embeds questions as the texts are."""

    def __init__(self, embedder: HashEmbedder) -> None:
        self._embedder = embedder

    async def vector(self, text: str) -> QueryVector | None:
        return QueryVector(self._embedder.fingerprint, tuple((await self._embedder.embed([text]))[0]))


def by_words(store: Store) -> RecallEngine:
    return RecallEngine(store.evidence, FakeClock())


async def with_meaning(store: Store) -> RecallEngine:
    embedder = HashEmbedder()
    await VectorMaker(store.vectors, embedder).make_missing()
    mirror = IndexMirror(store.vectors, BruteForceVectorIndex())
    await mirror.fill(embedder.fingerprint)
    return RecallEngine(store.evidence, FakeClock(), mirror=mirror, vectors=Questions(embedder))


async def say(store: Store, *texts: str, project: str | None = None, title: str = "a") -> str:
    """A session of a person's messages; returns its id."""
    session, _ = await store.create_session(
        NewSession(title, project=project), NewMessage(Role.USER, texts[0])
    )
    for text in texts[1:]:
        await store.append_message(session.id, NewMessage(Role.USER, text))
    return session.id


async def travelled(store: Store, name: str, *said: tuple[Role, str, str], at: datetime = MAY) -> str:
    messages: list[TravellingMessage] = []
    for n, (role, speaker, text) in enumerate(said):
        parent = messages[-1].id if messages else None
        messages.append(
            TravellingMessage(f"{name}.{n}", parent, role, speaker, text, at + timedelta(minutes=n))
        )
    return (await store.transfer.take(TravellingSession(name, name, at, at, tuple(messages)))).session_id


def texts(hits: list[Hit]) -> list[str]:
    return [hit.text for hit in hits]


async def test_words_find_without_vectors(store: Store) -> None:
    session = await say(store, "my bicycle is green", "the weather is fine", "I had soup for lunch")
    found = await by_words(store).answer(RecallQuery("which bicycle", k=1))
    (hit,) = found.hits
    assert (hit.text, hit.kind, hit.source.session, hit.source.message) == (
        "my bicycle is green",
        "message",
        session,
        hit.id,
    )
    assert not found.semantic
    assert hit.parts["lexical"] > 0
    assert hit.parts["semantic"] == 0
    assert 0 <= hit.score <= 1


async def test_meaning_joins_in(store: Store) -> None:
    await say(store, "green bicycle shop", "weather report", "soup for lunch")
    found = await (await with_meaning(store)).answer(RecallQuery("bicycle shop", k=3))
    assert found.semantic
    assert found.hits[0].text == "green bicycle shop"
    assert found.hits[0].parts["semantic"] == 1.0
    assert found.took_ms > 0


async def test_a_hit_says_what_speaks_for_it_by_itself(store: Store) -> None:
    await say(store, "green bicycle shop", "weather report for the shop", "how will you")
    engine = by_words(store)
    whole, part = await engine.recall(RecallQuery("bicycle shop", k=2))
    assert whole.grounds == RawScores(None, 1.0)
    assert 0 < part.grounds.words < 0.5
    unknown = (await engine.recall(RecallQuery("bicycle of Marmaduke", k=1)))[0]
    assert 0 < unknown.grounds.words < 1
    # Words that are in everything tell nothing.
    (alike,) = await engine.recall(RecallQuery("how will you", k=1))
    assert (alike.text, alike.grounds.words) == ("how will you", 0.0)
    (near,) = await (await with_meaning(store)).recall(RecallQuery("green bicycle shop", k=1))
    assert near.grounds.cosine == pytest.approx(1.0, abs=1e-5)


async def test_what_is_said_later_edited_or_forgotten_is_followed(store: Store) -> None:
    session = await say(store, "my bicycle is green", "soup")
    engine = await with_meaning(store)
    assert texts(await engine.recall(RecallQuery("bicycle", k=1))) == ["my bicycle is green"]
    added = await store.append_message(session, NewMessage(Role.USER, "the red bicycle was stolen"))
    # Words find it at once, its vector lifts it.
    assert added.content in texts(await engine.recall(RecallQuery("stolen bicycle", k=3)))
    await VectorMaker(store.vectors, HashEmbedder()).make_missing()
    assert texts(await engine.recall(RecallQuery("stolen bicycle", k=1))) == [added.content]
    first = (await store.branch(session))[0]
    await store.update_message(first.id, MessagePatch(content="my boat is blue"))
    assert texts(await engine.recall(RecallQuery("boat", k=1))) == ["my boat is blue"]
    await store.forget_message(added.id)
    assert all(
        "stolen" not in text for text in texts(await engine.recall(RecallQuery("stolen bicycle", k=10)))
    )
    await store.erase_session(session)
    assert await engine.recall(RecallQuery("boat")) == []


async def test_projects_and_sessions_bound_what_is_found(store: Store) -> None:
    home = await say(store, "the bicycle at home", project="Home")
    await say(store, "the bicycle at work", project="Work")
    engine = await with_meaning(store)
    assert texts(await engine.recall(RecallQuery("bicycle", project="Home"))) == ["the bicycle at home"]
    assert texts(await engine.recall(RecallQuery("bicycle", session=home))) == ["the bicycle at home"]
    assert await engine.recall(RecallQuery("bicycle", project="Nowhere")) == []
    assert await engine.recall(RecallQuery("bicycle", session="nobody")) == []
    assert len(await engine.recall(RecallQuery("bicycle"))) == 2


async def test_widening_adds_after_the_project_and_a_reference_sets_it_aside(store: Store) -> None:
    await say(store, "the bicycle at home", project="Home")
    await say(store, "a bicycle bicycle bicycle race", project="Work")
    engine = by_words(store)
    found = await engine.recall(RecallQuery("bicycle", project="Home", widen=True))
    assert texts(found) == ["the bicycle at home", "a bicycle bicycle bicycle race"]
    back = await engine.recall(
        RecallQuery("what did we say about the bicycle race", project="Home", widen=True, k=1)
    )
    assert texts(back) == ["a bicycle bicycle bicycle race"]


async def test_what_adds_no_memory_is_found_only_when_named(store: Store) -> None:
    session = await say(store, "a secret bicycle")
    engine = by_words(store)
    for mode in (MemoryMode.READS, MemoryMode.BLANK):
        await store.update_session(session, SessionPatch(memory_mode=mode))
        assert await engine.recall(RecallQuery("bicycle")) == []
        assert texts(await engine.recall(RecallQuery("bicycle", session=session))) == ["a secret bicycle"]
    await store.update_session(session, SessionPatch(memory_mode=MemoryMode.NORMAL))
    await store.bin_session(session)
    assert await engine.recall(RecallQuery("bicycle")) == []
    await store.restore_session(session)
    assert len(await engine.recall(RecallQuery("bicycle"))) == 1


async def test_exclusions_and_times(store: Store) -> None:
    old = await travelled(store, "old", (Role.USER, "Ann", "my bicycle is green"))
    new = await travelled(store, "new", (Role.USER, "Ann", "my bicycle is red"), at=MAY + timedelta(days=60))
    engine = by_words(store)
    first = (await store.branch(old))[0].id
    assert texts(await engine.recall(RecallQuery("bicycle", exclude_messages=[first]))) == [
        "my bicycle is red"
    ]
    assert texts(await engine.recall(RecallQuery("bicycle", exclude_sessions=[new]))) == [
        "my bicycle is green"
    ]
    assert texts(await engine.recall(RecallQuery("bicycle", since=MAY + timedelta(days=1)))) == [
        "my bicycle is red"
    ]
    assert texts(await engine.recall(RecallQuery("bicycle", before=MAY + timedelta(days=1)))) == [
        "my bicycle is green"
    ]
    assert await engine.recall(RecallQuery("bicycle", kinds=["memory"])) == []
    assert await engine.recall(RecallQuery("bicycle", k=0)) == []
    assert await engine.recall(RecallQuery("   ")) == []


async def test_the_time_a_question_speaks_of_decides_between_equals(store: Store) -> None:
    await travelled(store, "may", (Role.USER, "Ann", "we went to the lake"))
    await travelled(store, "july", (Role.USER, "Ann", "we went to the lake"), at=MAY + timedelta(days=70))
    engine = by_words(store)
    now = MAY + timedelta(days=100)
    (hit,) = await engine.recall(RecallQuery("when were we at the lake in May", k=1, now=now))
    assert hit.source.created_at.month == 5
    assert hit.parts["time"] > 0.9
    (hit,) = await engine.recall(RecallQuery("the lake, last month", k=1, now=now))
    assert hit.source.created_at.month == 7


async def test_whoever_is_named_speaks(store: Store) -> None:
    await travelled(
        store,
        "talk",
        (Role.USER, "Ann", "Ben, I bought a kite"),
        (Role.ASSISTANT, "Ben", "Ann, I bought a kite too"),
    )
    engine = by_words(store)
    assert texts(await engine.recall(RecallQuery("what did Ben buy, a kite?", k=1))) == [
        "Ann, I bought a kite too"
    ]
    assert texts(await engine.recall(RecallQuery("what did Ann buy, a kite?", k=1))) == [
        "Ben, I bought a kite"
    ]


async def test_a_person_is_believed_before_a_model_unless_the_model_is_asked_for(
    store: Store,
) -> None:
    await travelled(
        store,
        "chat",
        (Role.USER, "user", "I want a kite for the beach"),
        (Role.ASSISTANT, "assistant", "Buy a kite, a kite for the beach"),
    )
    engine = by_words(store)
    assert texts(await engine.recall(RecallQuery("kite", k=1))) == ["I want a kite for the beach"]
    (hit,) = await engine.recall(RecallQuery("which kite did you recommend", k=1))
    assert hit.source.speaker == "assistant"


async def test_an_old_answer_is_not_hidden_by_fresh_talk(store: Store) -> None:
    await travelled(store, "old", (Role.USER, "Ann", "the safe's code is in the blue teapot"))
    for n in range(20):
        await travelled(store, f"new{n}", (Role.USER, "Ann", f"talk number {n} about the teapot"), at=NEW)
    (hit,) = await by_words(store).recall(RecallQuery("where is the code of the safe", k=1, now=NEW))
    assert "blue teapot" in hit.text


NEW = MAY + timedelta(days=900)


async def test_the_passage_that_answers_is_named(store: Store) -> None:
    filler = " ".join(f"Word{n} is said about nothing." for n in range(60))
    await say(store, f"{filler} The lighthouse keeper lives alone. {filler}", "something else")
    engine = await with_meaning(store)
    (hit,) = await engine.recall(RecallQuery("lighthouse keeper lives alone", k=1))
    assert "lighthouse keeper" in hit.passage
    assert len(hit.passage) < len(hit.text) / 3


async def test_vectors_of_another_model_are_not_compared(store: Store) -> None:
    await say(store, "green bicycle", "soup")
    engine = await with_meaning(store)
    other = HashEmbedder("another")
    engine_vectors = Questions(other)
    mixed = RecallEngine(store.evidence, FakeClock(), mirror=engine._mirror, vectors=engine_vectors)
    found = await mixed.answer(RecallQuery("bicycle", k=1))
    assert not found.semantic
    assert found.hits[0].text == "green bicycle"


async def test_scripts_without_spaces(store: Store) -> None:
    await say(store, "昨日は東京タワーに行きました。", "今日は雨です。", "京都の寺が好きです。")
    assert texts(await by_words(store).recall(RecallQuery("東京タワー", k=1))) == [
        "昨日は東京タワーに行きました。"
    ]
    assert texts(await by_words(store).recall(RecallQuery("京都", k=1))) == ["京都の寺が好きです。"]


async def test_hits_are_values(store: Store) -> None:
    await say(store, "private words")
    (hit,) = await by_words(store).recall(RecallQuery("private"))
    assert "private" not in repr(hit)
    assert replace(hit, score=0.0).text == "private words"


async def test_the_wording_of_messages_is_read_for_the_questions_that_need_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    wordings = store.evidence.wordings

    async def noted(seqs: Collection[int]) -> list[Wording]:
        read.extend(seqs)
        return await wordings(seqs)

    monkeypatch.setattr(store.evidence, "wordings", noted)
    await say(store, "I saw the tower.", "The tower is tall.")
    engine = by_words(store)
    seen = next(
        hit.id for hit in await engine.recall(RecallQuery("the tower")) if hit.text == "I saw the tower."
    )
    assert read == []
    first = await engine.recall(RecallQuery("When did I see the tower?"))
    assert (len(read), {hit.parts["dated"] for hit in first}) == (2, {0.0})
    await store.update_message(seen, MessagePatch(content="I saw the tower last week."))
    second = await engine.recall(RecallQuery("When did I see the tower?"))
    assert len(read) == 3
    assert [hit.text for hit in second if hit.parts["dated"]] == ["I saw the tower last week."]
    await engine.warm_wordings()
    assert len(read) == 3


async def test_each_sentence_of_a_question_finds_its_answer(store: Store) -> None:
    said = [f"The {thing} was on page {number}." for number, thing in enumerate(["map", "boat", "lake"])]
    await say(store, "My boss works in a bank.", *said, "The fair is in Leeds, a big fair.", *said)
    found = await by_words(store).recall(RecallQuery("Where does my boss work? And where is the fair?", k=2))
    assert set(texts(found)) == {"My boss works in a bank.", "The fair is in Leeds, a big fair."}


async def test_korean_words_are_found_with_other_endings(store: Store) -> None:
    await say(store, "어제 학교에서 친구를 만났어요.", "오늘은 비가 와요.", "내일 병원에 가요.")
    assert texts(await by_words(store).recall(RecallQuery("학교는 어디야?", k=1))) == [
        "어제 학교에서 친구를 만났어요."
    ]
