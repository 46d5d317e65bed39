"""Who speaks of an earlier conversation, and who does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.recall.question import refers_back


@pytest.mark.parametrize(
    "text",
    [
        "As we discussed last week, the house needs paint.",
        "You told me about a book.",
        "Remember when we talked about Rome?",
        "Do you remember my sister's name?",
        "What did we decide about the name?",
        "I told you my address.",
        "Let's pick up where we left off.",
        "In our last chat you gave me a recipe.",
        "Have we talked about Rust?",
        "the plan we agreed on",
        "Did I mention the leak?",
        "Remember that trip, did I like it?",
        "yesterday you mentioned a tool",
    ],
)
def test_refers_back(text: str) -> None:
    assert refers_back(text)


@pytest.mark.parametrize(
    "text",
    [
        "Remember that I like tea.",
        "Please remember my birthday is in May.",
        "Write a poem about dogs.",
        "How do I remember the order of the planets?",
        "The last time I checked it was raining.",
        "Last year I went to Rome.",
        "Can you tell me a joke?",
        "What is the capital of France?",
        "",
    ],
)
def test_does_not(text: str) -> None:
    assert not refers_back(text)


@given(st.text(max_size=300))
def test_any_text_has_an_answer(text: str) -> None:
    assert refers_back(text) in {True, False}
