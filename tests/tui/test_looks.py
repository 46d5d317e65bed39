"""Densities, and pictures of the screen."""

import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from textual.app import App, ComposeResult
from textual.content import Content
from textual.widgets import Static

from atlas_desktop import tui
from atlas_desktop.exporting import pdf
from atlas_desktop.tui.exports import png_of
from atlas_desktop.tui.memories.screen import MemoryList
from tests.fakes.clock import FakeClock
from tests.tui.desk import NOW, Stage
from tests.tui.driving import assert_until, chat, say, settle, shown
from tests.tui.memories.test_screen import remembered

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


async def test_a_key_saves_a_picture_that_only_the_user_can_read(make: Make, some_font: None) -> None:
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
        # Whoever looks at it fetches nothing.
        assert set(re.findall(r"https?://[^\s\"'<]+", text)) == {
            "http://www.w3.org/2000/svg",
            "https://www.textualize.io",
        }
        await assert_until(pilot, lambda: len(list(path.parent.glob("*.png"))) == 2)
        assert path.with_suffix(".png").stat().st_mode & 0o777 == 0o600
        told = [one.message for one in place.app._notifications]
        assert any("not encrypted" in one and str(path) in one for one in told)


class Cells(App[None]):
    CSS = "Screen { background: #102030; } Static { color: #ff0000; }"

    def compose(self) -> ComposeResult:
        yield Static(Content.assemble("ab 漢", (" u ", "underline"), ("X", "on #00ff00")))


@pytest.mark.usefixtures("some_font")
async def test_a_png_has_every_letter_in_its_cell() -> None:
    app = Cells()
    async with app.run_test(size=(20, 3)) as pilot:
        await pilot.pause()
        png = png_of(app.export_screenshot(simplify=True))
    assert png is not None
    image = Image.open(BytesIO(png)).convert("RGB")
    width, height = image.width // 20, image.height // 3
    assert image.size == (width * 20, height * 3)
    ground, red, green = (16, 32, 48), (255, 0, 0), (0, 255, 0)

    def colours(column: int, row: int = 0) -> set[tuple[int, ...]]:
        box = column * width, row * height, (column + 1) * width, (row + 1) * height
        return {colour for _count, colour in image.crop(box).getcolors(10_000) or ()}  # type: ignore[misc]

    for column, letter in enumerate("ab "):
        assert (red in colours(column)) == (letter != " ")
    # The letter after one of two cells is in the sixth.
    assert colours(5) == colours(7) == {ground, red}, "the underlined spaces"
    assert green in colours(8)
    assert ground not in colours(8)
    assert colours(9) == colours(0, 1) == {ground}


async def test_without_a_font_there_is_no_png(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "font_files", dict)
    app = Cells()
    async with app.run_test(size=(20, 3)) as pilot:
        await pilot.pause()
        assert png_of(app.export_screenshot()) is None


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
