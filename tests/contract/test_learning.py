"""Learning on every kind of store: what joins what is known, and what is never learned."""

from collections.abc import Sequence

import pytest

from memory.entities import MemoryMode, Message, NewMessage, NewSession, Session, SessionPatch
from memory.learning.extraction import ModelReader
from memory.learning.learner import Digester, Learner, heard_in
from memory.learning.memory_writer import Meaning, MemoryWriter
from memory.memories.entities import Memory, MemoryFilter, MemoryKind, MemoryOrigin, MemoryPatch, MemoryState
from memory.memories.lifetime import Retention
from memory.storage.store import Store
from memory.summaries.summarise import Summariser
from models.messages import ChatMessage, Role
from tests.contract.talk import assistant, begin, user
from tests.fakes.clock import FakeClock
from tests.fakes.models import HashEmbedder, ScriptedChatModel, WordCounter

EVERY = MemoryFilter(states=None)


def learner(store: Store, model: ScriptedChatModel | None = None, *, near: bool = False) -> Learner:
    return Learner(
        store,
        MemoryWriter(store.memories, FakeClock(), Retention),
        model=ModelReader(model, results=store.jobs) if model else None,
        meaning=Meaning(store.vectors, HashEmbedder()) if near else None,
    )


async def say(store: Store, *said: str, mode: MemoryMode = MemoryMode.NORMAL) -> Session:
    """A session in which the person says this, each time answered."""
    session, _ = await store.create_session(NewSession("A chat", memory_mode=mode), user(said[0]))
    await store.append_message(session.id, assistant("I see."))
    for text in said[1:]:
        await store.append_message(session.id, user(text))
        await store.append_message(session.id, assistant("I see."))
    return session


def texts(memories: Sequence[Memory]) -> set[str]:
    return {memory.text for memory in memories}


async def test_what_was_learned_has_its_words_and_is_learned_once(store: Store) -> None:
    session = await say(store, "Hi! I live in Graz, where is the lake?", "Thanks.")
    (made,) = await learner(store).learn()
    assert (made.text, made.state, made.origin) == (
        "I live in Graz.",
        MemoryState.INBOX,
        MemoryOrigin.PATTERN,
    )
    (source,) = await store.memories.sources(made.id)
    assert (source.session_id, source.quote) == (session.id, "I live in Graz")
    assert await store.memories.unlearned() == []
    assert await learner(store).learn() == []


@pytest.mark.parametrize("mode", [MemoryMode.READS, MemoryMode.BLANK])
async def test_nothing_is_learned_where_memory_is_not_added_to(store: Store, mode: MemoryMode) -> None:
    await say(store, "I live in Graz.", mode=mode)
    assert await learner(store).learn() == []
    assert await store.memories.select(EVERY) == []


async def test_what_was_said_in_such_a_mode_is_not_learned_later_either(store: Store) -> None:
    session = await say(store, "I live in Graz.", mode=MemoryMode.BLANK)
    await store.update_session(session.id, SessionPatch(memory_mode=MemoryMode.NORMAL))
    await store.append_message(session.id, user("I hate olives."))
    await learner(store).learn()
    assert texts(await store.memories.select()) == {"I hate olives."}


async def test_a_fork_is_not_learned_from_again(store: Store) -> None:
    session = await say(store, "I live in Graz.")
    fork = await store.fork_session(session.id, (await store.branch(session.id))[-1].id, "Another")
    await store.append_message(fork.id, user("I hate olives."))
    made = await learner(store).learn()
    assert texts(made) == {"I live in Graz.", "I hate olives."}
    assert all([len(await store.memories.sources(one.id)) == 1 for one in made])


async def test_the_model_s_words_are_no_evidence(store: Store) -> None:
    session, _ = await begin(store, "Who am I?")
    await store.append_message(session.id, assistant("You said: I live in Graz.\nI love olives."))
    await store.append_message(session.id, user("I love olives."))
    assert await learner(store).learn() == []


async def test_said_again_is_one_more_source_and_surer(store: Store) -> None:
    await say(store, "I live in Graz.")
    (first,) = await learner(store).learn()
    await say(store, "I'm based in Graz, as you know.")
    (again,) = await learner(store).learn()
    assert again.id == first.id
    assert again.confidence > first.confidence
    assert len(await store.memories.sources(first.id)) == 2


