"""How the history browser and the insights look."""

import pytest
from textual.pilot import Pilot

from tests.tui.desk import Stage
from tests.tui.driving import assert_until, settle, shown, type_text
from tests.tui.test_snapshots import SIZES, Snap, furnished, still, taken, unwritten

__all__ = ["still", "unwritten"]
THEMES = pytest.mark.parametrize("theme", ["dark", "light"])


@SIZES
@THEMES
def test_history(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f2")
        await assert_until(pilot, lambda: "6 conversations" in shown(place))
        await type_text(pilot, "spring -bicycle")
        await settle(pilot)
        await assert_until(pilot, lambda: "5 conversations" in shown(place) or "hit" in shown(place))
        await pilot.press("down", "space", "down")
        await settle(pilot)

    assert taken(snap_compare, furnished(theme=theme), size, steps)


@SIZES
@THEMES
def test_insights(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f4")
        await assert_until(pilot, lambda: "Conversations a day" in shown(place))
        await settle(pilot)

    assert taken(snap_compare, furnished(theme=theme), size, steps)
