"""How the memory browser looks."""

import asyncio
from pathlib import Path

from textual.pilot import Pilot

from memory.testing import FakeClock
from tests.tui.desk import NOW, Stage, stage
from tests.tui.driving import assert_until, shown
from tests.tui.test_memory import remembered
from tests.tui.test_snapshots import SIZES, Snap, still, taken

__all__ = ["still"]


@SIZES
def test_memories(snap_compare: Snap, size: tuple[int, int]) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f3")
        await assert_until(pilot, lambda: "Likes short answers" in shown(place))
        await pilot.press("down")

    place = stage(
        Path("/home/ada/.local/share/atlas-desktop"), store=asyncio.run(remembered()), clock=FakeClock(NOW)
    )
    assert taken(snap_compare, place, size, steps)
