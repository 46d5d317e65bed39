"""The score: what each kind of evidence does, and what no evidence can do."""

import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from memory.recall.decay import BOUNDED, NONE, PUBLISHED
from memory.recall.scoring import SESSION_WORDS, TRUSTED, Evidence, Weights, score

N = 4
WEIGHTS = Weights()


def nothing(n: int = N) -> Evidence:
    return Evidence(
        words=np.zeros(n),
        near_words=np.zeros(n),
        session_words=np.zeros(n),
        session_length=np.full(n, 100.0),
        held=np.ones(n),
        meaning=None,
        whole_meaning=None,
        near_meaning=None,
        session_meaning=None,
        speaker=np.zeros(n, bool),
        time=None,
        dated=np.zeros(n, bool),
        machine=np.zeros(n, bool),
        asks=np.zeros(n, bool),
        recency=np.zeros(n),
        stated=np.zeros(n, bool),
        standing=np.zeros(n, bool),
        importance=np.ones(n),
    )


def only(at: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    values = np.zeros(N)
    values[at] = 1.0
    return values


@pytest.mark.parametrize(
    ("field", "part"),
    [
        ("near_words", "lexical"),
        ("words", "lexical"),
        ("whole_meaning", "semantic"),
        ("near_meaning", "neighbour"),
        ("session_words", "session"),
        ("session_meaning", "session"),
        ("time", "time"),
        ("recency", "recency"),
    ],
)
def test_each_kind_of_evidence_lifts_what_has_it(field: str, part: str) -> None:
    changes: dict[str, Any] = {field: only(2)}
    scores = score(replace(nothing(), **changes), WEIGHTS)
    assert int(scores.total.argmax()) == 2
    assert scores.parts[part][2] > 0
    assert [name for name, values in scores.parts.items() if values.any()] == [part]


@pytest.mark.parametrize("field", ["speaker", "dated", "importance"])
def test_each_mark_lifts_what_has_it(field: str) -> None:
    changes: dict[str, Any] = {field: 0.5 + only(1)}
    scores = score(replace(nothing(), **changes), WEIGHTS)
    assert int(scores.total.argmax()) == 1


@pytest.mark.parametrize(("field", "part"), [("machine", "machine"), ("asks", "question")])
def test_words_of_a_model_and_mere_questions_stand_back(field: str, part: str) -> None:
    scores = score(replace(nothing(), **{field: only(1).astype(bool)}), WEIGHTS)
    assert int(scores.total.argmin()) == 1
    assert scores.parts[part][1] == 1.0


def test_three_standing_instructions_count_and_not_their_topics() -> None:
    n = 6
    evidence = replace(
        nothing(n),
        whole_meaning=np.array([0.9, 0.1, 0.5, 0.2, 0.4, 0.3]),
        standing=np.array([False, True, True, True, True, False]),
        topic=np.ones(n),
    )
    parts = score(evidence, WEIGHTS).parts
    assert parts["standing"].tolist() == [0, 0, 1, 1, 1, 0]
    assert parts["topic"].tolist() == [1, 1, 0, 0, 0, 1]
    by_words = score(replace(evidence, whole_meaning=None, words=np.arange(n, dtype=float)), WEIGHTS)
    assert by_words.parts["standing"].tolist() == [0, 0, 1, 1, 1, 0]
    assert by_words.total.max() <= 1


def test_a_long_session_says_less_about_each_of_its_messages() -> None:
    lengths = np.array([0.0, 0.0, SESSION_WORDS, 100 * SESSION_WORDS])
    evidence = replace(nothing(), session_words=np.array([0.0, 1.0, 1.0, 1.0]), session_length=lengths)
    session = score(evidence, WEIGHTS).parts["session"]
    assert session[1] == pytest.approx(2 * session[2])
    assert session[3] < session[2] / 10


def test_a_missing_vector_counts_as_the_average() -> None:
    meaning = np.array([0.0, 1.0, 0.5, np.nan])
    semantic = score(replace(nothing(), whole_meaning=meaning), WEIGHTS).parts["semantic"]
    assert semantic[3] == pytest.approx(0.5)
    none = score(replace(nothing(), whole_meaning=np.full(N, np.nan)), WEIGHTS)
    assert not none.parts["semantic"].any()


@given(values=arrays(float, (5, 6), elements=st.floats(0, 50)), marks=arrays(bool, (3, 6)))
def test_totals_and_parts_stay_between_0_and_1(values: object, marks: object) -> None:
    numbers, flags = np.asarray(values), np.asarray(marks)
    evidence = replace(
        nothing(6),
        words=numbers[0],
        near_words=numbers[1],
        session_words=numbers[2],
        whole_meaning=numbers[3] / 50,
        near_meaning=numbers[4] / 50,
        machine=flags[0],
        asks=flags[1],
        importance=5.0 * flags[2],
    )
    scores = score(evidence, WEIGHTS)
    for array in (scores.total, *scores.parts.values()):
        assert ((array >= -1e-12) & (array <= 1 + 1e-12)).all()


@given(ages=arrays(float, N, elements=st.floats(0, 1)), important=arrays(bool, N))
def test_age_and_marks_never_hide_clearly_better_evidence(ages: object, important: object) -> None:
    """The best answer, in words or in meaning, stays first however old and unmarked it is."""
    others = np.array([0, 1, 1, 1])
    recency, marked = np.asarray(ages) * others, 1.0 + 0.5 * np.asarray(important) * others
    for field in ("near_words", "whole_meaning"):
        evidence = replace(nothing(), **{field: np.array([1.0, 0.6, 0.5, 0.0])})
        scores = score(replace(evidence, recency=recency, importance=marked), WEIGHTS)
        assert int(scores.total.argmax()) == 0


def test_the_published_decay_hides_what_is_old_and_none_does_nothing() -> None:
    evidence = replace(
        nothing(), whole_meaning=np.array([1.0, 0.9, 0.0, 0.0]), recency=np.array([0.01, 1.0, 1.0, 0.0])
    )
    bounded, published, none = (
        score(evidence, replace(WEIGHTS, decay=decay)).total for decay in (BOUNDED, PUBLISHED, NONE)
    )
    assert [int(totals.argmax()) for totals in (bounded, published, none)] == [0, 1, 0]
    young = score(replace(evidence, recency=np.ones(N)), replace(WEIGHTS, decay=NONE)).total
    assert none == pytest.approx(young)


def test_words_are_trusted_as_far_as_the_question_is_held() -> None:
    """A word shared by chance does not beat meaning where nothing holds the question."""
    evidence = replace(
        nothing(), near_words=only(0), words=only(0), session_words=only(0), whole_meaning=only(1)
    )
    chance = score(replace(evidence, held=0.05 * only(0)), WEIGHTS)
    assert int(chance.total.argmax()) == 1
    assert int(score(replace(evidence, held=only(0)), WEIGHTS).total.argmax()) == 0
    assert chance.parts["lexical"][0] == pytest.approx((0.05 / TRUSTED) ** 2)


def test_the_default_decay_costs_no_more_than_half_a_hundredth_of_recall() -> None:
    """The share of the evidence among the first ten, where answers are as often old as new."""
    n, shares = 300, []
    for decay in (NONE, BOUNDED):
        numbers = np.random.default_rng(5)
        found = []
        for _ in range(150):
            relevant = np.zeros(n, bool)
            relevant[numbers.choice(n, 3, replace=False)] = True
            meaning = numbers.normal(0.3, 0.12, n) + 0.25 * relevant
            recency = np.exp(-0.01 * numbers.uniform(0, 5000, n))
            evidence = replace(nothing(n), whole_meaning=meaning, near_words=0.3 * meaning, recency=recency)
            best = np.argsort(-score(evidence, replace(WEIGHTS, decay=decay)).total)[:10]
            found.append(relevant[best].sum() / 3)
        shares.append(float(np.mean(found)))
    assert 0.3 < shares[0] < 1.0
    assert shares[1] >= shares[0] - 0.005


def test_no_messages_have_no_scores() -> None:
    assert len(score(nothing(0), WEIGHTS).total) == 0


def test_the_weights_are_those_that_are_documented() -> None:
    text = (Path(__file__).parents[3] / "docs" / "recall.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\w+) \| ([−≤ 0-9.]+) \|", text, re.MULTILINE))
    told = {name: float(value.strip("−≤ ")) for name, value in rows.items()}
    assert told == {
        field.name: getattr(WEIGHTS, field.name) for field in fields(WEIGHTS) if field.name != "decay"
    }


def test_a_statement_depends_less_on_words_neighbours_and_sessions() -> None:
    weights = WEIGHTS.of_statement()
    assert weights.semantic == WEIGHTS.semantic
    for field in ("lexical", "neighbour", "session"):
        assert 0 < getattr(weights, field) < getattr(WEIGHTS, field)
