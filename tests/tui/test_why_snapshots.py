"""How the view of why looks."""

import asyncio
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.desk import Stage, stage
from tests.tui.driving import assert_until, shown
from tests.tui.provenance.test_screen import Past, asked_why
from tests.tui.test_snapshots import SIZES, Snap, still, taken

__all__ = ["still"]


@SIZES
@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("of", ["reply", "memory"])
def test_why(snap_compare: Snap, size: tuple[int, int], theme: str, of: str) -> None:
    past = asyncio.run(Past().fill())
    place = stage(
        Path("/home/ada/.local/share/atlas-desktop"), store=past.store, resume=past.asked.id, theme=theme
    )

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await asked_why(pilot, place)
        await pilot.press("tab")
        if of == "memory":
            await pilot.press("enter")
            await assert_until(pilot, lambda: "Why this memory?" in shown(place))
            await pilot.press("tab")

    assert taken(snap_compare, place, size, steps, alone=True)