async def test_nearly_the_same_words_are_one_memory(store: Store) -> None:
    await say(store, "I collect very old stamps from Norway and Sweden and Denmark.")
    (first,) = await learner(store, near=True).learn()
    await say(store, "I collect very old stamps from Norway and Sweden and Denmark now.")
    (again,) = await learner(store, near=True).learn()
    assert again.id == first.id
    await say(store, "I collect very old coins from Norway and Sweden and Finland.")
    (other,) = await learner(store, near=True).learn()
    assert other.id != first.id


async def test_who_moves_keeps_her_work(store: Store) -> None:
    await say(store, "I live in Graz and work as a nurse.")
    home, work = await learner(store).learn()
    await say(store, "I moved to Cork.")
    await learner(store).learn()
    assert (await store.memories.get(home.id)).state is MemoryState.SUPERSEDED
    assert (await store.memories.get(work.id)).state is MemoryState.INBOX
    assert texts(await store.memories.select()) == {"I moved to Cork.", "I work as a nurse."}


async def test_who_moves_keeps_her_company(store: Store) -> None:
    await say(store, "We live in York with my partner Tomasz.")
    await learner(store).learn()
    assert texts(await store.memories.select()) == {
        "We live in York with my partner Tomasz.",
        "My partner is Tomasz.",
    }
    # Nothing is learned twice from the same words.
    assert await learner(store).learn() == []
    await say(store, "We moved to Leeds last week.")
    await learner(store).learn()
    assert texts(await store.memories.select()) == {"We moved to Leeds last week.", "My partner is Tomasz."}


async def test_what_is_newer_supersedes_and_ends_the_time_of_the_old(store: Store) -> None:
    await say(store, "I live in Ghent.", "I love tea.", "I've moved to Graz.", "I've come to hate tea.")
    await learner(store).learn()
    assert texts(await store.memories.select()) == {"I've moved to Graz.", "I've come to hate tea."}
    every = {one.text: one for one in await store.memories.select(EVERY)}
    old, new = every["I live in Ghent."], every["I've moved to Graz."]
    assert (old.state, old.superseded_by) == (MemoryState.SUPERSEDED, new.id)
    assert old.valid_from is not None
    assert old.valid_until == new.valid_from


async def test_what_was_said_earlier_does_not_take_the_place_of_what_is_known(store: Store) -> None:
    early = await say(store, "I live in Ghent.")
    await say(store, "I live in Graz now.")
    late = next(one for one in await store.memories.unlearned() if one.session_id != early.id)
    await learner(store).learn(late.session_id)
    (overtaken,) = await learner(store).learn(early.id)
    assert (overtaken.text, overtaken.state) == ("I live in Ghent.", MemoryState.SUPERSEDED)
    assert texts(await store.memories.select()) == {"I live in Graz now."}


async def test_what_was_said_last_holds_whichever_time_its_words_speak_of(store: Store) -> None:
    early = await say(store, "I live in Ghent.")
    late = await say(store, "I moved to Graz last year.")
    await learner(store).learn(late.id)
    (overtaken,) = await learner(store).learn(early.id)
    assert (overtaken.text, overtaken.state) == ("I live in Ghent.", MemoryState.SUPERSEDED)
    assert overtaken.valid_from == overtaken.valid_until


@pytest.mark.parametrize(
    ("known", "said", "then"),
    [
        ("I'm allergic to walnuts.", "Sorry, it isn't walnuts, it's pecans.", "I'm allergic to pecans."),
        ("I'm allergic to walnuts.", "I meant pecans, not walnuts.", "I'm allergic to pecans."),
        ("I am allergic to walnuts.", "I'm allergic to pecans, not walnuts.", "I am allergic to pecans."),
        (
            "Remember that Priya's wedding is in June.",
            "Actually, Priya's wedding is in July, not June.",
            "Priya's wedding is in July.",
        ),
        (
            "Remember that the boiler cost 3,000 euros.",
            "No, the boiler cost 4,000 euros, not 3,000.",
            "The boiler cost 4,000 euros.",
        ),
        (
            "Remember that my train leaves at 9:10.",
            "Wait, my train leaves at 9:40, not at 9:10.",
            "My train leaves at 9:40.",
        ),
        (
            "My rent is 780 euros and my lease ends in May.",
            "I got that wrong, the rent is 870 euros, not 780.",
            "My rent is 870 euros.",
        ),
        ("Our dog is called Bruno.", "No wait, his name is Bruce, not Bruno.", "Our dog is called Bruce."),
        (
            "Ich habe zwei Kinder.",
            "Stimmt nicht, ich habe drei Kinder, nicht zwei.",
            "Ich habe drei Kinder.",
        ),
        (
            "Remember that our flight is on Monday at nine.",
            "The flight is on Tuesday at nine, not on Monday.",
            "Our flight is on Tuesday at nine.",
        ),
        ("My car is a grey Volvo.", "It's not a Volvo, it's a Saab.", "My car is a grey Saab."),
        (
            "Ich bin gegen Walnüsse allergisch.",
            "Es sind nicht Walnüsse, sondern Pekannüsse.",
            "Ich bin gegen Pekannüsse allergisch.",
        ),
        ("Soy alérgica a las nueces.", "No son nueces, son pacanas.", "Soy alérgica a las pacanas."),
    ],
)
async def test_a_correction_changes_what_it_corrects(store: Store, known: str, said: str, then: str) -> None:
    await say(store, known, said)
    await learner(store).learn()
    (held,) = [one for one in await store.memories.select() if one.text == then]
    assert {one.quote for one in await store.memories.sources(held.id)} == {said}
    (old,) = await store.memories.select(MemoryFilter(states=frozenset({MemoryState.SUPERSEDED})))
    assert old.superseded_by == held.id


