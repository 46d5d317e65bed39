"""A long text in parts: everything in it, in order, no word cut, each part within its size."""

from collections.abc import Sequence

from hypothesis import example, given
from hypothesis import strategies as st

from memory.context.engine import in_parts
from tests.fakes.models import WordCounter

words = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=12)
borders = st.sampled_from([" ", "\n", "\n\n", ". ", "  \n \n", "! "])
texts = st.lists(st.tuples(words, borders), max_size=200).map(lambda pairs: "".join(w + b for w, b in pairs))


@given(texts, st.integers(4, 60))
@example("0 0 0 0  \n \n0 0 0 ", 4)
async def test_no_word_is_lost_or_cut_and_every_part_fits(text: str, most: int) -> None:
    parts = await in_parts(text, WordCounter(), most)
    assert " ".join(parts).split() == text.split()
    for part in parts:
        assert 0 < len(part.split()) <= most


async def test_it_is_cut_at_the_coarsest_border_that_does() -> None:
    paragraphs = "one two three\n\nfour five six\n\nseven eight nine"
    assert await in_parts(paragraphs, WordCounter(), 100) == [paragraphs]
    assert await in_parts(paragraphs, WordCounter(), 8) == [
        "one two three\n\nfour five six",
        "seven eight nine",
    ]
    sentences = "One two three four. Five six seven eight. Nine ten."
    assert await in_parts(sentences, WordCounter(), 6) == [
        "One two three four.",
        "Five six seven eight.",
        "Nine ten.",
    ]
    assert await in_parts("a b c d e f", WordCounter(), 4) == ["a b", "c d", "e f"]


class Letters:
    """Counts one token a character."""

    async def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]


@given(st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=200), st.integers(4, 60))
async def test_a_word_is_cut_only_when_it_is_larger_than_a_part(word: str, most: int) -> None:
    parts = await in_parts(word, Letters(), most)
    assert "".join(parts) == word
    assert all(len(part) <= most for part in parts)
    assert (len(parts) == 1) == (len(word) <= most)
    assert await in_parts("a verylongword here", Letters(), 8) == ["a", "verylo", "ngword", "here"]


async def test_an_empty_text_has_no_parts() -> None:
    assert await in_parts(" \n ", WordCounter(), 8) == []
