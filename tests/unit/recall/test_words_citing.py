"""When a memory was of use."""

import pytest

from memory.recall.words import cited, confirms, repeats, told_words


@pytest.mark.parametrize(
    ("reply", "used"),
    [
        ("your boat marigold lies in the harbour of brest", True),
        ("it lies in the harbour of brest", True),
        ("your boat is a fine thing", False),
        ("the harbour is far", False),
        ("", False),
    ],
)
def test_a_memory_is_cited_when_the_reply_says_what_it_adds(reply: str, used: bool) -> None:
    memory = ["the", "boat", "marigold", "lies", "in", "the", "harbour", "of", "brest"]
    assert cited(memory, {"where", "is", "my", "boat"}, set(reply.split())) is used


def test_single_letters_are_no_citation() -> None:
    memory = ["我", "的", "书", "绿", "绿书"]
    assert not cited(memory, set(), {"我", "的", "书"})
    assert cited(memory, set(), {"绿书"})


def test_what_the_question_said_already_is_no_citation() -> None:
    assert not cited(["the", "boat"], {"boat"}, {"boat"})
    assert cited(["the", "boat", "green"], {"boat"}, {"green"})


@pytest.mark.parametrize(
    ("text", "agrees"),
    [
        ("Yes, that one.", True),
        ("That's right", True),
        ("exactly!", True),
        ("Yesterday", False),
        ("No", False),
    ],
)
def test_agreement(text: str, agrees: bool) -> None:
    assert confirms(text) is agrees


@pytest.mark.parametrize(
    ("reply", "before", "now", "repeated"),
    [
        ("Tomas lives in Turku.", "Cousin Tomas moved to Turku", "Cousin Tomas moved to Tampere", True),
        (
            "My cousin Tomas lives in the city of Turku.",
            "My cousin Tomas moved to Turku in May",
            "My cousin Tomas moved to Tampere in June",
            True,
        ),
        ("Tomas lives in Tampere.", "Cousin Tomas moved to Turku", "Cousin Tomas moved to Tampere", False),
        ("From Turku he went to Tampere.", "Tomas moved to Turku", "Tomas moved to Tampere", False),
        ("Turku lies on the Aura.", "Cousin Tomas moved to Turku", "Cousin Tomas moved to Tampere", False),
        ("Berlin is the capital of Germany.", "I live in Berlin", "I moved abroad", False),
        (
            "Erik had a Volvo poster and a blue bike.",
            "Erik drives a blue Volvo from 2009",
            "Erik drives a green Saab from 1999",
            False,
        ),
        (
            "The dentist called on Monday and said you should floss.",
            "The dentist appointment is on Monday at 10",
            "The dentist appointment is on Tuesday at 11",
            False,
        ),
        ("Your code is 7731.", "The locker code is 7731", "The locker code is 8842", True),
        ("Your locker: 7731.", "The locker code is 7731", "The locker code is 8842", True),
        ("Pavel’s flat is in Lund.", "Pavel lives in Lund", "", False),
        ("In Lund, where Pavel lives.", "Pavel lives in Lund", "", True),
        ("Pavel lives in Lund, a town in Sweden.", "Pavel lives in Lund", "", True),
        (
            "Pavel lives in Lund, works at the port, sails boats, has two dogs, bakes bread, plays chess.",
            "Pavel lives in Lund",
            "",
            False,
        ),
        ("Room B has chairs for 8.", "The meeting is at 8", "The meeting is at 9", False),
        ("Anything at all.", "I like tea", "I like tea and coffee", False),
    ],
)
def test_a_reply_repeats_what_a_memory_said_before(
    reply: str, before: str, now: str, *, repeated: bool
) -> None:
    said, old, new = map(told_words, (reply, before, now))
    assert repeats(said, old, new) is repeated
