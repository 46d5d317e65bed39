"""Questions of several sentences: how they are split, and how a message fits the best of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.recall.feature_builder import Part, of_best_part
from memory.recall.question import BESIDE, MOST_SENTENCES, parts_of, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where do I live?", ["Where do I live?"]),
        ("I moved. Where do I live? And since when?", ["I moved.", "Where do I live?", "And since when?"]),
        ("上司是谁？另外，地点是什么？", ["上司是谁？", "另外，地点是什么？"]),
        ('内容是"共创。感受魅力。"的活动，时间是什么？另外呢？', None),
        ("It cost 3.50 at example.com, right?", ["It cost 3.50 at example.com, right?"]),
        ("…!?", ["…!?"]),
        ("", [""]),
    ],
)
def test_sentences(text: str, expected: list[str] | None) -> None:
    quoted = ['内容是"共创。感受魅力。"的活动，时间是什么？', "另外呢？"]
    assert sentences(text) == (quoted if expected is None else expected)


@given(st.text(alphabet='ab .?!。？“”"\n1', max_size=60))
def test_no_word_is_lost(text: str) -> None:
    found = sentences(text)
    assert 1 <= len(found) <= MOST_SENTENCES
    assert "".join("".join(found).split()) == "".join(text.split()) or len(found) > 1
    letters = [char for char in text if char.isalnum()]
    assert [char for one in found for char in one if char.isalnum()] == letters


def test_long_texts_are_searched_for_as_a_whole() -> None:
    text = "One more. " * 100
    assert sentences(text) == [text]


def test_what_asks_nothing_counts_less_beside_what_asks() -> None:
    asked = ["I moved.", "Where do I live?", "Well?"]
    stems = [["i", "move"], ["where", "live"], ["well"]]
    assert parts_of(asked, stems, ["move", "live"]) == (
        Part(frozenset({"move"}), BESIDE),
        Part(frozenset({"live"}), 1.0),
    )
    assert parts_of(asked[:1] * 2, stems[:2], ["move", "live"])[0].weight == 1.0
    assert parts_of(asked, stems, ["live"]) == ()


NUMBERS = st.lists(st.lists(st.floats(0, 100), min_size=3, max_size=3), min_size=2, max_size=4)


@given(words=NUMBERS, data=st.data())
def test_the_best_message_of_each_part_has_its_weight(words: list[list[float]], data: st.DataObject) -> None:
    windows = [data.draw(st.lists(st.floats(0, 100), min_size=3, max_size=3)) for _ in words]
    weights = [data.draw(st.sampled_from([0.5, 1.0])) for _ in words]
    parts = [Part(frozenset(), weight) for weight in weights]
    own, around = of_best_part(np.array(words), np.array(windows), parts)
    fit = 0.2 * own + 0.8 * around
    assert fit.max() <= max(weights) + 1e-9
    flat = [len(set(one)) == len(set(other)) == 1 for one, other in zip(words, windows, strict=True)]
    spread = [weight for weight, same in zip(weights, flat, strict=True) if not same]
    assert not spread or fit.max() >= max(spread) - 1e-6


@given(words=NUMBERS)
def test_a_single_part_is_returned_as_it_is(words: list[list[float]]) -> None:
    own, around = of_best_part(np.array(words[:1]), np.array(words[1:2]), [Part(frozenset(), 1.0)])
    assert own.tolist() == words[0]
    assert around.tolist() == words[1]
