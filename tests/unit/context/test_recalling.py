"""What of all that a search finds may take the time of a turn."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.context.entities import Limits, NewEpoch, Outcome
from memory.context.recalling import MOST_HITS, ContextRecall, RecalledContext, asks, novel_hits, worthwhile
from memory.entities import Message, NewMessage, NewSession
from memory.recall.entities import Hit, RawScores, RecallQuery, Source
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.fakes.models import WordCounter
from tests.stores import InMemoryStore

WHEN = datetime(2026, 1, 3, tzinfo=UTC)
ASKED = "When is my sister's appointment?"


def hit(text: str, cosine: float | None, words: float = 0.0, *, marked: bool = False) -> Hit:
    source = Source("s", text, None, None, WHEN, "")
    parts = {"importance": float(marked)}
    return Hit(text, "message", text, text, 0.5, parts, source, RawScores(cosine, words))


def standing(text: str, hits: list[Hit]) -> list[Hit]:
    """What of `hits` stands in the prompt of a turn."""
    return worthwhile(text, novel_hits(text, hits))


def test_a_question_has_what_is_close_to_it() -> None:
    close, far = hit("The doctor sees Clara on 9 May.", 0.5), hit("We painted the shed.", 0.05)
    assert standing(ASKED, [close, far]) == [close]
    assert standing(ASKED, [far]) == []
    assert standing(ASKED, []) == []


def test_with_one_close_memory_a_question_has_those_beside_it() -> None:
    beside = hit("It will be in Ghent, I think.", 0.3)
    assert standing(ASKED, [beside]) == []
    close = hit("My sister is expecting a call from the clinic.", 0.6)
    assert standing(ASKED, [beside, close]) == [beside, close]


def test_the_words_of_a_question_speak_for_a_memory_as_well() -> None:
    assert standing(ASKED, [hit("Clara goes there on 9 May.", 0.35)]) == []
    assert len(standing(ASKED, [hit("Clara's appointment is on 9 May.", 0.35, 0.5)])) == 1


def test_what_asks_for_nothing_has_only_what_is_very_close() -> None:
    told = "I am off to see my sister."
    close, very = hit("Clara lives in Ghent.", 0.4), hit("My sister Clara lives in Ghent.", 0.45)
    assert standing(told, [close, very]) == [very]
    assert len(standing(told, [hit(f"My sister Clara, {n}.", 0.7) for n in range(5)])) == 2
    # Without a person in it, it is compared as a question is.
    assert (
        standing("Off to Ghent tomorrow.", [close, hit("Ghent by train takes an hour.", 0.6)])[
            0
        ].grounds.cosine
        == 0.6
    )


def test_what_nearly_repeats_a_request_is_not_brought_back_and_an_answer_of_one_word_is() -> None:
    told = "Turn 40: tell me one short thing about tea and remember the number 2480. I like long walks."
    before = "Turn 25: tell me one short thing about rain and remember the number 1925. I like long walks."
    assert standing(told, [hit(before, 0.95, 0.8)]) == []
    moved, answer = hit("I moved to Graz.", 0.8), hit("My cat is called Wobbegong.", 0.8)
    assert standing("I moved to Linz.", [moved]) == [moved]
    assert standing("What is it that my cat is called?", [answer]) == [answer]


def test_what_was_marked_may_be_less_close() -> None:
    assert standing(ASKED, [hit("Clara goes there on 9 May.", 0.3)]) == []
    assert len(standing(ASKED, [hit("Clara goes there on 9 May.", 0.3, marked=True)])) == 1


def test_a_standing_instruction_may_be_less_close_but_not_far() -> None:
    how = "Could you explain how I calculate a speed?"
    near, far = hit("Always show units when I ask about physics.", 0.3), hit("Always rhyme.", 0.1)
    assert standing(how, [near]) == []
    near, far = (replace(one, parts={"standing": 1.0}) for one in (near, far))
    assert standing(how, [near]) == [near]
    assert standing(how, [far]) == []


def test_without_vectors_words_decide() -> None:
    half, few = hit("Clara's appointment is on 9 May.", None, 0.5), hit("My shed is new.", None, 0.1)
    assert standing(ASKED, [half, few]) == [half]
    assert standing(ASKED, [few]) == []
    assert standing("I wonder about that appointment of hers", [hit("It is on 9 May.", None, 0.3)]) == []


@pytest.mark.parametrize(
    "passage", [ASKED, "my sister's appointment", "Thanks!", "When does the doctor see Clara?", "¿Cuándo?"]
)
def test_an_echo_a_question_and_small_talk_tell_nothing(passage: str) -> None:
    assert novel_hits(ASKED, [hit(passage, 1.0, 1.0)]) == []
    assert standing(ASKED, [hit(passage, 1.0, 1.0)]) == []


@pytest.mark.parametrize(
    "passage", ["It is on 9 May.", "Clara sees the doctor on 9 May. Can you note that?", "Am 9. Mai"]
)
def test_what_tells_something_new_may_stand(passage: str) -> None:
    assert len(novel_hits(ASKED, [hit(passage, 1.0, 1.0)])) == 1


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (ASKED, True),
        ("私の姉は\uff1f", True),
        ("Do it as we discussed last week.", True),
        ("I had lunch.", False),
    ],
)
def test_who_asks(text: str, asked: bool) -> None:
    assert asks(text) is asked


@given(
    st.text(max_size=40),
    st.lists(
        st.builds(
            hit,
            st.text(min_size=1, max_size=40),
            st.none() | st.floats(-1, 1),
            st.floats(0, 1),
        ),
        max_size=12,
    ),
)
def test_what_is_kept_is_in_its_order_and_never_much(text: str, hits: list[Hit]) -> None:
    kept = standing(text, hits)
    assert len(kept) <= MOST_HITS
    places = [next(i for i, one in enumerate(hits) if one is each) for each in kept]
    assert places == sorted(set(places))
    assert novel_hits(text, kept) == kept


class Asked:
    """Finds the same every time, and counts how often it is asked."""

    def __init__(self, *hits: Hit) -> None:
        self.hits = list(hits)
        self.times = 0

    async def recall(self, query: RecallQuery) -> list[Hit]:
        self.times += 1
        return self.hits

    async def answer(self, query: RecallQuery) -> object:
        raise AssertionError("recall was asked for")


async def preface_for(text: str, recall: Asked) -> RecalledContext:
    store = InMemoryStore(FakeClock(WHEN))
    session, message = await store.create_session(NewSession("now"), NewMessage(Role.USER, text))
    recalling = ContextRecall(WordCounter(), FakeClock(WHEN), recall=recall, zone=UTC)  # type: ignore[arg-type]
    epoch = NewEpoch(session.id, "m", "", (), message.id)
    messages: list[Message] = [message]
    return await recalling.preface(session, messages, epoch, Limits(date_and_time=False), 100)


async def test_small_talk_asks_nothing_of_memory() -> None:
    recall = Asked(hit("Clara sees the doctor on 9 May.", 0.9))
    assert await preface_for("Good morning!", recall) == RecalledContext("")
    assert recall.times == 0


@pytest.mark.parametrize(
    ("cosine", "told", "left"), [(0.1, "memory", Outcome.TOO_FAR), (0.6, "message", Outcome.REPEATS)]
)
async def test_a_memory_makes_way_only_for_a_message_that_is_recalled_itself(
    cosine: float, told: str, left: Outcome
) -> None:
    said = hit("I was there yesterday, and she told me of 9 May.", cosine)
    learned = replace(
        hit("My sister's appointment is on 9 May.", 0.7, 0.5), kind="memory", id="m", sources=(said.id,)
    )
    found = await preface_for(ASKED, Asked(learned, said))
    assert [one.kind for one in found.hits] == [told]
    assert {one.outcome for one in found.considered if one.kind != told} == {left}


async def test_only_what_is_worth_it_stands_in_the_prompt() -> None:
    close = hit("Clara sees the doctor on 9 May.", 0.7)
    far = hit("We painted the shed.", 0.1)
    brought = await preface_for(ASKED, Asked(far, close))
    assert brought.hits == (close,)
    assert "9 May" in brought.text
    assert [(one.id, one.outcome) for one in brought.considered] == [
        (far.id, Outcome.TOO_FAR),
        (close.id, Outcome.TOLD),
    ]
    assert "shed" not in brought.text


async def test_what_a_reply_claimed_without_support_does_not_come_back() -> None:
    claimed = hit("Clara sees the doctor on 11 June.", 0.8)
    claimed = replace(claimed, source=replace(claimed.source, supported=False))
    brought = await preface_for(ASKED, Asked(claimed, hit("Clara sees the doctor on 9 May.", 0.7)))
    assert "9 May" in brought.text
    assert "June" not in brought.text


async def test_what_the_user_has_corrected_does_not_come_back() -> None:
    said = hit("My locker code is 7731. The gym opens at six.", 0.8)
    said = replace(said, passage="My locker code is 7731.")
    corrected = replace(said, source=replace(said.source, corrected=("locker code is 7731",)))
    reply = hit("Noted: the locker code 7731.", 0.8)
    reply = replace(reply, source=replace(reply.source, by_model=True, corrected=("locker code is 7731",)))
    memory = replace(hit("The user's locker code is 8842.", 0.7), kind="memory")
    asked = "What is my locker code?"
    brought = await preface_for(asked, Asked(corrected, reply, memory))
    assert brought.hits == (memory,)
    assert "7731" not in brought.text
    # The other words of the same message are still known.
    other = replace(corrected, passage="The gym opens at six.")
    assert (await preface_for("When does the gym open?", Asked(other))).hits == (other,)


async def test_what_the_user_has_edited_does_not_come_back() -> None:
    said = hit("Clara sees the doctor on 9 May.", 0.8)
    said = replace(said, source=replace(said.source, replaced=True))
    learned = replace(said, id="learned", kind="memory", text="Clara's doctor: 9 May.", sources=(said.id,))
    edited = hit("Clara sees the doctor on 11 May.", 0.7)
    brought = await preface_for(ASKED, Asked(said, learned, edited))
    assert brought.hits == (edited,)
    # Learned from another message, too, or worded by the user, it still holds.
    also = replace(learned, sources=(said.id, "another"))
    assert (await preface_for(ASKED, Asked(also))).hits == (also,)
    corrected = replace(learned, sources=())
    assert (await preface_for(ASKED, Asked(corrected))).hits == (corrected,)


async def test_a_message_and_its_copy_in_a_fork_come_back_once() -> None:
    close = hit("Clara sees the doctor on 9 May.", 0.7)
    copy = replace(close, id="copy", source=replace(close.source, session="fork"))
    brought = await preface_for(ASKED, Asked(close, copy))
    assert brought.hits == (close,)
    assert [one.id for one in brought.considered] == [close.id]


async def test_a_reply_that_comes_back_says_who_said_it() -> None:
    said = hit("Clara sees the doctor on 9 May.", 0.7)
    replied = replace(said, source=replace(said.source, by_model=True))
    assert "- 3 Jan 2026: Clara" in (await preface_for(ASKED, Asked(said))).text
    assert "- You replied, 3 Jan 2026: Clara" in (await preface_for(ASKED, Asked(replied))).text
