import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas_desktop.services.recall import WorkingEmbedder
from memory.context.entities import Summary
from memory.summaries.evidence import Evidence, longest
from memory.summaries.planning import SourceMessage, sentences
from memory.summaries.summarise import Draft, Summariser
from models.errors import ModelLoadFailed
from models.messages import ChatMessage, Lane, Role
from tests.fakes.models import HashEmbedder, ScriptedChatModel, WordCounter

START = datetime(2026, 11, 3, 9, tzinfo=UTC)
TALK = (
    "We want a week in the Lofoten islands in June, without a car, and we like quiet places by the sea.",
    "Buses reach most villages, but only a few times a day, so it is best to plan around the timetable.",
    "My sister Dana comes too, and she cannot walk more than an hour.",
    "Then a place near the harbour is the better base, since there the museum and the boat are close by.",
    "thanks a lot!",
    "You're welcome! Let me know if you need anything else.",
    "Let's go with Reine then. The budget is 1,200 euros for the two of us, all in all.",
    "That is a good choice. It is wise to book early, because there are few rooms in the summer.",
    "Remember that I am allergic to shellfish.",
    "I will keep that in mind for the restaurants, and there is other food on most of the menus.",
)
FAITHFUL = "They plan a week in the Lofoten islands with Dana and chose Reine."


def said(texts: Sequence[str] = TALK, *, hours: int = 6) -> list[SourceMessage]:
    roles = (Role.USER, Role.ASSISTANT)
    return [
        SourceMessage(f"m{n}", roles[n % 2], "", text, START + timedelta(hours=n * hours))
        for n, text in enumerate(texts)
    ]


def words(text: str) -> int:
    return len(text.split())


def whole(texts: Sequence[SourceMessage]) -> int:
    return sum(words(f"{text.label}: {text.text}") for text in texts)


