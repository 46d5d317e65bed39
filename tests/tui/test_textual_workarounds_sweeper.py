"""Garbage is searched for in quiet moments."""

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest

from atlas_desktop.tui.textual_workarounds import (
    AFTER,
    BETWEEN_KEYS_S,
    CONSTANT_S,
    GONE_S,
    LATEST_S,
    QUIET_S,
    Sweeper,
)
from tests.tui.desk import Stage
from tests.tui.driving import assert_until

Make = Callable[..., Stage]


class Ring:
    """Holds itself: it goes only when a full search finds it."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture(autouse=True)
def rare_collections() -> Iterator[None]:
    """As the conversation has it."""
    before = gc.get_threshold()
    gc.set_threshold(5_000, 5, 400)
    gc.collect()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


def ring() -> "weakref.ref[Ring]":
    return weakref.ref(Ring())


def many(number: int) -> list[list[int]]:
    """New objects."""
    return [[] for _ in range(number)]


def test_what_is_new_is_searched_when_nobody_touches_anything_and_there_is_enough_of_it() -> None:
    time = [0.0]
    sweeper = Sweeper(now=lambda: time[0])
    gone = ring()
    time[0] = 2 * QUIET_S
    assert not sweeper.sweep(), "nothing has come into being"
    held = many(AFTER + 100)
    sweeper.touched()
    time[0] += QUIET_S / 2
    assert not sweeper.sweep(), "somebody types"
    gone = ring()
    time[0] += QUIET_S
    assert sweeper.sweep()
    assert gone() is None
    assert sweeper.longest > 0
    assert not sweeper.sweep(), "it has just been done"
    assert len(held) > AFTER


def lasting() -> "tuple[weakref.ref[Ring], list[list[int]]]":
    """As many objects as are worth a search, and a ring that has lasted for longer than they."""
    ring = Ring()
    gc.collect()
    return weakref.ref(ring), many(AFTER + 100)


def test_what_has_lasted_is_gone_through_at_rest_and_left_out_from_then_on() -> None:
    time = [0.0]
    sweeper = Sweeper(now=lambda: time[0])
    gone, held = lasting()
    time[0] = 2 * QUIET_S
    assert sweeper.sweep(at_rest=False)
    assert gone() is not None
    assert len(gc.get_objects()) > AFTER, "what is of a window is not left out"
    more = many(AFTER + 100)
    assert sweeper.sweep()
    assert gone() is None
    assert len(gc.get_objects()) < AFTER < len(held + more)
    assert not sweeper.sweep(), "there is nothing that has not been gone through"


def test_what_was_left_out_goes_all_the_same_when_nobody_needs_it() -> None:
    time = [0.0]
    sweeper = Sweeper(now=lambda: time[0])
    held = [type("Plain", (), {})() for _ in range(2)], many(AFTER + 100)
    time[0] = 2 * QUIET_S
    assert sweeper.sweep()
    seen = [weakref.ref(one) for one in held[0]]
    held[0].clear()
    assert [one() for one in seen] == [None, None]


async def test_a_key_puts_the_search_off(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(80, 24)) as pilot:
        await assert_until(pilot, lambda: place.app.chat is not None)
        place.app.shutdown.watch()
        sweeper = place.app.shutdown.sweeper
        assert sweeper is not None
        before = sweeper._touched
        await pilot.press("a")
        assert sweeper._touched > before


def test_who_never_rests_is_interrupted_once_a_minute_between_two_keys() -> None:
    time = [0.0]
    sweeper = Sweeper(now=lambda: time[0])
    kept = Ring()
    seen = weakref.ref(kept)
    held = many(8 * AFTER)
    # It is old by now: no search of what is young finds it.
    gc.collect(1)
    gc.collect(1)
    held += many(8 * AFTER)
    del kept
    for _ in range(int(LATEST_S) * 4 - 4):
        time[0] += 0.25
        sweeper.touched()
        assert not sweeper.sweep()
    assert seen() is not None
    time[0] += 2.0
    sweeper.touched()
    assert not sweeper.sweep(), "a key has just come"
    time[0] += BETWEEN_KEYS_S
    assert sweeper.sweep()
    assert seen() is None
    assert gc.get_freeze_count() == 0, "what is at work now may go soon"
    assert len(held) == 16 * AFTER


def test_a_reply_that_comes_again_and_again_is_no_rest_and_holds_nothing_up() -> None:
    time = [0.0]
    sweeper = Sweeper(now=lambda: time[0])
    kept = Ring()
    seen = weakref.ref(kept)
    held = many(8 * AFTER)
    gc.collect(1)
    del kept
    while time[0] < LATEST_S - 2:
        time[0] += 2.0
        held += many(AFTER + 100)
        assert sweeper.sweep(at_rest=False)
    assert seen() is not None
    time[0] += 2.0
    held += many(AFTER + 100)
    assert sweeper.sweep(at_rest=False)
    assert seen() is None


def test_what_was_left_out_and_is_gone_is_found_when_nobody_has_been_there_for_a_while() -> None:
    time = [0.0]
    sweeper = Sweeper(now=lambda: time[0])
    left_out = Ring()
    seen = weakref.ref(left_out)
    held = many(AFTER + 100)
    time[0] = QUIET_S
    assert sweeper.sweep()
    del left_out
    time[0] = GONE_S - 1
    sweeper.sweep()
    assert seen() is not None
    time[0] = GONE_S
    assert sweeper.sweep()
    assert seen() is None
    time[0] += 2 * GONE_S
    assert not sweeper.sweep(), "once is enough"
    assert held


def test_with_constant_use_what_was_left_out_is_gone_through_now_and_then() -> None:
    time = [0.0]
    sweeper = Sweeper(now=lambda: time[0])
    kept = Ring()
    held = many(AFTER + 100)
    time[0] = 2 * QUIET_S
    assert sweeper.sweep(), "what is there is left out from now on"
    gone = weakref.ref(kept)
    del kept
    while time[0] < CONSTANT_S - GONE_S:
        sweeper.touched()
        time[0] += 2 * QUIET_S
        held += many(AFTER + 100)
        sweeper.sweep()
        assert gone() is not None
    sweeper.touched()
    time[0] = CONSTANT_S + 2 * QUIET_S
    sweeper.touched()
    time[0] += 2 * QUIET_S
    assert sweeper.sweep()
    assert gone() is None
