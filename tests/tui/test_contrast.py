"""All text of every screen can be read in every theme: its contrast with what is below it is at least 4.5."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.color import Color, ColorType
from rich.style import Style
from textual.pilot import Pilot

from atlas_desktop.tui.appearance import THEMES
from tests.fakes.clock import FakeClock
from tests.tui.desk import NOW, Stage, stage
from tests.tui.driving import settle
from tests.tui.memories.test_screen import remembered
from tests.tui.test_appearance import contrast

LEAST = 4.5
VIEWS = ("f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "ctrl+k", "ctrl+p")
SIZE = (120, 40)


def hex_of(color: Color | None) -> str:
    assert color is not None
    assert color.type is ColorType.TRUECOLOR, color
    assert color.triplet is not None
    return color.triplet.hex


def pairs(place: Stage) -> Iterator[tuple[str, str, str]]:
    """The words on the screen, each with its colour and that of what is below it."""
    screen = place.app.screen
    strips = screen._compositor.render_strips()
    if screen.is_modal and screen.children:
        # What lies around a window is dimmed.
        x, y, width, height = screen.children[0].region
        strips = [strip.crop(x, x + width) for strip in strips[y : y + height]]
    for strip in strips:
        for text, style, _control in strip:
            if any(char.isalnum() for char in text):
                assert isinstance(style, Style)
                color, below = hex_of(style.color), hex_of(style.bgcolor)
                yield text, *((below, color) if style.reverse else (color, below))


@pytest.mark.parametrize("theme", [name for name, theme in THEMES.items() if not theme.ansi])
async def test_every_text_can_be_read(theme: str, tmp_path: Path) -> None:
    place = stage(tmp_path, theme=theme, store=await remembered(), clock=FakeClock(NOW))
    faint: dict[tuple[str, str], tuple[str, str]] = {}

    async def look(pilot: Pilot[None], view: str) -> None:
        await settle(pilot)
        await pilot.pause()
        for text, color, below in pairs(place):
            if contrast(color, below) < LEAST:
                faint.setdefault((color, below), (view, text.strip()))

    async with place.app.run_test(size=SIZE) as pilot:
        await look(pilot, "chat")
        for view in VIEWS:
            await pilot.press(view)
            await look(pilot, view)
            await pilot.press("escape")
            await settle(pilot)
    assert not faint, "\n".join(f"{pair} {where}" for pair, where in faint.items())


def test_there_are_six_themes() -> None:
    assert len(THEMES) == 6
    assert sum(theme.dark for theme in THEMES.values() if not theme.ansi) >= 2
    assert sum(not theme.dark for theme in THEMES.values()) >= 2
    assert sum("contrast" in name for name in THEMES) == 2
    assert sum(theme.ansi for theme in THEMES.values()) == 1
