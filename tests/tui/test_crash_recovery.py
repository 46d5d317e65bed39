"""When something fails that nobody foresaw: words without values, and a note without content."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.segment import Segments
from textual.drivers.linux_driver import LinuxDriver
from textual.pilot import Pilot

from atlas_desktop.tui.base import report_of, write_report
from atlas_desktop.tui.chat.message import ErrorNote
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.crash_recovery import MOST, FailureScreen
from atlas_desktop.tui.setup.unlock import UnlockScreen
from atlas_desktop.tui.terminal import forgiving
from memory.errors import RoomDamaged, StorageFull
from memory.kinds import RoomKind
from memory.storage.store import Store
from memory.vault.keys import RoomKey
from models.errors import WorkerCrashed
from models.messages import ModelInfo
from tests.tui.desk import NamedModel, Stage
from tests.tui.driving import assert_until, chat, on, say, settle, shown, type_text

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


def test_bytes_that_are_no_text_are_read_as_a_sign_each() -> None:
    driver = forgiving(LinuxDriver)
    decode = sys.modules[driver.__module__].getincrementaldecoder("utf-8")().decode
    assert decode(b"a\x9bb\xe7\x8c") == "a\ufffdb"
    assert decode(b"\xab") == "\u732b"


async def test_a_thread_of_keys_that_fails_shows_no_traceback(make: Make) -> None:
    place = make()
    async with place.app.run_test() as pilot:
        await settle(pilot)
        place.app.panic(SECRET)
        [said] = place.app._exit_renderables
        assert isinstance(said, Segments)
        words = "".join(one.text for one in said.segments)
    assert "Error id" in words
    assert SECRET not in words


def noted(place: Stage) -> int:
    """How many errors stand in the conversation."""
    return len(place.app.screen.query(ErrorNote))


async def test_a_failing_background_task_is_told_and_the_program_goes_on(make: Make) -> None:
    place = make()

    async def fail() -> None:
        fail_with_content(SECRET)

    async with place.app.run_test() as pilot:
        await settle(pilot)
        place.app.attempt(fail(), group="test")
        await assert_until(pilot, lambda: noted(place) and "Error id" in shown(place))
        assert SECRET not in shown(place)
        assert on(place.app, ChatScreen)
        # It took no key from what is typed.
        await say(pilot, "Continue")
        await assert_until(pilot, lambda: "Continue" in shown(place))
    [log] = (place.desk.paths.logs).iterdir()
    assert SECRET not in log.read_text()


def break_screen(place: Stage) -> None:
    """Makes the work of the screen that is shown fail: it hears nothing after that."""
    place.app.screen.call_later(fail_with_content, SECRET)


async def assert_failure_shown(place: Stage) -> None:
    """Waits for the window that replaces a broken screen: the Pilot would wait 30 s for that screen."""
    for _ in range(2000):
        if on(place.app, FailureScreen) and "Error id" in shown(place):
            return
        await asyncio.sleep(0.005)
    raise AssertionError("the broken screen was not replaced")


async def test_a_failing_action_is_told_and_everything_goes_on(make: Make) -> None:
    place = make()
    checked: list[bool] = []

    async def run_into_it() -> None:
        async with place.app.run_test() as pilot:
            await settle(pilot)
            place.app.call_later(fail_with_content, SECRET)
            await assert_until(pilot, lambda: noted(place) and "Error id" in shown(place))
            assert SECRET not in shown(place)
            assert on(place.app, ChatScreen)
            checked.append(True)

    # The harness raises what failed at the end, also in place of an assertion that failed.
    with pytest.raises(RuntimeError):
        await run_into_it()
    assert checked


async def test_a_screen_that_fails_is_replaced_by_words_and_made_anew_with_what_was_typed(make: Make) -> None:
    place = make()
    checked: list[bool] = []

    async def run_into_it() -> None:
        async with place.app.run_test() as pilot:
            await settle(pilot)
            await type_text(pilot, "half a thought")
            broken = place.app.screen
            break_screen(place)
            await assert_failure_shown(place)
            assert SECRET not in shown(place)
            assert "your draft are saved" in " ".join(shown(place).split())
            await pilot.press("enter")
            await assert_until(pilot, lambda: on(place.app, ChatScreen) and chat(place.app).prompt.text)
            assert place.app.screen is not broken
            assert chat(place.app).prompt.text == "half a thought"
            checked.append(True)

    with pytest.raises(RuntimeError):
        await run_into_it()
    assert checked


async def test_the_last_words_of_a_crash_hold_no_values(
    make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    place = make()

    async def run_into_a_crash() -> None:
        async with place.app.run_test() as pilot:
            await settle(pilot)
            # The interface has failed too often for another fresh screen.
            place.app.recovery.failures = MOST
            break_screen(place)
            await assert_until(pilot, lambda: not place.app.is_running)

    with pytest.raises(RuntimeError):
        await run_into_a_crash()
    told = capsys.readouterr().err
    assert "Something unexpected went wrong" in told
    assert "Error id: " in told
    assert SECRET not in told
    assert "fail_with_content" not in told
    assert place.app.return_code == 1


async def test_a_room_that_does_not_open_is_told_and_tried_again(make: Make) -> None:
    place = make()
    open_store, broken = place.desk.open_store, [True]

    async def open_or_not(key: RoomKey | None, room: RoomKind) -> Store:
        if broken.pop():
            raise RoomDamaged("page 7")
        return await open_store(key, room)

    place.desk.open_store = open_or_not
    async with place.app.run_test(size=(80, 24)) as pilot:
        await assert_until(pilot, lambda: "The database is damaged" in shown(place))
        assert "salvage" in shown(place)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, UnlockScreen))
        await settle(pilot)


async def test_the_same_error_is_shown_once(make: Make) -> None:
    place = make()
    async with place.app.run_test() as pilot:
        await settle(pilot)
        for _ in range(3):
            place.app.background_failed(StorageFull())
        await assert_until(pilot, lambda: noted(place))
        await settle(pilot)
        assert noted(place) == 1
        assert on(place.app, ChatScreen)


async def test_a_disk_that_is_full_is_told_of_once_where_a_reply_ends_with_it(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    async def full(*_: object, **__: object) -> None:
        raise StorageFull

    async def full_for_drafts(_place: str, text: str) -> None:
        tried.append(text)
        raise StorageFull

    # Not at once: what never rests makes each key wait a second.
    monkeypatch.setattr("atlas_desktop.tui.chat.conversation.KEEP_AFTER_S", 0.05)
    model = NamedModel(["One two three."], gate=asyncio.Event())
    place = make(model=model)
    async with place.app.run_test(size=(100, 32)) as pilot:
        await settle(pilot)
        await say(pilot, "Count")
        await assert_until(pilot, lambda: "Writing" in shown(place))
        with monkeypatch.context() as patch:
            patch.setattr(place.store.drafts, "save_draft", full_for_drafts)
            await type_text(pilot, "and then")
            await assert_until(pilot, lambda: "and then" in tried)
            await pilot.pause()
            assert on(place.app, ChatScreen)
            patch.setattr(place.store, "update_message", full)
            assert model.gate is not None
            model.gate.set()
            await assert_until(pilot, lambda: bool(place.app.screen.query(ErrorNote)))
            await type_text(pilot, " more")
            await assert_until(pilot, lambda: "and then more" in tried)
            await settle(pilot)
            assert on(place.app, ChatScreen)
            # Something else is told of all the same.
            place.app.background_failed(RoomDamaged("x"))
            await assert_until(pilot, lambda: noted(place) == 2)


async def test_a_run_that_ends_in_any_way_closes_the_room(make: Make) -> None:
    place = make()

    async def leave(pilot: Pilot[None]) -> None:
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        assert place.desk.room is not None
        place.app.exit()

    await place.app.run_async(headless=True, size=(80, 24), auto_pilot=leave)
    assert place.desk.room is None


class DyingModel(NamedModel):
    """Its process dies while it loads, when `die` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.die = asyncio.Event()

    async def info(self) -> ModelInfo:
        await self.die.wait()
        raise WorkerCrashed(-9)


async def test_a_model_that_dies_while_it_loads_is_told_of_where_words_wait_for_it_and_only_there(
    make: Make,
) -> None:
    model = DyingModel()
    place = make(model=model)
    async with place.app.run_test(size=(100, 32)) as pilot:
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        await say(pilot, "Good morning")
        await assert_until(pilot, lambda: chat(place.app).current.id is not None)
        model.die.set()
        await assert_until(pilot, lambda: bool(place.app.screen.query(ErrorNote)))
        await settle(pilot)
        assert noted(place) == 1


async def test_a_model_that_dies_while_it_loads_is_told_of_when_nothing_was_said(
    make: Make,
) -> None:
    model = DyingModel()
    place = make(model=model)
    async with place.app.run_test(size=(100, 32)) as pilot:
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        model.die.set()
        await assert_until(pilot, lambda: noted(place) == 1)
        assert on(place.app, ChatScreen)
