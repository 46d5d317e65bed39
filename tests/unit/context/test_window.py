from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memory.context.window import window_start

sizes = st.lists(st.integers(1, 200), max_size=80)
budgets = st.integers(1, 2000)


def test_everything_is_kept_while_it_fits() -> None:
    assert window_start([10, 10, 10], 30) == 0


def test_moves_far_when_the_budget_is_exceeded() -> None:
    # 40 exceeds 35; at most 17 may remain of the old before the newest 10.
    assert window_start([10, 10, 10, 10], 35) == 3


@given(sizes, budgets)
def test_never_exceeds_the_budget_unless_the_last_message_alone_does(sizes: list[int], budget: int) -> None:
    start = window_start(sizes, budget)
    assert sum(sizes[start:]) <= budget or start == len(sizes) - 1


@given(sizes.filter(bool), budgets)
def test_the_last_message_is_always_kept(sizes: list[int], budget: int) -> None:
    assert window_start(sizes, budget) < len(sizes)


@given(sizes, budgets, st.integers(1, 200))
def test_the_start_never_goes_back_when_a_message_is_added(sizes: list[int], budget: int, new: int) -> None:
    assert window_start([*sizes, new], budget) >= window_start(sizes, budget)


@given(st.lists(st.integers(1, 50), min_size=20, max_size=200), st.integers(400, 2000))
def test_the_start_moves_rarely(sizes: list[int], budget: int) -> None:
    starts = [window_start(sizes[:end], budget) for end in range(1, len(sizes) + 1)]
    moves = sum(before != after for before, after in pairwise(starts))
    # Each move frees about half of the budget, which many messages fill again.
    assert moves <= sum(sizes) / (budget * 0.5 - 50) + 1
