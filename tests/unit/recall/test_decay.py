"""Time and use: the published values, and what bounds the default."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.memories.entities import Memory, MemoryKind, MemoryOrigin, MemoryState, MemoryTier
from memory.recall import decay as rules
from memory.recall.decay import BOUNDED, MOST, NONE, PUBLISHED, RATES, Decay

NOW = datetime(2026, 3, 1, tzinfo=UTC)
HOURS = st.floats(0, 1e6)
BASES = st.floats(0, 20)
USES = st.integers(0, 10**9)
PRESETS = st.sampled_from([PUBLISHED, BOUNDED, NONE])


def known(*, days: float = 0.0, tier: MemoryTier = MemoryTier.LONG_TERM) -> Memory:
    then = NOW - timedelta(days=days)
    return Memory(
        "m", MemoryKind.FACT, tier, MemoryState.KEPT, MemoryOrigin.PERSON, "", "a", 1.0, 0.5, then, then
    )


@pytest.mark.parametrize(
    ("tier", "hours", "value"),
    [
        (MemoryTier.WORKING, 1, 0.6065306597126334),
        (MemoryTier.SHORT_TERM, 24, 0.09071795328941251),
        (MemoryTier.EPISODIC, 168, 0.18637397603940997),
        (MemoryTier.LONG_TERM, 720, 0.4867522559599717),
        (MemoryTier.PROCEDURAL, 720, 0.4867522559599717),
        (MemoryTier.LONG_TERM, 0, 1.0),
    ],
)
def test_the_published_retention(tier: MemoryTier, hours: float, value: float) -> None:
    assert rules.retention(hours, RATES[tier]) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    ("base", "uses", "value"),
    [
        (1.0, 0, 1.0),
        (1.0, 1, 1.0693147180559945),
        (1.5, 9, 1.845387763949107),
        (4.0, 99, 5.0),
        (5.0, 0, 5.0),
        (0.0, 50, 0.0),
    ],
)
def test_the_published_importance(base: float, uses: int, value: float) -> None:
    assert rules.importance(base, uses) == pytest.approx(value, abs=1e-9)


def test_a_floor_is_what_age_leaves() -> None:
    assert rules.retention(1e9, 0.5, floor=0.8) == pytest.approx(0.8, abs=1e-9)
    assert rules.retention(100, 0.01, floor=0.5) == pytest.approx(0.5 + 0.5 / math.e, abs=1e-9)


@given(HOURS, HOURS, st.sampled_from(sorted(RATES.values())), st.floats(0, 1))
def test_age_never_adds(one: float, other: float, rate: float, floor: float) -> None:
    younger, older = sorted((one, other))
    assert rules.retention(younger, rate, floor) >= rules.retention(older, rate, floor) >= floor


@given(BASES, USES, USES)
def test_use_never_takes_away_and_stays_below_the_cap(base: float, one: int, other: int) -> None:
    fewer, more = sorted((one, other))
    assert rules.importance(base, fewer) <= rules.importance(base, more) <= MOST


@given(HOURS, BASES, USES, PRESETS)
def test_no_weight_is_above_the_highest(hours: float, base: float, uses: int, decay: Decay) -> None:
    kept = rules.retention(hours, 0.01, decay.floor)
    found = rules.weight(kept, rules.importance(base, uses), decay)
    assert 0 <= found <= decay.highest + 1e-12


@given(st.lists(HOURS, min_size=1, max_size=8), st.floats(0, 1))
def test_arrays_have_the_same_values(hours: list[float], floor: float) -> None:
    values = rules.retentions(np.array(hours), np.full(len(hours), 0.01), floor)
    assert values == pytest.approx([rules.retention(one, 0.01, floor) for one in hours], abs=1e-12)


def test_the_published_preset_is_retention_times_importance() -> None:
    memory = replace(known(days=30), uses=9, importance=1.0)
    assert rules.memory_weight(memory, NOW, PUBLISHED) == pytest.approx(
        0.4867522559599717 * 1.845387763949107, abs=1e-9
    )


def test_the_bounded_preset_lets_age_decide_between_equals_only() -> None:
    new, old = known(), known(days=3650)
    assert rules.memory_weight(new, NOW, BOUNDED) > rules.memory_weight(old, NOW, BOUNDED)
    assert rules.memory_weight(old, NOW, BOUNDED) >= BOUNDED.floor - 1e-12
    assert rules.memory_weight(old, NOW, NONE) == rules.memory_weight(new, NOW, NONE)


def test_what_is_pinned_does_not_age_and_what_serves_is_young_again() -> None:
    old = known(days=400)
    assert rules.strength(replace(old, pinned=True), NOW) == pytest.approx(1.0, abs=1e-9)
    used = replace(old, used_at=NOW - timedelta(hours=1), uses=1)
    assert rules.age_hours(used, NOW) == 1
    assert rules.strength(used, NOW) > 1 > rules.strength(old, NOW)
    assert rules.age_hours(replace(old, created_at=NOW + timedelta(hours=1)), NOW) == 0


def test_fading_is_told_by_the_published_weight() -> None:
    assert not rules.is_fading(known(days=10, tier=MemoryTier.EPISODIC), NOW)
    assert rules.is_fading(known(days=25, tier=MemoryTier.EPISODIC), NOW)
    assert not rules.is_fading(known(days=25), NOW)


def test_half_lives_in_days() -> None:
    assert rules.half_life_days(MemoryTier.LONG_TERM) == pytest.approx(28.881132523331052, abs=1e-9)
    assert rules.half_life_days(MemoryTier.WORKING) == pytest.approx(0.05776226504666211, abs=1e-9)
