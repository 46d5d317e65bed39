"""What counts as faster, and what a search tries."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.tuning.plan import (
    LAYOUTS,
    Outcome,
    Round,
    RunSettings,
    Step,
    TuningPlan,
    changes,
    gain,
    layout_key,
    layouts_for,
    median,
    thread_counts,
    undecided,
)

BASE = RunSettings(threads=4)


def rounds(prefill: float, decode: float, count: int, noise: float = 0.0, seed: int = 1) -> list[Round]:
    dice = random.Random(seed)

    def noisy(value: float) -> float:
        return value * (1 + dice.uniform(-noise, noise))

    return [Round(noisy(prefill), noisy(prefill), noisy(decode)) for _ in range(count)]


def test_reading_near_and_far_counts_by_the_time_it_takes() -> None:
    assert Round(near=300.0, far=100.0, decode=1.0).prefill == pytest.approx(150.0)


@pytest.mark.parametrize(
    ("prefill", "decode", "wins"),
    [
        (200.0, 50.0, True),
        (106.0, 50.0, True),
        (104.0, 50.0, False),
        (90.0, 80.0, False),
        (200.0, 48.6, True),
        (200.0, 45.0, True),
        (110.0, 43.0, False),
        (200.0, 42.0, False),
    ],
)
def test_a_change_wins_by_more_than_a_twentieth_and_slows_writing_only_for_a_faster_turn(
    prefill: float, decode: float, wins: bool
) -> None:
    assert gain(rounds(100.0, 50.0, 3), rounds(prefill, decode, 3)).wins is wins


@given(st.integers(0, 10_000))
def test_noise_alone_does_not_win(seed: int) -> None:
    before = rounds(100.0, 50.0, 5, noise=0.02, seed=seed)
    after = rounds(100.0, 50.0, 5, noise=0.02, seed=seed + 1)
    assert not gain(before, after).wins


def test_one_lucky_round_is_no_gain() -> None:
    before = rounds(100.0, 50.0, 4)
    after = [*rounds(104.0, 50.0, 2), *rounds(300.0, 50.0, 2)]
    assert gain(before, after).prefill > 1.05
    assert not gain(before, after).wins


def test_rounds_taken_in_turns_forgive_what_disturbs_both() -> None:
    before = [Round(100 * slow, 100 * slow, 50 * slow) for slow in (1.0, 0.2, 0.6)]
    after = [Round(180 * slow, 180 * slow, 50 * slow) for slow in (1.0, 0.2, 0.6)]
    assert gain(before, after).prefill == pytest.approx(1.8)
    assert gain(before, after).wins


def test_writing_is_slower_only_if_it_is_so_at_its_best_too() -> None:
    before = [Round(100, 100, decode) for decode in (50, 48, 50)]
    disturbed = [Round(200, 200, decode) for decode in (20, 30, 50)]
    slower = [Round(200, 200, decode) for decode in (40, 41, 42)]
    assert gain(before, disturbed).wins
    assert gain(before, disturbed).decode == 1.0
    assert not gain(before, slower).wins


def test_more_rounds_are_taken_while_they_disagree_but_not_for_ever() -> None:
    before = rounds(100.0, 50.0, 3)
    assert undecided(before[:2], rounds(200.0, 50.0, 2))
    assert not undecided(before, rounds(200.0, 50.0, 3))
    mixed = [*rounds(200.0, 50.0, 2), *rounds(90.0, 50.0, 1)]
    assert undecided(before, mixed)
    assert not undecided(rounds(100.0, 50.0, 9), [*mixed, *rounds(200.0, 50.0, 6)])
    # Slow writing alone may be somebody else's doing.
    assert undecided(before, rounds(200.0, 40.0, 3))
    assert not undecided(rounds(100.0, 50.0, 9), rounds(200.0, 40.0, 9))


def test_the_median_is_taken_of_each_figure() -> None:
    assert median([Round(1, 9, 5), Round(2, 8, 6), Round(3, 7, 7)]) == Round(2, 8, 6)


def test_threads_worth_trying() -> None:
    assert thread_counts(8, 16) == (16, 8, 7, 4, 1)
    assert thread_counts(2, 2) == (2, 1)
    assert thread_counts(1, 1) == (1,)


def test_one_coordinate_changes_at_a_time() -> None:
    plan = TuningPlan(threads=(4, 2, 1))
    assert changes(plan, BASE, "threads") == (RunSettings(threads=2), RunSettings(threads=1))
    assert [one.batch for one in changes(plan, BASE, "batch")] == [64, 128, 512]
    # Values that are stored small need flash attention.
    assert [(one.flash, one.kv_type) for one in changes(plan, BASE, "attention")] == [
        (True, "f16"),
        (True, "q8_0"),
    ]
    assert changes(TuningPlan(attention=False), BASE, "attention") == ()


def names(row: int, steps: list[Step], current: int | None = None) -> list[str]:
    return [layout.name for layout, _ in layouts_for(TuningPlan(), row, lambda: steps, current=current)]


def test_layouts_that_do_not_fit_or_are_there_already_are_left_out() -> None:
    assert names(576, []) == ["q4_0", "q8_0", "iq4_nl"]
    assert names(2048, []) == ["q4_0", "q8_0", "iq4_nl", "q4_k_m"]
    assert names(576, [], current=7) == ["q4_0", "iq4_nl"]


def test_a_layout_as_narrow_as_one_that_lost_much_is_not_tried() -> None:
    lossy = Step(layout_key(LAYOUTS[0]), Outcome.LOSSY, 2.4, 1.1, perplexity=1.19)
    assert names(2048, [lossy]) == ["q4_0", "q8_0"]
    slightly = Step(layout_key(LAYOUTS[0]), Outcome.LOSSY, 2.4, 1.1, perplexity=1.02)
    assert names(2048, [slightly]) == ["q4_0", "q8_0", "iq4_nl", "q4_k_m"]
