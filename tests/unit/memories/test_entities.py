"""Whether what is known says something that only forgotten words said."""

import pytest

from memory.memories.entities import depends_on, reading


@pytest.mark.parametrize(
    ("text", "gone", "left", "rests"),
    [
        ("Is a welder in Oslo", "I am a welder", "I work in Oslo", True),
        ("Works in Oslo", "I work in Oslo as a welder", "my work in Oslo", False),
        ("Passport 12345678", "passport 12345678", "passport 12345999", True),
        ("Likes hiking", "I like hiking", "we hiked, and I liked it", False),
        ("It is the one", "this is the one", "nothing", False),
        ("\u4f4f\u5728\u5965\u65af\u9646", "\u6211\u4f4f\u5728\u5965\u65af\u9646", "\u67cf\u6797", True),
        ("Something else", "I am a welder", "", False),
    ],
)
def test_what_rests_on_words(text: str, gone: str, left: str, rests: bool) -> None:
    assert depends_on(text, [gone], [left]) is rests


def test_a_memory_is_read_with_what_it_is_about_unless_it_says_so() -> None:
    assert reading("work", "In Oslo") == "work: In Oslo"
    assert reading("Oslo", "Works in Oslo") == "Works in Oslo"
    assert reading("", "Works") == "Works"
    assert reading("I", "The warranty ends in June") == "The warranty ends in June"
