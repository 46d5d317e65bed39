import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.summaries.evidence import PIN_FROM, Importance, Reason, importance, is_small_talk, relevance
from models.messages import Role


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Remember that the boiler man comes at noon", Reason.ASKED),
        ("please don't forget: the keys are with the neighbour", Reason.ASKED),
        ("Note that the shop is closed in August", Reason.ASKED),
        ("Merk dir bitte, dass der Schlüssel beim Nachbarn liegt", Reason.ASKED),
        ("souviens-toi que la réunion est annulée", Reason.ASKED),
        ("Recuerda que la cena es en casa", Reason.ASKED),
        ("Ricordati che il treno parte presto", Reason.ASKED),
        ("let's go with the blue one", Reason.DECISION),
        ("We have decided to sell the car", Reason.DECISION),
        ("ok, I'll take the window seat", Reason.DECISION),
        ("From now on we eat at seven", Reason.DECISION),
        ("Wir haben uns für das rote entschieden, wir nehmen es", Reason.DECISION),
        ("On a décidé de partir tôt", Reason.DECISION),
        ("hemos decidido vender el coche", Reason.DECISION),
        ("i am allergic to peanuts", Reason.FACT),
        ("my little brother lives abroad", Reason.FACT),
        ("I live near the harbour", Reason.FACT),
        ("i prefer tea over coffee", Reason.FACT),
        ("ich wohne am hafen", Reason.FACT),
        ("je m'appelle hugo", Reason.FACT),
        ("mi hermana se llama ana", Reason.FACT),
        ("the code is 4471", Reason.NUMBER),
        ("it costs €1,250.50", Reason.NUMBER),
        ("we need twelve chairs", Reason.NUMBER),
        ("call 555-0147 after lunch", Reason.NUMBER),
        ("dinner with Dana", Reason.NAME),
        ("have you read “the remains of the day”", Reason.NAME),
    ],
)
def test_what_matters_is_seen_and_why(text: str, reason: Reason) -> None:
    found = importance(text, Role.USER)
    assert reason in found.reasons
    assert found.score > importance("what a grey and rainy day it is over here", Role.USER).score
    assert (found.score >= PIN_FROM) == bool({Reason.ASKED, Reason.DECISION, Reason.FACT} & {*found.reasons})


@pytest.mark.parametrize(
    "text",
    ["hi", "Hello!", "thanks a lot", "ok", "lol", "haha yes", "Good morning, how are you?", "👍", "", "...",
     "Danke schön!", "merci beaucoup", "gracias", "You're welcome! Let me know if you need anything else.",
     "Hello! How can I help you today?", "okay cool, thank you so much!!"],
)  # fmt: skip
@pytest.mark.parametrize("role", [Role.USER, Role.ASSISTANT])
def test_small_talk_counts_least(text: str, role: Role) -> None:
    found = importance(text, role)
    assert found.reasons == (Reason.SMALL_TALK,)
    assert found.small_talk
    assert found.score < importance("it rains", role).score


@pytest.mark.parametrize(
    "text",
    [
        "yes, at nine",
        "ok, Dana comes too",
        "thanks, I moved to Bergen",
        "no meat",
        "good: 4471",
        "hello from Oslo",
    ],
)
def test_small_words_with_something_in_them_are_no_small_talk(text: str) -> None:
    assert not importance(text, Role.USER).small_talk


@pytest.mark.parametrize(
    "text", ["Do you remember what I said?", "I have a question", "I like it", "I don't remember it"]
)
def test_what_only_sounds_important(text: str) -> None:
    assert importance(text, Role.USER).score < PIN_FROM


def test_code_is_not_full_of_names_and_numbers() -> None:
    text = "how do i print this?\n```python\nX = Foo(12)\nBar.Baz = 3\n```"
    assert importance(text, Role.USER).reasons == ()


@given(st.text(), st.sampled_from(list(Role)), st.booleans())
def test_scores_are_shares_and_the_person_counts_more(text: str, role: Role, marked: bool) -> None:
    found = importance(text, role, marked=marked)
    assert 0 <= found.score <= 1
    assert len(set(found.reasons)) == len(found.reasons)
    assert (Reason.MARKED in found.reasons) == marked
    if marked:
        assert found.score == 1.0
    other = importance(text, Role.ASSISTANT, marked=marked)
    assert importance(text, Role.USER, marked=marked).score >= other.score


@given(st.text(max_size=300))
def test_small_talk_has_no_digits(text: str) -> None:
    assert not is_small_talk(text + " 7")


@given(st.floats(0, 1), st.integers(0, 2000), st.floats(0.1, 1))
def test_relevance_falls_with_age_and_never_to_nothing_for_what_was_marked(
    score: float, age: int, decay: float
) -> None:
    plain, marked = Importance(score), Importance(1.0, (Reason.MARKED,))
    assert relevance(plain, age + 1, decay=decay) <= relevance(plain, age, decay=decay) <= score
    assert relevance(marked, age, decay=decay) >= 0.5
    assert relevance(Importance(0.9, (Reason.ASKED,)), age) >= 0.25


def test_relevance_after_one_turn() -> None:
    assert relevance(Importance(0.5), 1) == pytest.approx(0.45)
