"""How strong a memory was, is and will be."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.memories.entities import Memory, MemoryKind, MemoryOrigin, MemoryState, MemoryTier
from memory.recall.decay import THRESHOLD, StrengthCurve, fresh_at, strength, weak_from
from tests.tui.desk import NOW

DAY = timedelta(days=1)


def memory(**changes: object) -> Memory:
    plain = Memory(
        "a",
        MemoryKind.FACT,
        MemoryTier.LONG_TERM,
        MemoryState.KEPT,
        MemoryOrigin.PERSON,
        "I",
        "I live in Girona",
        1,
        0.5,
        NOW - 30 * DAY,
        NOW - 30 * DAY,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


@given(
    tier=st.sampled_from(list(MemoryTier)),
    importance=st.floats(0, 1),
    uses=st.integers(0, 500),
    threshold=st.floats(0.001, 0.4),
)
def test_the_end_is_where_the_strength_crosses_the_threshold(
    tier: MemoryTier, importance: float, uses: int, threshold: float
) -> None:
    one = memory(tier=tier, importance=importance, uses=uses, used_at=NOW - DAY)
    end = weak_from(one, threshold)
    assert end is not None
    assert strength(one, end) == pytest.approx(threshold, rel=1e-3)
    assert end >= fresh_at(one)


def test_a_pinned_memory_has_no_end_and_keeps_its_strength() -> None:
    one = memory(pinned=True)
    curve = StrengthCurve(one, NOW)
    assert weak_from(one) is None
    assert curve.ends_at is None
    assert curve.at(NOW + 1000 * DAY) == curve.at(NOW) == curve.if_pinned


def test_the_past_has_only_the_uses_that_had_been_made_by_then() -> None:
    used = (NOW - 20 * DAY, NOW - 5 * DAY)
    one = memory(uses=2, used_at=used[1])
    curve = StrengthCurve(one, NOW, used)
    assert curve.at(one.created_at) == strength(memory(), one.created_at)
    assert curve.at(used[0] - timedelta(minutes=1)) == strength(memory(), used[0] - timedelta(minutes=1))
    # Each use makes it strong again, and stronger than before.
    assert curve.at(used[0]) > curve.at(used[0] - timedelta(minutes=1))
    assert curve.at(used[1]) > curve.at(used[0])
    assert curve.at(NOW) == strength(one, NOW)


def test_what_expires_ends_then_and_not_by_its_weight() -> None:
    until = NOW + 3 * DAY
    assert StrengthCurve(memory(expires_at=until), NOW).ends_at == until
    assert StrengthCurve(memory(), NOW, threshold=THRESHOLD).ends_at == weak_from(memory())