class Results:
    """Remembers results in a dictionary."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, bytes], tuple[str, str | None]] = {}

    async def result(self, kind: str, digest: bytes) -> str | None:
        found = self.kept.get((kind, digest))
        return found[0] if found else None

    async def keep_result(self, kind: str, digest: bytes, text: str, session_id: str | None) -> None:
        self.kept[kind, digest] = (text, session_id)


def summariser(model: ScriptedChatModel, results: Results | None = None, *, embed: bool = True) -> Summariser:
    return Summariser(model, WordCounter(), HashEmbedder() if embed else None, results=results)


async def test_a_models_summary_that_passes_is_taken_and_what_it_left_out_is_added() -> None:
    model = ScriptedChatModel([FAITHFUL])
    draft = await summariser(model).summarise(said())
    assert not draft.fallback
    assert draft.model == "5c"
    assert draft.text.startswith(FAITHFUL)
    assert "Remember that I am allergic to shellfish." in draft.text
    assert "1,200 euros" in draft.text
    assert words(draft.text) <= longest(whole(said()))
    assert model.lanes == [Lane.TASK]


async def test_the_prompt_tells_task_guidance_input_and_format() -> None:
    model = ScriptedChatModel([FAITHFUL])
    await summariser(model).summarise(said())
    (prompt,) = model.prompts
    (asked,) = prompt
    parts = [
        asked.content.index(part) for part in ("TASK:", "GUIDANCE:", "User: We want", "EXPECTED FORMAT:")
    ]
    assert parts == sorted(parts)
    assert all(text in asked.content for text in TALK)


async def test_a_refused_answer_is_asked_for_once_more_with_the_reasons() -> None:
    model = ScriptedChatModel(["They go to Oslo with 900 euros.", FAITHFUL])
    draft = await summariser(model).summarise(said())
    assert draft.text.startswith(FAITHFUL)
    assert not draft.fallback
    first, second = model.prompts
    # Appended to what the model has read already.
    assert second[: len(first)] == first
    assert second[1].role is Role.ASSISTANT
    assert "Oslo" in second[2].content
    assert "900" in second[2].content


async def test_after_two_refused_answers_the_source_speaks_for_itself() -> None:
    model = ScriptedChatModel(["They go to Oslo.", "They go to Paris."])
    draft = await summariser(model).summarise(said())
    assert len(model.prompts) == 2
    assert draft.fallback
    assert draft.model == "5c"
    lines = draft.text.splitlines()
    assert lines[0].startswith("10 messages, 3 Nov to 5 Nov, about ")
    assert "Reine" in draft.topics or "Dana" in draft.topics
    assert words(draft.text) <= longest(whole(said()))
    for fact in ("allergic to shellfish", "1,200 euros", "My sister Dana", "Let's go with Reine"):
        assert fact in draft.text
    assert "thanks" not in draft.text
    # In the order in which it was said.
    assert draft.text.index("Dana comes") < draft.text.index("Let's go") < draft.text.index("shellfish")
    assert any(line.startswith("User: ") for line in lines)


class Unusable(HashEmbedder):
    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise ModelLoadFailed(Path("mini.gguf"), "refused")


async def test_an_embedding_model_that_fails_is_as_good_as_none() -> None:
    drafts = [
        await Summariser(ScriptedChatModel(["They go to Oslo."] * 2), WordCounter(), embedder).summarise(
            said()
        )
        for embedder in (WorkingEmbedder(Unusable()), None)
    ]
    assert drafts[0] == drafts[1]
    assert "allergic to shellfish" in drafts[0].text


async def test_at_once_no_model_is_asked() -> None:
    model = ScriptedChatModel()
    draft = await summariser(model).quick(said())
    assert model.prompts == []
    assert draft.fallback
    assert draft.model is None
    assert "shellfish" in draft.text


async def test_a_text_of_one_sentence_is_its_own_summary() -> None:
    text = "The lighthouse of Kilda was built in 1887."
    draft = await summariser(ScriptedChatModel()).section(text, most=100, ask=False)
    assert draft.text == text


async def test_small_talk_needs_no_model_to_be_told_of() -> None:
    model = ScriptedChatModel()
    draft = await summariser(model).summarise(
        said(["hi", "Hello! How can I help you today?", "ok lol", "👍"])
    )
    assert draft == Draft("4 messages, 3 Nov to 4 Nov, about small talk.", ("small talk",))
    assert model.prompts == []


async def test_nothing_is_left_of_messages_that_were_forgotten() -> None:
    draft = await summariser(ScriptedChatModel()).summarise(said(["", ""]))
    assert draft == Draft("2 messages, 3 Nov.")


async def test_the_same_question_is_asked_of_a_model_once() -> None:
    results = Results()
    model = ScriptedChatModel([FAITHFUL])
    first = await summariser(model, results).summarise(said(), session_id="s1")
    assert [session for _, session in results.kept.values()] == ["s1"]
    assert await summariser(model, results).summarise(said(), session_id="s1") == first
    assert len(model.prompts) == 1
    changed = said([*TALK[:-1], "Other words were said at the end of it."])
    await summariser(model, results).summarise(changed)
    assert len(model.prompts) == 2


async def test_that_no_answer_passed_is_remembered_too() -> None:
    results = Results()
    model = ScriptedChatModel(["They go to Oslo."])
    first = await summariser(model, results).summarise(said())
    assert (await summariser(model, results).summarise(said())) == first
    assert first.fallback
    assert len(model.prompts) == 2


async def test_a_long_talk_is_read_in_parts_that_fit() -> None:
    def reply(messages: Sequence[ChatMessage]) -> str:
        prompt = sum(words(m.content) for m in messages)
        assert prompt < 1000
        return "They talk of the islands." if "NOTES" not in messages[0].content else "They talk on."

    model = ScriptedChatModel(reply, context_length=1000)
    texts = said(
        [f"{text} This is part number {n // 10} of it." for n, text in enumerate(TALK * 20)], hours=1
    )
    draft = await summariser(model).summarise(texts, most=60)
    assert len(model.prompts) > 2
    assert not draft.fallback
    assert words(draft.text) <= 60


async def test_a_message_longer_than_the_context_is_cut_and_not_lost() -> None:
    model = ScriptedChatModel(["It goes on."], context_length=1000)
    long = " ".join(f"word{n}" for n in range(2000))
    await summariser(model).summarise(said([long]))
    asked = "".join(prompt[0].content for prompt in model.prompts)
    assert all(f"word{n}" in asked for n in range(0, 2000, 97))


async def test_a_context_that_is_too_small_for_the_prompt_is_not_asked() -> None:
    model = ScriptedChatModel(context_length=200)
    draft = await summariser(model).summarise(said())
    assert draft.fallback
    assert model.prompts == []


async def test_a_model_that_repeats_itself_is_stopped() -> None:
    model = ScriptedChatModel(["They plan the trip by the sea. " * 30])
    draft = await summariser(model).summarise(said([f"{text} And so it goes on." for text in TALK * 4]))
    assert draft.fallback
    assert model.cancelled == 2


async def test_a_cancelled_summary_stops_the_model() -> None:
    asked = asyncio.Event()

    def reply(messages: Sequence[ChatMessage]) -> str:
        asked.set()
        return "They talk"

    model = ScriptedChatModel(reply, gate=asyncio.Event())
    task = asyncio.create_task(summariser(model).summarise(said()))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.cancelled == 1


async def test_merging_keeps_facts_and_what_a_person_wrote() -> None:
    early, late = said()[:6], said()[6:]
    of_late = "4 messages, 4 Nov to 5 Nov, about Reine.\nUser: The budget is 1,200 euros for the two of us."
    covers = (tuple(m.id for m in early), tuple(m.id for m in late))
    parts = [
        Summary("a", "s", 0, "The cat is looked after by a neighbour.", covers[0], START, START, edited=True),
        Summary("b", "s", 0, of_late, covers[1], START, START),
    ]
    model = ScriptedChatModel(["They go to Oslo."])
    draft = await summariser(model).merge(parts, [*early, *late])
    assert "NOTES:" in model.prompts[0][0].content
    assert draft.fallback
    assert draft.text.startswith("10 messages, 3 Nov to 5 Nov")
    assert "The cat is looked after by a neighbour." in draft.text
    assert "1,200 euros" in draft.text
    assert "4 messages" not in draft.text
    assert words(draft.text) <= longest(whole([*early, *late]))


texts_ = st.lists(
    st.one_of(
        st.sampled_from(TALK),
        st.text(max_size=60),
        st.sampled_from(["1 000", "Ada!", "漢字です。", "x" * 500]),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(texts_, st.booleans(), st.one_of(st.none(), st.integers(5, 200)))
def test_an_extract_is_short_and_says_nothing_new(texts: list[str], embed: bool, most: int | None) -> None:
    source = said(texts)
    model = ScriptedChatModel(["Oslo, 77 times."])
    draft = asyncio.run(summariser(model, embed=embed).summarise(source, most=most))
    assert draft.text
    held = longest(whole([m for m in source if m.text.strip()]))
    if draft.fallback:
        assert words(draft.text) <= max(2, min(held, most or held))
        body = draft.text.removeprefix(draft.text.splitlines()[0]) if "message" in draft.text else draft.text
        assert Evidence("\n".join(texts), also="User Assistant").unknown_numbers(body) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It rains. We go!", ["It rains.", "We go!"]),
        ("Dr. Berg comes at 3 p.m. on Friday.", ["Dr. Berg comes at 3 p.m. on Friday."]),
        ("Am 3. Mai ist Markt. Gut.", ["Am 3. Mai ist Markt.", "Gut."]),
        ("# Plan\n\n- **Bus** to Å\n- boat", ["Plan", "Bus to Å", "boat"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["a, b", "1, 2"]),
        ("See:\n```py\nx = 1\n```\nDone.", ["See:", "Done."]),
        ("```\nnever closed", []),
        ("今日は雨です。明日は晴れ。", ["今日は雨です。", "明日は晴れ。"]),
        ("1. Buy bread\n2) Bake", ["Buy bread", "Bake"]),
        ("", []),
        ("word " * 100, ["word " * 44 + "word", "word " * 44 + "word", "word " * 9 + "word"]),
    ],
)
def test_sentences(text: str, found: list[str]) -> None:
    assert sentences(text) == found