@pytest.mark.parametrize(
    ("known", "said"),
    [
        # Of another thing, of one of two, or of what nobody has said.
        (["My brother's party is in June."], "My sister's wedding is in July, not June."),
        (["I love green tea.", "My sister loves green tea."], "It isn't tea, it's coffee."),
        (["I love green tea."], "I prefer the red cup, not the green one."),
        (["I love green tea."], "It isn't cold, it's windy."),
    ],
)
async def test_a_correction_of_nothing_in_particular_changes_nothing(
    store: Store, known: list[str], said: str
) -> None:
    await say(store, *known, said)
    await learner(store).learn()
    assert set(known) <= texts(await store.memories.select())


async def test_it_is_another_thing_in_another_session(store: Store) -> None:
    """Who is allergic to walnuts may talk about the nuts of a cake; but a reply that told it is answered."""
    await say(store, "I'm allergic to walnuts.")
    await say(store, "What is in this cake?", "It isn't walnuts, it's pecans.")
    await learner(store).learn()
    assert texts(await store.memories.select()) == {"I'm allergic to walnuts."}
    session, _ = await store.create_session(NewSession("Food"), user("Can I have the cake?"))
    await store.append_message(session.id, assistant("Better not: you are allergic to walnuts."))
    await store.append_message(session.id, user("It isn't walnuts, it's pecans."))
    await learner(store).learn()
    assert texts(await store.memories.select()) == {"I'm allergic to pecans."}


async def test_what_only_ends_something_is_kept_only_if_it_does(store: Store) -> None:
    await say(store, "I don't live in Ghent.")
    assert await learner(store).learn() == []
    await say(store, "I live in Ghent.")
    await learner(store).learn()
    await say(store, "I don't live in Ghent.")
    await learner(store).learn()
    assert texts(await store.memories.select()) == {"I don't live in Ghent."}


async def test_what_was_rejected_is_not_learned_again(store: Store) -> None:
    await say(store, "I hate olives.")
    (made,) = await learner(store).learn()
    await store.memories.change(made.id, MemoryPatch(state=MemoryState.REJECTED))
    session = await say(store, "I hate olives!")
    assert await learner(store).learn(session.id) == []
    assert await store.memories.select() == []


async def test_what_is_to_be_remembered_is_kept_at_once_and_once(store: Store) -> None:
    session, said = await begin(store, "Please remember that my locker is 14B.")
    (made,) = await learner(store).remember(heard_in(said), None)
    assert (made.state, made.origin, made.importance) == (MemoryState.KEPT, MemoryOrigin.PERSON, 0.9)
    assert await learner(store).learn(session.id) == []


async def test_the_person_s_own_words_supersede_too(store: Store) -> None:
    await say(store, "I live in Ghent.")
    await learner(store).learn()
    ledger = MemoryWriter(store.memories, FakeClock(), Retention)
    made = await ledger.remember("I live in Graz")
    assert (made.kind, made.state) == (MemoryKind.FACT, MemoryState.KEPT)
    assert (await ledger.remember("i live in graz.")).id == made.id
    assert texts(await store.memories.select()) == {"I live in Graz"}


