"""A second program on the same home."""

import pytest
from textual.app import App
from textual.pilot import Pilot

from atlas_desktop.errors import AlreadyRunning
from atlas_desktop.tui.already_running import AlreadyRunningApp


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
    held = [AlreadyRunning(77), AlreadyRunning(78)]

    def take() -> None:
        if held:
            raise held.pop()

    app = AlreadyRunningApp("dark", held.pop(0), take)
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
