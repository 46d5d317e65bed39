"""What of attached texts is in a prompt, and how it is said."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from memory.attachments import NewAttachment, by_words, candidates, ranked, terms
from memory.context.engine import ContextEngine
from memory.context.entities import Limits
from memory.context.epochs import Prepared
from memory.context.library import AttachmentContext, DocumentReading
from memory.entities import MessagePatch, MessageStatus, NewMessage, NewSession
from models.messages import Completion, Role, StopReason, Timings
from tests.fakes.folding import CountingFolder
from tests.fakes.models import HashEmbedder, ScriptedChatModel, WordCounter
from tests.stores import InMemoryStore

SMALL = Limits(max_tokens=900, summary_target=600, immediate_turns=10, date_and_time=False)
FILLER = "The harbour was built of grey stone and stands beside the river. "
BOOK = FILLER * 60 + "The kittiwake password is seven. " + FILLER * 60


class Embedding:
    """The test embedder, as passages want it."""

    def __init__(self) -> None:
        self.inner = HashEmbedder()

    async def model(self) -> str | None:
        return await self.inner.embedding_fingerprint()

    async def vectors(self, texts: Sequence[str]) -> Sequence[Sequence[float]] | None:
        return await self.inner.embed(texts)


class Talk:
    """One session in which things are said and attached."""

    def __init__(self, context: int = 2400, limits: Limits = SMALL) -> None:
        self.store = InMemoryStore()
        self.engine = ContextEngine(
            self.store,
            ScriptedChatModel(context_length=context),
            WordCounter(),
            CountingFolder(self.store),
            default_system=lambda: "Be kind.",
            limits=lambda: limits,
            documents=AttachmentContext(self.store, WordCounter(), Embedding()),
        )
        self.session = ""

    async def begin(self, *attached: tuple[str, str]) -> None:
        first = NewMessage(Role.SYSTEM, "")
        session, _ = await self.store.create_session(NewSession("talk"), first)
        self.session = session.id
        for name, text in attached:
            await self.attach(name, text)

    async def attach(self, name: str, text: str) -> str:
        new = NewAttachment(name, "text/plain", len(text), text)
        return (await self.store.attachments.attach(self.session, new)).id

    async def say(self, text: str, *, answer: str = "fine") -> Prepared:
        said = NewMessage(Role.USER, text)
        growing = NewMessage(Role.ASSISTANT, "", status=MessageStatus.STREAMING)
        session, message, reply = await self.store.begin_turn(self.session, None, said, growing)
        return await self.answer(session.id, message.id, reply.id, answer)

    async def answer(self, session_id: str, said_id: str, reply_id: str, answer: str = "fine") -> Prepared:
        session = await self.store.get_session(session_id)
        prepared = await self.engine.prepare(session, said_id, reply=50, reply_id=reply_id)
        done = replace(
            (await self.store.branch(session_id))[-1], content=answer, status=MessageStatus.COMPLETE
        )
        await self.store.update_message(done.id, MessagePatch(content=answer, status=done.status))
        completion = Completion(answer, (), StopReason.STOP, Timings())
        await self.engine.record(prepared, done, completion)
        return prepared


def tier(prepared: Prepared, name: str) -> tuple[int, tuple[str, ...]]:
    found = [part for part in prepared.prompt.tiers if part.tier == name]
    return (found[0].tokens, found[0].ids) if found else (0, ())


async def test_what_fits_is_told_whole_once_and_stands_from_then_on() -> None:
    talk = Talk()
    await talk.begin(("note.md", "The boat is called Alba."))
    first = await talk.say("What is it called?")
    assert [(use.name, use.reading) for use in first.documents] == [("note.md", DocumentReading.WHOLE)]
    assert first.prompt.messages[-1].content.endswith(
        'Attached file "note.md":\n```\nThe boat is called Alba.\n```\n\nWhat is it called?'
    )
    second = await talk.say("Thanks.")
    assert [use.reading for use in second.documents] == [DocumentReading.STANDING]
    assert "Alba" not in second.prompt.messages[-1].content
    assert sum("Alba" in m.content for m in second.prompt.messages) == 1
    for prepared in (first, second):
        tokens, ids = tier(prepared, "document")
        assert tokens > 5
        assert ids == (first.documents[0].id,)
        assert sum(part.tokens for part in prepared.prompt.tiers) == prepared.prompt.tokens
    assert second.prompt.messages[: len(first.prompt.messages)] == first.prompt.messages


async def test_of_a_long_text_the_passages_that_answer_are_read_and_the_rest_is_not_hidden() -> None:
    talk = Talk()
    await talk.begin(("book.txt", BOOK))
    asked = await talk.say("What is the kittiwake password?")
    (use,) = asked.documents
    assert use.reading is DocumentReading.PASSAGES
    assert 0 < use.passages < use.of
    assert "The kittiwake password is seven." in asked.prompt.messages[-1].content
    assert f"({use.passages} of {use.of})" in asked.prompt.messages[-1].content
    assert asked.prompt.tokens <= asked.budget.limit


async def test_asking_for_another_answer_adds_nothing_to_the_prompt() -> None:
    talk = Talk()
    await talk.begin(("book.txt", BOOK), ("note.md", "Alba."))
    first = await talk.say("What is the kittiwake password?")
    growing = NewMessage(Role.ASSISTANT, "", status=MessageStatus.STREAMING)
    reply = await talk.store.append_message(talk.session, growing, parent_id=first.said.id)
    again = await talk.answer(talk.session, first.said.id, reply.id)
    assert again.prompt.messages == first.prompt.messages
    assert tier(again, "document")[1] == tier(first, "document")[1]


async def test_the_next_epoch_holds_what_is_whole_in_its_head() -> None:
    talk = Talk()
    await talk.begin(("note.md", "The boat is called Alba."))
    await talk.say("What is it called?")
    for _ in range(4):
        await talk.say("more words " * 12, answer="and more words " * 8)
    made = await talk.engine.next_epoch(talk.session, force=True)
    assert made is not None
    assert "Alba" in made.epoch.head
    assert [part.ids for part in made.epoch.parts if part.tier == "document"] != [()]
    after = await talk.say("And now?")
    assert [(use.reading, use.tokens > 0) for use in after.documents] == [(DocumentReading.STANDING, True)]
    assert sum("Alba" in m.content for m in after.prompt.messages) == 1
    assert sum(part.tokens for part in after.prompt.tiers) == after.prompt.tokens


async def test_what_was_taken_out_is_not_told_any_more() -> None:
    talk = Talk()
    await talk.begin(("note.md", "The boat is called Alba."))
    await talk.say("What is it called?")
    await talk.store.attachments.detach(talk.session, "note.md")
    after = await talk.say("Again?")
    assert after.documents == ()
    assert not any("Alba" in m.content for m in after.prompt.messages)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 900), min_size=1, max_size=4), st.integers(300, 1500))
def test_no_prompt_overflows_whatever_is_attached(sizes: list[int], context: int) -> None:
    import asyncio

    async def run() -> None:
        talk = Talk(context)
        await talk.begin(*((f"{n}.txt", "word " * size) for n, size in enumerate(sizes)))
        for text in ("word?", "another question about it", "thanks"):
            prepared = await talk.say(text)
            assert prepared.prompt.tokens <= prepared.budget.limit
            assert len(prepared.documents) == len(sizes)

    asyncio.run(run())


def test_words_rank_passages_and_neighbours_of_good_ones() -> None:
    pieces = ["nothing here", "the answer follows", "ferries leave at seven", "nothing there"]
    words = by_words("When does the ferry leave?", pieces)
    assert max(range(4), key=words.__getitem__) == 2
    assert ranked(words, {})[0] == 2
    assert ranked([0.0] * 4, {}) == [0, 1, 2, 3]
    assert ranked([0.0] * 4, {3: 0.9})[0] == 3


def test_candidates_are_the_best_by_words_and_then_spread_evenly() -> None:
    words = [0.0] * 100
    words[70] = 1.0
    found = candidates(words, 10)
    assert 70 in found
    assert len(found) == 10
    assert max(found) - min(found) > 60


def test_scripts_without_spaces_are_compared_by_pairs() -> None:
    assert terms("東京都") == ["東京", "京都"]
    assert by_words("京都", ["東京都は大きい", "大阪"])[0] > 0