async def test_decisions_stay_in_their_project_and_facts_go_everywhere(store: Store) -> None:
    for project in ("Red", "Blue"):
        first = user(f"We decided on {project} Hat for the servers. I live in Graz.")
        await store.create_session(NewSession(project, project=project), first)
    await learner(store).learn()
    found = {(one.text, one.project) for one in await store.memories.select()}
    assert found == {
        ("We decided on Red Hat for the servers.", "Red"),
        ("We decided on Blue Hat for the servers.", "Blue"),
        ("I live in Graz.", None),
    }


# --- the model ------------------------------------------------------------------------------------

ODD = "My knee has been acting up since the marathon."


def answers(*items: tuple[str, str]) -> ScriptedChatModel:
    told = ",".join(f'{{"kind":"{kind}","quote":"{quote}"}}' for kind, quote in items)
    return ScriptedChatModel([f"[{told}]"])


async def test_a_model_points_at_the_person_s_words(store: Store) -> None:
    await say(store, ODD)
    model = answers(("fact", "My knee has been acting up"))
    (made,) = await learner(store, model).learn()
    assert (made.text, made.origin, made.model) == (ODD, MemoryOrigin.MODEL, "5c")
    assert made.confidence < 0.7
    (source,) = await store.memories.sources(made.id)
    assert source.quote in ODD


@pytest.mark.parametrize(
    "quote",
    ["My knee has been broken", "I see.", "Can you help", "My uncle's house has a leak and a hole"],
)
async def test_what_a_model_makes_up_or_misunderstands_is_dropped(store: Store, quote: str) -> None:
    await say(store, f"{ODD} Can you help?", "He said my uncle's house has a leak and a hole.")
    assert await learner(store, answers(("fact", quote))).learn() == []


async def test_answers_are_remembered_and_a_model_that_invents_is_asked_rarely(store: Store) -> None:
    asked: list[Sequence[ChatMessage]] = []

    def invent(prompt: Sequence[ChatMessage]) -> str:
        asked.append(prompt)
        return '[{"kind":"fact","quote":"I am a king"}]'

    model = ScriptedChatModel(invent)
    reader = ModelReader(model, results=store.jobs)
    session = await say(store, ODD)
    group = [heard_in(one) for one in await store.branch(session.id) if one.role is Role.USER]
    assert [await reader.read(group) for _ in range(3)] == [[], [], []]
    assert len(asked) == 1
    for number in range(12):
        other = await say(store, f"My {number} old knees have been acting up.")
        await reader.read([heard_in(one) for one in await store.branch(other.id) if one.role is Role.USER])
    assert 3 <= len(asked) < 8
    assert "grammar" not in asked[0][0].content


# --- documents of conversations ---------------------------------------------------------------------


async def _marked(store: Store, *said: str) -> tuple[Session, list[Message]]:
    session = await say(store, *said)
    await store.update_session(session.id, SessionPatch(important=True, title="The shed"))
    return session, await store.branch(session.id)


async def test_a_digest_of_a_short_session_passes_over_nothing_that_was_told(store: Store) -> None:
    digester = Digester(store, Summariser(ScriptedChatModel(), WordCounter()))
    told = (
        "I'm allergic to soy, and I love hiking in the fjords.",
        "My sister Maja lives in Oslo and works as a cook.",
        "I decided to buy the blue kayak for 4200 kroner from Zara Holm.",
        "To wax the kayak, first wash it, then let it dry and then rub in the wax.",
    )
    await _marked(store, *told)
    (made,) = await digester.renew()
    assert all(one in made.text for one in told)


async def test_an_important_session_has_a_digest_that_follows_it(store: Store) -> None:
    digester = Digester(store, Summariser(ScriptedChatModel(), WordCounter()))
    await say(store, "We chose oak for the floor.", "It costs 900 euros.")
    session, _ = await _marked(store, "We chose cedar for the new shed.", "It costs 1400 euros in all.")
    (made,) = await digester.renew()
    assert made.kind is MemoryKind.DIGEST
    assert made.text.startswith("The shed\n")
    assert "We chose cedar for the new shed." in made.text
    assert "oak" not in made.text
    assert {one.session_id for one in await store.memories.sources(made.id)} == {session.id}
    assert await digester.renew(session.id) == []
    await store.append_message(session.id, NewMessage(Role.USER, "We decided on slate from Wales."))
    (again,) = await digester.renew(session.id)
    assert (again.id, again.version) == (made.id, 2)
    assert "slate" in again.text
