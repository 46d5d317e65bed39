"""How well messages fit, and what the words of a stem look like."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.search.entities import AnyOf, Words
from memory.storage.search.plan import Lens, Sought, plain, rarity, scores, surface, surface_of

_FAMILIES = (
    "pony ponies", "hope hoping hoped", "relate relational relation relating", "sky skies", "die dies died",
    "sensible sensibility sensibly", "connect connection connective", "happy happiness happily",
    "run running runs", "café cafe CAFÉS", "digitise digitiser", "general generally generalise",
    "tie ties tied", "agree agreed agreement", "oscillate oscillator oscillators", "multiply multiplied",
    "w30 w30s",
)  # fmt: skip


@pytest.mark.parametrize("family", _FAMILIES)
def test_whatever_the_index_finds_has_the_surface_of_what_is_looked_for(family: str) -> None:
    lens = Lens()
    words = family.split()
    for wanted in words:
        found = lens.fitting(words, Words(wanted))
        seen = {at for at, word in enumerate(words) if surface_of(Words(wanted), lens).is_in(plain(word))}
        assert found <= seen, wanted


@given(st.lists(st.text(alphabet="aeiysntedlbrzg", min_size=1, max_size=10), min_size=2, max_size=6))
def test_so_has_what_is_no_word(words: list[str]) -> None:
    lens = Lens()
    for wanted in words:
        seen = {at for at, word in enumerate(words) if surface_of(Words(wanted), lens).is_in(word)}
        assert lens.fitting(words, Words(wanted)) <= seen


def test_marks_are_those_of_the_index_s_own_tokenizer() -> None:
    text = "Running, she ran the run of\x00 runs; \ufdd0rúns 東京 runt"
    (marks,) = Lens().marks([text], [Words("run"), Words("東京"), Words("ran th", prefix=True)])
    assert [text[a:b] for a, b in marks] == ["Running", "ran the", "run", "runs", "rúns", "東京"]


def test_any_part_of_a_korean_word_is_marked() -> None:
    text = "학교에서, 학교는"
    (marks,) = Lens().marks([text], [Words("학교"), Words("는")])
    assert [text[a:b] for a, b in marks] == ["학교", "학교는"]


def test_words_that_are_many_in_a_short_text_or_stand_together_count_more() -> None:
    fox, dog = Sought(surface(["fox"], prefix=False)), Sought(surface(["dog"], prefix=False))
    texts = ["fox and dog", "fox dog", "fox fox dog", "fox and dog " + "and more " * 50]
    apart, together, twice, long = scores(texts, [fox, dog], "fox dog")
    assert long < apart < together < twice
    assert rarity(100, 1) > rarity(100, 50) > 0
    assert scores([], [fox], "") == []
    assert Lens().fitting(["fox", "owl"], AnyOf((Words("owl"), Words("emu")))) == {1}
