"""Which skill fits a message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.skills.choosing import BY_WORDS, WITH_VECTORS, Candidate, Fit, asks_for_work, chosen, fits

_STEMS = st.frozensets(st.sampled_from("abcdef"))


@pytest.mark.parametrize(
    "text",
    [
        "How do I pack for a weekend of sailing?",
        "help me with the weekly report",
        "Write the release notes",
        "what now?",
        "I can't read this Italian menu, help",
        "The pump in the cellar stopped working",
        "Wie packe ich für ein Wochenende auf dem Boot?",
        "Schreib mir den Wochenbericht",
        "¿Cómo puedo limpiar la máquina?",
        "Ayúdame con el informe",
    ],
)
def test_wanting_something_done_is_a_request(text: str) -> None:
    assert asks_for_work(text)


@pytest.mark.parametrize(
    "text",
    [
        "We went sailing last weekend",
        "Who invented wifi?",
        "Why do we pay taxes?",
        "Das Wetter war schön.",
        "We went out last night",
        "My grandmother is gone.",
        "Thanks for your help",
        "He asked for a raise.",
    ],
)
def test_remarks_and_questions_of_fact_are_no_requests(text: str) -> None:
    assert not asks_for_work(text)


def test_a_rare_word_counts_more_than_one_that_all_skills_have() -> None:
    known = [
        Candidate("1", frozenset({"write", "report"}), None),
        Candidate("2", frozenset({"write", "toast"}), None),
    ]
    best, other = fits({"write", "toast"}, known)
    assert (best.id, best.words) == ("2", 1.0)
    assert other.words < 0.5


def test_a_remark_needs_a_closer_skill_than_a_request() -> None:
    between = (WITH_VECTORS.requests + WITH_VECTORS.others) / 2
    found = [Fit("1", between, 0.0, between)]
    assert chosen(found, request=True) == "1"
    assert chosen(found, request=False) is None
    assert chosen([Fit("1", BY_WORDS.requests - 0.01, 0.0, None)], request=True) is None
    assert chosen([], request=True) is None


@given(_STEMS, st.lists(st.tuples(_STEMS, st.none() | st.floats(-1, 1)), max_size=5))
def test_fits_are_sorted_and_shares_of_words_are_between_0_and_1(
    asked: frozenset[str], known: list[tuple[frozenset[str], float | None]]
) -> None:
    found = fits(asked, [Candidate(str(at), *one) for at, one in enumerate(known)])
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert all(0 <= one.words <= 1 + 1e-9 for one in found)
