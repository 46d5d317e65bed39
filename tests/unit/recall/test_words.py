"""Which words of a question count, and whom it names."""

import pytest

from memory.recall.words import (
    addresses_machine,
    asks_advice,
    content_words,
    instructs,
    named,
    only_asks,
    only_states,
    states_preference,
    sums_up,
    surveys,
    without_names,
)

SPEAKERS = ["user", "assistant", "caroline", "jon smith", ""]


def test_function_words_are_left_out_unless_there_is_nothing_else() -> None:
    assert content_words(["what", "did", "carolin", "research"]) == ["carolin", "research"]
    assert content_words(["what", "did", "you"]) == ["what", "did", "you"]
    assert content_words([]) == []


def test_speakers_are_found_by_whole_or_first_name() -> None:
    assert named("What did Caroline say to Jon?", SPEAKERS) == {2, 3}
    assert named("Jonathan's carolines", SPEAKERS) == frozenset()
    assert named("", SPEAKERS) == frozenset()
    assert named("张伟喜欢什么？", ["张伟", "李", "赵雅琳"]) == {0}


def test_names_leave_the_question_but_never_nothing() -> None:
    assert without_names("What did Caroline's friend say?", ["caroline"]) == "What did friend say?"
    assert without_names("What did Jon say?", ["jon smith"]) == "What did say?"
    assert without_names("Caroline?", ["caroline"]) == "Caroline?"
    assert without_names("untouched  text", []) == "untouched  text"
    assert without_names("a (b) question", ["(b"]) == "a ( ) question"


def test_who_is_asked_for() -> None:
    assert addresses_machine("What did you recommend?")
    assert addresses_machine("the book you suggested")
    assert not addresses_machine("What did I say about you?")


def test_a_message_that_ends_with_a_question_only_asks() -> None:
    assert only_asks('He said "really?"')
    assert only_asks("本当？\n")
    assert not only_asks("Why? Because.")
    assert not only_asks("")


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("Can you recommend a novel?", True),
        ("Where should I eat tonight?", True),
        ("What would be a good present for my aunt?", True),
        ("which kite did you recommend", False),
        ("When did Ann move to Lyon?", False),
        ("Which phone has the best camera?", True),
        ("Put together a playlist for my run.", True),
        ("Would a night shift suit me?", True),
        ("Which phone did they have?", False),
        ("Which tutorials would get me started?", True),
        ("What shoes go with a dark suit?", True),
        ("What kind of pet fits a small flat?", True),
        ("Which of the two job offers is better?", True),
        ("I need a coat. Any recommendations?", True),
        ("What is there to do in Porto for a day?", True),
        ("How do people get around in Lima?", True),
        ("What instrument is Ann learning to play?", False),
        ("What would Ann have done?", False),
        ("Which language is spoken there?", False),
    ],
)
def test_requests_for_advice_are_known(question: str, asks: bool) -> None:
    assert asks_advice(question) is asks


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("I can't stand coriander.", True),
        ("We really prefer small hotels", True),
        ("I am allergic to nuts", True),
        ("My favourite painter is Klee", True),
        ("The train leaves at nine", False),
        ("You like it", False),
    ],
)
def test_statements_of_preference_are_known(text: str, states: bool) -> None:
    assert states_preference(text) is states


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Always show units when I ask about physics.", True),
        ("Thanks! Never use tables, please.", True),
        ("From now on, answer in one sentence.", True),
        ("I want you to always cite a source.", True),
        ("Ab jetzt bitte kurz antworten.", True),
        ("A partir de ahora responde en español.", True),
        ("Désormais, réponds en français.", True),
        ("以后回答请简短一点。", True),
        ("I always take the bus.", False),
        ("Never, I said.", False),
        ("It always rains when we ask for sun.", False),
        ("From now on I will take the bus.", False),
        ("我以后会回答。", False),
    ],
)
def test_standing_instructions_are_known(text: str, says: bool) -> None:
    assert instructs(text) is says


@pytest.mark.parametrize(
    ("question", "summary", "survey"),
    [
        ("Can you summarise what we decided about the boat?", True, True),
        ("Give me an overview of my garden project", True, True),
        ("How many plants did I mention across our sessions?", False, True),
        ("In what order did I bring up the repairs?", False, True),
        ("What have I learned throughout all of our recent conversations?", False, True),
        ("When is the boat ready?", False, False),
        ("What did she say in the summer?", False, False),
    ],
)
def test_questions_about_conversations(question: str, summary: bool, survey: bool) -> None:
    assert (sums_up(question), surveys(question)) == (summary, survey)


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("Forty lengths this morning, and I want to try the lake next.", True),
        ("She waved at me from the stairs today.", True),
        ("He called to ask how to make the lentil soup.", True),
        ("So I told him no.", True),
        # Questions and requests, also without a question mark.
        ("Did I mention that he called?", False),
        ("did he call me back", False),
        ("Tell me about my dog", False),
        ("Please, remind me of her birthday.", False),
        ("I have an essay due. Summarise it for me.", False),
        ("I'd like to learn Spanish.", False),
        ("I need a recipe for my guests.", False),
        ("List the order in which I brought things up in our conversations", False),
        # Words to search for are not talk.
        ("dentist appointment", False),
        ("", False),
    ],
)
def test_a_statement_asks_for_nothing(text: str, states: bool) -> None:
    assert only_states(text) is states
