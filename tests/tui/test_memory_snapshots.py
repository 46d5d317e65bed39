"""How the memory browser looks, tab by tab."""

import asyncio
from pathlib import Path

import pytest
from textual.pilot import Pilot

from atlas_desktop.tui.dialogs.forms import MemoryEditScreen
from tests.fakes.clock import FakeClock
from tests.tui.desk import NOW, Stage, stage
from tests.tui.driving import assert_until, on, shown
from tests.tui.memories.test_screen import remembered
from tests.tui.test_snapshots import SIZES, THEMES, Snap, still, taken, unwritten

__all__ = ["still", "unwritten"]
HOME = Path("/home/ada/.local/share/atlas-desktop")
TABS = ("inbox", "facts", "preferences", "decisions", "how_to", "skills", "fading", "summaries", "profile")


def browser(theme: str) -> Stage:
    return stage(HOME, theme=theme, store=asyncio.run(remembered()), clock=FakeClock(NOW))


@SIZES
@THEMES
def test_memories(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f3")
        await assert_until(pilot, lambda: "Likes short answers" in shown(place))
        await pilot.press("down")

    assert taken(snap_compare, browser(theme), size, steps)


@SIZES
@THEMES
@pytest.mark.parametrize(
    ("tab", "words"),
    [
        ("fading", "The parcel comes"),
        ("summaries", "They planned three days"),
        ("profile", "Tinsel"),
    ],
    ids=["fading", "summaries", "profile"],
)
def test_tab(snap_compare: Snap, size: tuple[int, int], theme: str, tab: str, words: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f3")
        await assert_until(pilot, lambda: "Likes short answers" in shown(place))
        await pilot.press(*["right"] * TABS.index(tab))
        await assert_until(pilot, lambda: words in shown(place))

    assert taken(snap_compare, browser(theme), size, steps)


@SIZES
@THEMES
def test_nothing_is_remembered(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f3")
        await assert_until(pilot, lambda: "What Atlas remembers" in shown(place))

    assert taken(snap_compare, stage(HOME, theme=theme, clock=FakeClock(NOW)), size, steps)


@SIZES
@THEMES
def test_a_memory_is_edited(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f3")
        await assert_until(pilot, lambda: "Likes short answers" in shown(place))
        await pilot.press("down", "e")
        await assert_until(pilot, lambda: on(place.app, MemoryEditScreen))

    assert taken(snap_compare, browser(theme), size, steps, alone=True)
