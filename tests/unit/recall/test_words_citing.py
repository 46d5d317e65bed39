"""When a memory was of use."""

import pytest

from memory.recall.words import cited, confirms


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
