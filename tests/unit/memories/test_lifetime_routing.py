"""Where memories go and how long they stay there."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.memories.entities import MemoryKind, MemoryOrigin, MemoryState, MemoryTier
from memory.memories.lifetime import (
    PASSING,
    Retention,
    detail_words,
    expires_at,
    in_use,
    life_left,
    route,
    short_term_hours,
    tier_of,
)
from tests.unit.memories.values import NOW, known, memories, shares

RULES = Retention()
PROJECTS = st.sampled_from([None, "Boat"])


@given(st.sampled_from(MemoryKind), shares, PROJECTS, st.sampled_from(MemoryTier))
def test_what_the_person_wishes_goes_first(
    kind: MemoryKind, importance: float, project: str | None, wish: MemoryTier
) -> None:
    assert tier_of(kind, importance, RULES, project=project, wish=wish) is wish


@given(st.sampled_from(MemoryKind), shares, PROJECTS)
def test_only_what_passes_has_an_end(kind: MemoryKind, importance: float, project: str | None) -> None:
    made = route(kind, importance, NOW, RULES, origin=MemoryOrigin.MODEL, project=project)
    assert made.state is MemoryState.INBOX
    if made.tier not in PASSING or (made.tier is MemoryTier.EPISODIC and project is not None):
        assert made.expires_at is None
    else:
        assert made.expires_at is not None
        assert made.expires_at > NOW


@given(shares, shares, st.sampled_from(MemoryKind), PROJECTS)
def test_what_matters_more_never_stays_for_less_time(
    one: float, other: float, kind: MemoryKind, project: str | None
) -> None:
    low, high = sorted((one, other))
    order = (MemoryTier.SHORT_TERM, MemoryTier.EPISODIC, MemoryTier.PROCEDURAL, MemoryTier.LONG_TERM)
    first = tier_of(kind, low, RULES, project=project)
    second = tier_of(kind, high, RULES, project=project)
    assert order.index(first) <= order.index(second)
    assert 24 <= short_term_hours(low, RULES) <= short_term_hours(high, RULES) <= 72


@pytest.mark.parametrize(
    ("kind", "importance", "project", "tier"),
    [
        (MemoryKind.PREFERENCE, 0.1, None, MemoryTier.LONG_TERM),
        (MemoryKind.FACT, 0.5, "Boat", MemoryTier.LONG_TERM),
        (MemoryKind.FACT, 0.2, None, MemoryTier.SHORT_TERM),
        (MemoryKind.DECISION, 0.9, "Boat", MemoryTier.EPISODIC),
        (MemoryKind.DECISION, 0.5, None, MemoryTier.LONG_TERM),
        (MemoryKind.QUESTION, 0.9, None, MemoryTier.SHORT_TERM),
        (MemoryKind.QUESTION, 0.1, "Boat", MemoryTier.EPISODIC),
        (MemoryKind.PROCEDURE, 0.1, "Boat", MemoryTier.PROCEDURAL),
    ],
)
def test_the_usual_ways(kind: MemoryKind, importance: float, project: str | None, tier: MemoryTier) -> None:
    assert tier_of(kind, importance, RULES, project=project) is tier


def test_what_belongs_to_a_project_outlives_it_by_a_month() -> None:
    ended = NOW - timedelta(days=3)
    end = expires_at(MemoryTier.EPISODIC, 0.5, NOW, RULES, project="Boat", project_ended=ended)
    assert end == ended + timedelta(days=30)


@given(memories, st.booleans())
def test_how_something_is_done_waits_for_approval(memory: object, ask_first: bool) -> None:
    learned = replace(known(), tier=MemoryTier.PROCEDURAL)
    assert not in_use(learned, ask_first=ask_first)
    assert in_use(replace(learned, state=MemoryState.KEPT), ask_first=ask_first)


def test_what_was_learned_is_used_at_once_unless_it_is_to_be_asked_first() -> None:
    assert in_use(known())
    assert not in_use(known(), ask_first=True)
    assert not in_use(replace(known(), state=MemoryState.REJECTED))


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_what_comes_up_often_is_kept_in_more_detail(one: int, other: int) -> None:
    few, many = sorted((one, other))
    assert RULES.detail_words <= detail_words(few, RULES) <= detail_words(many, RULES)
    assert detail_words(many, RULES) <= RULES.detail_words_max


@given(memories)
def test_life_is_a_share(memory: object) -> None:
    assert 0 <= life_left(memory, NOW) <= 1  # type: ignore[arg-type]
