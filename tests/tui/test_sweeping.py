"""Garbage is searched for in quiet moments, and what was let go of is gone then."""

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest

from atlas_desktop.tui.sweeping import AFTER, QUIET_S, Sweeper
from tests.tui.desk import Stage
from tests.tui.driving import assert_until, chat, settle, shown
from tests.tui.test_transcript import LONG, long_session

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
    gc.set_threshold(*before)


def old_ring() -> "weakref.ref[Ring]":
    ring = Ring()
    gc.collect()
    return weakref.ref(ring)


def test_a_search_comes_when_nobody_touches_anything_and_there_is_something_to_be_found() -> None:
    time = [0.0]
    sweeper = Sweeper(now=lambda: time[0])
    gone = old_ring()
    time[0] = 2 * QUIET_S
    assert not sweeper.sweep(), "nothing has come into being"
    held = [[] for _ in range(AFTER + 5_000)]  # type: ignore[var-annotated]
    sweeper.touched()
    time[0] += QUIET_S / 2
    assert not sweeper.sweep(), "somebody types"
    assert gone() is not None
    time[0] += QUIET_S
    assert sweeper.sweep()
    assert gone() is None
    assert sweeper.longest > 0
    assert not sweeper.sweep(), "it has just been done"
    assert len(held) > AFTER


async def test_messages_that_are_scrolled_away_from_are_gone_at_the_next_quiet_moment(make: Make) -> None:
    store, ids = await long_session()
    place = make(store=store, resume="last")
    async with place.app.run_test(size=(80, 24)) as pilot:
        await assert_until(pilot, lambda: f"message {LONG - 1}" in shown(place))
        await settle(pilot)
        time = [0.0]
        place.app._sweeper = Sweeper(now=lambda: time[0])
        seen = [weakref.ref(block) for block in chat(place.app).transcript.blocks]
        await chat(place.app).transcript.go_to(ids[10])
        await settle(pilot)
        place.app._sweeper.touched()
        held = [[] for _ in range(AFTER + 5_000)]  # type: ignore[var-annotated]
        await place.app.look_around()
        assert len(held) > AFTER
        assert any(one() is not None for one in seen)
        time[0] = 2 * QUIET_S
        await place.app.look_around()
        # Textual remembers the place of the last of them for a while.
        assert sum(one() is not None for one in seen) <= 2 < len(seen)


async def test_a_key_puts_the_search_off(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(80, 24)) as pilot:
        await assert_until(pilot, lambda: place.app.chat is not None)
        place.app.keep_watch()
        sweeper = place.app._sweeper
        assert sweeper is not None
        before = sweeper._touched
        await pilot.press("a")
        assert sweeper._touched > before
