import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.summaries.evidence import Flaw, Rule, flaws, longest, tidied
from memory.summaries.model_summaries import prompts

SOURCE = (
    "Ada: My sister Dana comes to Bergen on 3 Nov, and we have 1,200 euros for the trip.\n"
    "Assistant: The ferry to Bergen is cheaper than the train, and it is open in the winter."
)
RULE = Rule(SOURCE, ("Ada", "Assistant"), 40, prompts().around("summary"))
GOOD = "Ada’s sister Dana comes to Bergen on November 3. They have 1200 euros, and the ferry is cheaper."


def found(text: str, tokens: int = 20) -> set[Flaw]:
    return {one.flaw for one in flaws(text, tokens, RULE)}


def test_a_faithful_summary_passes() -> None:
    assert found(GOOD) == set()


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("", Flaw.EMPTY),
        (" … \n", Flaw.EMPTY),
        ("They have 1,300 euros for the trip.", Flaw.UNKNOWN_NUMBER),
        ("Dana comes with two dogs.", Flaw.UNKNOWN_NUMBER),
        ("Ada’s brother Peter comes to Bergen.", Flaw.UNKNOWN_NAME),
        ("Peter comes. Peter is Ada’s brother.", Flaw.UNKNOWN_NAME),
        ("I'm sorry, but I cannot summarise this conversation.", Flaw.REFUSAL),
        ("As an AI language model I have no trip.", Flaw.REFUSAL),
        ("Es tut mir leid, das geht nicht.", Flaw.REFUSAL),
        ("Sure! What a nice trip.", Flaw.CHATTER),
        ("The trip is to Bergen. Let me know if you need more.", Flaw.REFUSAL),
        ("Write a short summary of the conversation below.", Flaw.ECHO),
        ("Ada: I take the train.\nAssistant: The train is good.", Flaw.DIALOGUE),
        ("The ferry is cheaper. The ferry is cheaper.", Flaw.LOOP),
        ("to Bergen and to Bergen and to Bergen and to Bergen and to Bergen and on", Flaw.LOOP),
        ("Die Schwester kommt mit und die beiden haben das Geld für die Reise nach Bergen.", Flaw.LANGUAGE),
        ("Сестра приезжает в город.", Flaw.LANGUAGE),
    ],
)
def test_what_is_refused(text: str, flaw: Flaw) -> None:
    assert flaw in found(text)


def test_a_summary_may_not_be_longer_than_it_may() -> None:
    assert found(GOOD, 40) == set()
    assert found(GOOD, 41) == {Flaw.TOO_LONG}


def test_the_details_name_what_is_not_in_the_source() -> None:
    refused = flaws("Peter Berg pays 99 euros to Dana.", 10, RULE)
    details = {one.flaw: one.details for one in refused}
    assert details == {Flaw.UNKNOWN_NUMBER: ("99",), Flaw.UNKNOWN_NAME: ("Peter", "Berg")}


@given(st.integers(0, 100_000))
def test_the_longest_summary_is_a_third_of_what_is_not_tiny(tokens: int) -> None:
    most = longest(tokens)
    assert most <= tokens
    assert most <= 0.35 * tokens or most <= 40
    assert most >= min(tokens, 40)


@pytest.mark.parametrize(
    ("answer", "cut_off", "text"),
    [
        ("Here is a short summary of the conversation:\nDana comes.", False, "Dana comes."),
        ("**Summary:** Dana comes.", False, "Dana comes."),
        ('"Dana comes."', False, "Dana comes."),
        ("Dana comes on Friday: she takes the ferry.", False, "Dana comes on Friday: she takes the ferry."),
        ("Dana comes. She takes the", True, "Dana comes."),
        ("Dana takes the", True, ""),
        ("Dana comes.\n\n\nShe stays.", False, "Dana comes.\nShe stays."),
    ],
)
def test_answers_are_tidied(answer: str, cut_off: bool, text: str) -> None:
    assert tidied(answer, cut_off=cut_off) == text


@given(st.text(), st.text())
def test_any_text_can_be_checked(text: str, source: str) -> None:
    refused = flaws(text, 10, Rule(source, (), 10))
    assert len({one.flaw for one in refused}) == len(refused)


def test_every_flaw_has_words_for_the_model() -> None:
    assert set(prompts().flaws) == {flaw.value for flaw in Flaw}
    refused = flaws("Peter pays 99 euros.", 10, RULE)
    assert "99" in prompts().second(refused, 40)
    assert "{" not in prompts().second(refused, 40)


def test_braces_in_the_source_stay() -> None:
    assert "{words} {input}" in prompts().first("summary", "say {words} {input}", 40)
