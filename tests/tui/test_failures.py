"""When something fails that nobody foresaw: words without values, and a note without content."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from atlas_desktop.tui.failures import report_of, write_report
from atlas_desktop.tui.screens.chat import ChatScreen
from atlas_desktop.tui.screens.dialogs import ErrorScreen
from tests.tui.desk import Stage
from tests.tui.driving import assert_until, on, settle, shown

Make = Callable[..., Stage]
SECRET = "a very secret sentence"


def fail_with_content(words: str) -> None:
    copy = words
    raise RuntimeError(copy)


def test_a_report_holds_types_and_places_only(tmp_path: Path) -> None:
    from atlas_desktop.tui.calendar import short

    try:
        try:
            short(SECRET, SECRET)  # type: ignore[arg-type]
        except AttributeError as inner:
            raise RuntimeError(SECRET) from inner
    except RuntimeError as error:
        crash = write_report(tmp_path / "logs", error)
    report = (tmp_path / "logs" / f"crash-{crash}.log").read_text()
    assert SECRET not in report
    assert "builtins.RuntimeError" in report
    assert "builtins.AttributeError" in report
    assert "atlas_desktop.tui.calendar:" in report
    assert (tmp_path / "logs" / f"crash-{crash}.log").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "logs").stat().st_mode & 0o777 == 0o700


def test_a_chain_of_causes_ends() -> None:
    first, second = RuntimeError(), ValueError()
    first.__cause__, second.__cause__ = second, first
    assert report_of(first).splitlines() == ["builtins.RuntimeError", "builtins.ValueError"]


async def test_a_failing_background_task_is_told_and_the_program_goes_on(make: Make) -> None:
    place = make()

    async def fail() -> None:
        fail_with_content(SECRET)

    async with place.app.run_test() as pilot:
        await settle(pilot)
        place.app.attempt(fail(), group="test")
        await assert_until(pilot, lambda: on(place.app, ErrorScreen) and "Error id" in shown(place))
        assert SECRET not in shown(place)
        await pilot.press("enter")
        assert on(place.app, ChatScreen)
    [log] = (place.desk.paths.logs).iterdir()
    assert SECRET not in log.read_text()


async def test_the_last_words_of_a_crash_hold_no_values(
    make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    place = make()

    async def run_into_a_crash() -> None:
        async with place.app.run_test() as pilot:
            await settle(pilot)
            place.app.call_later(fail_with_content, SECRET)
            await assert_until(pilot, lambda: not place.app.is_running)

    with pytest.raises(RuntimeError):
        await run_into_a_crash()
    told = capsys.readouterr().err
    assert "Something unexpected went wrong" in told
    assert "Error id: " in told
    assert SECRET not in told
    assert "fail_with_content" not in told
    assert place.app.return_code == 1


async def test_a_run_that_ends_in_any_way_closes_the_room(make: Make) -> None:
    place = make()
    app = place.app
    ready = asyncio.Event()

    async def drive() -> None:
        await ready.wait()
        app.exit()

    app.call_after_refresh(ready.set)
    task = asyncio.create_task(drive())
    await app.run_async(headless=True, size=(80, 24))
    await task
    assert place.desk.room is None
