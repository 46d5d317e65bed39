"""Densities, and pictures of the screen."""

import re
from collections.abc import Callable
from pathlib import Path

from atlas_desktop import tui
from atlas_desktop.tui.memories.screen import MemoryList
from tests.fakes.clock import FakeClock
from tests.tui.desk import NOW, Stage
from tests.tui.driving import assert_until, chat, say, settle, shown
from tests.tui.test_memory import remembered

Make = Callable[..., Stage]
SIZE = (120, 40)


async def test_compact_shows_more_in_the_same_space(make: Make) -> None:
    place = make(store=await remembered(), clock=FakeClock(NOW))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "Why tides?")
        await settle(pilot)
        messages = chat(place.app).query_one("#messages")
        tall = max(child.region.bottom for child in messages.children)
        await pilot.press("f3")
        await assert_until(pilot, lambda: "Likes short answers" in shown(place))
        rows = place.app.screen.query_one(MemoryList)
        before = rows.virtual_size.height
        await place.app.change_setting("ui.density", "compact")
        await pilot.press("escape", "f3")
        await assert_until(pilot, lambda: "Likes short answers" in shown(place))
        assert place.app.screen.query_one(MemoryList).virtual_size.height == before * 2 // 3
        await pilot.press("escape")
        await assert_until(pilot, lambda: max(child.region.bottom for child in messages.children) < tall)
        await place.app.change_setting("ui.density", "comfortable")
        await assert_until(pilot, lambda: max(child.region.bottom for child in messages.children) == tall)


async def test_a_key_saves_a_picture_that_only_the_user_can_read(make: Make) -> None:
    place = make(store=await remembered(), clock=FakeClock(NOW))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("f3")
        await assert_until(pilot, lambda: "Likes short answers" in shown(place))
        for count in (1, 2):
            await pilot.press("alt+s")
            await assert_until(pilot, lambda count=count: len(saved(place)) == count)  # type: ignore[misc]
        path = saved(place)[0]
        assert path.suffix == ".svg"
        assert path.stat().st_mode & 0o777 == 0o600
        text = re.sub("&#160;", " ", path.read_text())
        assert "Likes short answers" in text
        told = [one.message for one in place.app._notifications]
        assert any("not encrypted" in one and str(path) in one for one in told)


def saved(place: Stage):  # type: ignore[no-untyped-def]
    return sorted(place.app.desk.paths.exports.glob("*.svg"))


def test_every_window_has_the_frame_of_windows() -> None:
    package = Path(tui.__file__).parent
    for path in package.rglob("*.py"):
        text = path.read_text()
        own = re.findall(r"class (\w+)\([^)]*\bModalScreen\[", text)
        assert own == (["Window"] if path.name == "widgets.py" else []), path
        if path.name not in ("widgets.py", "crash_recovery.py"):
            assert "background: $background 70%" not in text, path
