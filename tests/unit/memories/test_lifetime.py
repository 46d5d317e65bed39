"""What runs out, what fades, and what is promoted."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from memory.memories.entities import FINDABLE, Memory, MemoryState, MemoryTier
from memory.memories.lifetime import (
    PASSING,
    FadingReason,
    Ground,
    Retention,
    Standing,
    fading,
    ground,
    plan,
    prolonged,
    promoted,
    rescued,
)
from tests.unit.memories.values import NOW, known, memories, shares

RULES = Retention()
HOUR = timedelta(hours=1)


@given(st.lists(memories, max_size=8), shares, st.integers(0, 5))
def test_a_plan_takes_each_memory_at_most_once_and_no_pinned_one(
    given_: Sequence[Memory], weight: float, mentions: int
) -> None:
    made = plan(given_, NOW, RULES, lambda _: weight, lambda _: mentions)
    taken = [expiry.memory for expiry in (*made.archive, *made.prolong, *made.erase)]
    assert len({id(memory) for memory in taken}) == len(taken)
    assert not any(memory.pinned for memory in taken)
    assert all(memory.state in FINDABLE for memory in taken)
    assert made.erase == ()


@given(memories, shares)
def test_only_what_passes_and_has_no_end_fades_by_its_weight(memory: Memory, weight: float) -> None:
    why = fading(memory, NOW, weight, RULES)
    if why in (FadingReason.FADING, FadingReason.FADED, FadingReason.FAINT):
        assert memory.expires_at is None
        assert weight < RULES.forgetting_weight
    if why in (FadingReason.FADING, FadingReason.FADED):
        assert memory.tier in PASSING
        assert memory.project is None
    assert not (memory.pinned and why)


@given(memories, shares, shares)
def test_what_weighs_less_is_never_safer(memory: Memory, one: float, other: float) -> None:
    less, more = sorted((one, other))
    order = [
        None,
        FadingReason.EXPIRES_SOON,
        FadingReason.FAINT,
        FadingReason.FADING,
        FadingReason.FADED,
        FadingReason.EXPIRED,
    ]
    first, second = fading(memory, NOW, less, RULES), fading(memory, NOW, more, RULES)
    assert order.index(first) >= order.index(second)


def test_fading_comes_before_archiving() -> None:
    soon = known(created_at=NOW - 40 * HOUR, expires_at=NOW + 8 * HOUR)
    assert fading(soon, NOW, 1.0, RULES) is FadingReason.EXPIRES_SOON
    assert plan([soon], NOW, RULES, lambda _: 1.0).archive == ()
    over = replace(soon, expires_at=NOW)
    (expiry,) = plan([over], NOW, RULES, lambda _: 1.0).archive
    assert expiry.why is FadingReason.EXPIRED
    faint = known(tier=MemoryTier.EPISODIC)
    assert fading(faint, NOW, 0.009, RULES) is FadingReason.FADING
    assert plan([faint], NOW, RULES, lambda _: 0.009).archive == ()
    assert plan([faint], NOW, RULES, lambda _: 0.004).archive[0].why is FadingReason.FADED


def test_what_comes_up_often_is_given_time() -> None:
    over = known(expires_at=NOW - HOUR, importance=0.5)
    made = plan([over], NOW, RULES, lambda _: 1.0, lambda _: 3)
    assert (made.archive, made.prolong[0].why) == ((), FadingReason.COMES_UP)
    patch = prolonged(over, NOW, RULES)
    assert patch.expires_at == NOW + 48 * HOUR
    assert patch.importance == 0.6
    assert plan([over], NOW, RULES, lambda _: 1.0, lambda _: 2).prolong == ()


def test_the_archive_is_emptied_only_when_that_is_wanted() -> None:
    old = known(state=MemoryState.ARCHIVED, updated_at=NOW - timedelta(days=400))
    assert plan([old], NOW, RULES, lambda _: 0.0).erase == ()
    wanted = replace(RULES, archive_days=365)
    assert plan([old], NOW, wanted, lambda _: 0.0).erase[0].memory == old
    assert plan([replace(old, pinned=True)], NOW, wanted, lambda _: 0.0).erase == ()


def test_a_rescued_memory_is_kept_for_good() -> None:
    patch = rescued(known())
    assert (patch.tier, patch.state, patch.expires_at) == (MemoryTier.LONG_TERM, MemoryState.KEPT, None)
    assert patch.pinned is None
    assert rescued(known(tier=MemoryTier.LONG_TERM)).pinned is True
    assert rescued(known(tier=MemoryTier.PROCEDURAL)).tier is None


def test_what_is_meant_to_stay_only_becomes_faint() -> None:
    for kept in (known(tier=MemoryTier.LONG_TERM), known(tier=MemoryTier.EPISODIC, project="Boat")):
        assert fading(kept, NOW, 0.001, RULES) is FadingReason.FAINT
        assert plan([kept], NOW, RULES, lambda _: 0.001).archive == ()


@given(memories, st.integers(0, 10), shares)
def test_only_what_passes_and_can_be_found_is_promoted(memory: Memory, turns: int, similarity: float) -> None:
    why = ground(Standing(memory, turns, similarity), RULES)
    if why is not None:
        assert memory.tier in PASSING
        assert memory.state in FINDABLE
        patch = promoted(memory, why)
        assert (patch.tier, patch.expires_at) == (MemoryTier.LONG_TERM, None)
        assert patch.state in FINDABLE


def test_the_grounds_of_promotion() -> None:
    plain = known(importance=0.5)
    assert ground(Standing(plain), RULES) is None
    assert ground(Standing(replace(plain, uses=5)), RULES) is None
    assert ground(Standing(replace(plain, uses=6)), RULES) is Ground.USED
    assert ground(Standing(replace(plain, importance=0.8)), RULES) is Ground.IMPORTANT
    assert ground(Standing(plain, 3, 0.7), RULES) is Ground.LASTING_THEME
    assert ground(Standing(plain, 2, 0.9), RULES) is None
    assert ground(Standing(plain, 9, 0.69), RULES) is None
    assert promoted(plain, Ground.USED).state is MemoryState.KEPT
    assert promoted(plain, Ground.LASTING_THEME).state is MemoryState.INBOX
