"""Long texts in pieces: nothing is lost, nothing is too long."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from memory.vectors.entities import PASSAGE_CHARS, _end, passages


def test_a_short_text_is_one_passage() -> None:
    assert passages("  hello\n") == ["hello"]
    assert passages("") == [""]


def test_sentences_stay_whole() -> None:
    text = " ".join(f"Sentence number {n} is here." for n in range(100))
    found = passages(text)
    assert len(found) > 3
    assert all(piece.endswith(".") and piece.startswith("Sentence") for piece in found)


def test_a_text_without_sentences_is_cut_between_words_or_anywhere() -> None:
    words = "word " * 400
    assert all(len(piece) <= PASSAGE_CHARS and piece.split() for piece in passages(words))
    assert [len(piece) for piece in passages("x" * 1200)] == [500, 500, 200]


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=3000), st.integers(20, 200))
def test_all_words_are_kept_in_order(text: str, size: int) -> None:
    found = passages(text, size)
    assert found
    assert all(len(piece) <= size for piece in found)
    assert "".join("".join(found).split()) == "".join(text.split())


@settings(deadline=None)
@given(st.text(" \n.!?。ab\u2003", min_size=8, max_size=40))
def test_sentences_end_where_they_always_did(text: str) -> None:
    """Vectors are kept by the numbers of passages: where these are cut must not change."""
    ends = r".+?(?:[.!?。！？]+(?=\s|$)|\n+|$)\s*"
    units = re.findall(ends, text.strip(), re.DOTALL)
    found, begin = [], 0
    while begin < len(text.strip()):
        end = _end(text.strip(), begin)
        found.append(text.strip()[begin:end])
        begin = end
    assert found == units
