"""A second program on the same home."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast
from unittest.mock import Mock

import pytest
from textual.app import App
from textual.pilot import Pilot

from atlas_desktop.errors import AlreadyRunning
from atlas_desktop.paths import Paths
from atlas_desktop.process import InstanceLock
from atlas_desktop.tui.crash_recovery import AlreadyRunningApp
from atlas_desktop.tui.launch import held

if TYPE_CHECKING:
    from atlas_desktop.cli.context import Context


def text_of(app: App[bool]) -> str:
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def assert_told(pilot: Pilot[bool], holder: int) -> None:
    for _ in range(400):
        await pilot.pause(0.005)
        if f"process {holder}" in text_of(pilot.app):
            return
    raise AssertionError(text_of(pilot.app))


async def test_it_says_who_holds_the_home_and_goes_on_once_it_is_free() -> None:
    refusals = [AlreadyRunning(77), AlreadyRunning(78)]

    def take() -> None:
        if refusals:
            raise refusals.pop()

    app = AlreadyRunningApp("dark", refusals.pop(0), take)
    async with app.run_test(size=(80, 24)) as pilot:
        await assert_told(pilot, 77)
        await pilot.press("enter")
        await assert_told(pilot, 78)
        assert "Tried again: still open elsewhere." in text_of(app)
        await pilot.press("enter")
    assert app.return_value is True


@pytest.mark.parametrize("keys", [("shift+tab", "enter"), ("escape",)])
async def test_who_gives_up_holds_nothing(keys: tuple[str, ...]) -> None:
    app = AlreadyRunningApp("dark", AlreadyRunning(None), lambda: None)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*keys)
    assert app.return_value is None


@pytest.mark.parametrize(
    ("written", "theme"),
    [('[ui]\ntheme = "light"', "atlas-light"), ("", "atlas-dark"), ('[ui]\ntheme = "blue"', "atlas-dark")],
)
def test_it_has_the_theme_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, theme: str
) -> None:
    paths = Paths(tmp_path / "home")
    paths.ensure()
    paths.config.write_text(written, encoding="utf-8")
    shown: list[str] = []
    monkeypatch.setattr(AlreadyRunningApp, "run", lambda app: shown.append(app.theme))
    # The home stays held: there is nothing to wait for.
    monkeypatch.setattr("atlas_desktop.tui.launch.InstanceLock", partial(InstanceLock, wait_s=0))
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(sys, stream, Mock(isatty=lambda: True))
    with InstanceLock(paths), pytest.raises(AlreadyRunning), held(cast("Context", Mock(paths=paths))):
        pass
    assert shown == [theme]
