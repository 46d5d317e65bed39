"""Locking, and what becomes of what was being typed."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

import pytest
from textual.pilot import Pilot

from atlas_desktop.services.vault import Attempts
from atlas_desktop.tui import shutdown
from atlas_desktop.tui.app import CLEARED, AtlasApp
from atlas_desktop.tui.chat import conversation
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.dialogs.questions import Curtain, LockScreen
from atlas_desktop.tui.setup.unlock import UnlockScreen
from atlas_desktop.tui.shutdown import IdleMonitor
from memory.entities import UNBEGUN, RoomKind
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, PASSPHRASE, FakeVault, NamedModel, Stage, talk
from tests.tui.driving import assert_until, chat, on, settle, shown, type_text

Make = Callable[..., Stage]


class Demonstrated(Exception):
    """Stands for the process that shows sample conversations in this one's place."""


class Relaunched(Exception):
    """Stands for the process that takes this one's place."""


def lockable(place: Stage, **options: object) -> AtlasApp:
    """The application of `place`, as the program starts it."""

    def relaunch() -> NoReturn:
        raise Relaunched

    return AtlasApp(place.desk, models=place.shelf, now=lambda: NOW, relaunch=relaunch, **options)  # type: ignore[arg-type]


async def run_until_locked(app: AtlasApp, drive: Callable[[Pilot[None]], object]) -> None:
    """Runs the application as the program does, until a new one takes its place."""

    async def pilot_it(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await drive(pilot)  # type: ignore[misc]

    with pytest.raises(Relaunched):
        await app.run_async(headless=True, auto_pilot=pilot_it)


async def test_sample_conversations_are_shown_once_everything_is_closed(make: Make) -> None:
    place = make()
    closed: list[bool] = []

    async def close() -> None:
        closed.append(True)

    def demo() -> NoReturn:
        assert closed
        raise Demonstrated

    place.store.close = close  # type: ignore[method-assign]
    app = lockable(place, key=place.vault.key, demo=demo)

    async def drive(pilot: Pilot[None]) -> None:
        offer = "F10 shows sample conversations"
        await assert_until(pilot, lambda: offer in shown(replace(place, app=app)))
        await pilot.press("f10")
        await assert_until(pilot, lambda: "Show the sample conversations?" in shown(replace(place, app=app)))
        await pilot.press("escape")
        await settle(pilot)
        assert not closed
        await pilot.press("f10")
        await assert_until(pilot, lambda: "Lock and show" in shown(replace(place, app=app)))
        await pilot.press("tab", "enter")
        await assert_until(pilot, lambda: not app.is_running)

    with pytest.raises(Demonstrated):
        await run_until_locked(app, drive)


@pytest.mark.parametrize("way", ["key", "button"])
@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
async def test_a_first_run_offers_to_look_around_before_there_is_a_home(
    make: Make, way: str, size: tuple[int, int]
) -> None:
    place = make(vault=FakeVault(made=False), unlocked=False)

    def demo() -> NoReturn:
        raise Demonstrated

    app = lockable(place, demo=demo)

    async def pilot_it(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await assert_until(pilot, lambda: "Look around first" in shown(replace(place, app=app)))
        words = " ".join(shown(replace(place, app=app)).split())
        assert "Sample data in a temporary home: not kept." in words
        if way == "key":
            await pilot.press("f10")
        else:
            await pilot.click("#look")
        await assert_until(pilot, lambda: not app.is_running)

    with pytest.raises(Demonstrated):
        await app.run_async(headless=True, auto_pilot=pilot_it, size=size)
    assert not place.vault.made


async def test_a_program_that_cannot_replace_itself_offers_no_demonstration(make: Make) -> None:
    place = make(vault=FakeVault(made=False), unlocked=False)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "Choose a passphrase" in shown(place)
        assert "Look around first" not in shown(place)


async def test_a_lock_closes_everything_and_a_new_program_opens_what_was_shown(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    first = await talk(store, "First", [("one", "two")])
    await talk(store, "Second", [("three", "four")])
    place = make(store=store)
    kept: dict[str, object] = {}

    async def close() -> None:
        kept["draft"] = await store.drafts.draft(first.id)
        kept["left"] = await store.drafts.take_left_open()
        kept["screen"] = type(app.screen)

    place.store.close = close  # type: ignore[method-assign]
    app = lockable(place, key=place.vault.key)

    async def drive(pilot: Pilot[None]) -> None:
        chat(app).open_session(first.id)
        await settle(pilot)
        await type_text(pilot, "half a thought")
        await pilot.press("ctrl+l")
        await assert_until(pilot, lambda: not app.is_running)

    await run_until_locked(app, drive)
    assert kept == {"draft": "half a thought", "left": first.id, "screen": Curtain}
    assert place.desk.room is None

    await store.drafts.leave_open(first.id)
    again = lockable(place, locked=True)
    async with again.run_test() as pilot:
        await settle(pilot)
        assert on(again, UnlockScreen)
        assert "First" not in shown(Stage(again, place.desk, place.model, store, place.vault, place.shelf))
        await type_text(pilot, PASSPHRASE)
        await pilot.press("enter")
        await settle(pilot)
        assert chat(again).current.id == first.id
        assert chat(again).prompt.text == "half a thought"


async def test_a_locked_door_does_not_open_by_itself(make: Make) -> None:
    place = make(vault=FakeVault(keyring="Secret Service", keyring_slot=True))
    app = lockable(place, locked=True)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert on(app, UnlockScreen)
        await pilot.press("ctrl+l")
        assert on(app, UnlockScreen)
        await pilot.press("ctrl+k")
        await settle(pilot)
        assert on(app, ChatScreen)


@pytest.mark.parametrize("again", [("tab", "enter"), ("ctrl+l",)])
async def test_off_the_record_it_is_asked_and_nothing_is_kept(make: Make, again: tuple[str, ...]) -> None:
    store = InMemoryStore(FakeClock(NOW), RoomKind.OFF_RECORD)
    place = make(store=store)
    app = lockable(place, off_record=True)
    saved: list[str] = []

    async def save(place: str, text: str) -> None:
        saved.append(text)

    store.drafts.save_draft = save  # type: ignore[method-assign]

    async def drive(pilot: Pilot[None]) -> None:
        await type_text(pilot, "secret")
        await pilot.press("enter")
        await settle(pilot)
        await type_text(pilot, "more")
        await pilot.press("ctrl+l")
        await assert_until(pilot, lambda: on(app, LockScreen))
        # Whoever presses the key and walks away leaves nothing to read.
        assert isinstance(app.screen_stack[-2], Curtain)
        await pilot.press("escape")
        await settle(pilot)
        assert on(app, ChatScreen)
        assert chat(app).prompt.text == "more"
        await pilot.press("ctrl+l")
        await assert_until(pilot, lambda: on(app, LockScreen))
        await pilot.press(*again)
        await assert_until(pilot, lambda: not app.is_running)

    await run_until_locked(app, drive)
    assert saved == []


async def test_nobody_there_locks_and_a_reply_that_comes_does_not(make: Make) -> None:
    time = [0.0]
    place = make(model=NamedModel(["a long reply"]))
    app = lockable(place, key=place.vault.key)

    async def drive(pilot: Pilot[None]) -> None:
        app.shutdown.monitor = IdleMonitor(900, True, awake=lambda: time[0], passed=lambda: time[0])
        time[0] = 899
        await app.shutdown.check()
        await pilot.press("a")
        time[0] = 1700
        await app.shutdown.check()
        await settle(pilot)
        assert not app.leaving
        # Who waits for a model to arrive is there, without pressing a key.
        arriving = asyncio.Event()
        app.attempt(arriving.wait(), group="pull")
        await pilot.pause()
        time[0] = 2700
        await app.shutdown.check()
        assert not app.leaving
        arriving.set()
        await settle(pilot)
        time[0] = 3700
        await app.shutdown.check()
        await assert_until(pilot, lambda: not app.is_running)

    await run_until_locked(app, drive)


def test_sleep_is_told_of_once_and_a_small_jump_is_none() -> None:
    time = {"awake": 100.0, "passed": 500.0}
    vigil = IdleMonitor(0, True, awake=lambda: time["awake"], passed=lambda: time["passed"])
    time.update(awake=110.0, passed=520.0)
    assert vigil.due() is None
    time.update(awake=112.0, passed=4000.0)
    assert vigil.due() == "slept"
    assert vigil.due() is None
    assert IdleMonitor(0, False, awake=lambda: 0.0, passed=lambda: 10**9).due() is None


async def test_without_a_room_or_a_way_to_start_anew_there_is_no_lock(make: Make) -> None:
    place = make()
    async with place.app.run_test() as pilot:
        await settle(pilot)
        assert not place.app.can_lock
        await pilot.press("ctrl+l")
        await settle(pilot)
        assert place.app.is_running


async def test_drafts_survive_switching_and_quitting_and_end_with_sending(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "KEEP_AFTER_S", 0.01)
    store = InMemoryStore(FakeClock(NOW))
    session = await talk(store, "First", [("one", "two")])
    place = make(store=store)

    async def stay_open() -> None:
        """The next program reads what is there."""

    store.close = stay_open  # type: ignore[method-assign]
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await type_text(pilot, "new idea")
        chat(place.app).open_session(session.id)
        await settle(pilot)
        await type_text(pilot, "an answer")
        await pilot.press("ctrl+n")
        await settle(pilot)
        assert chat(place.app).prompt.text == "new idea"
        assert await store.drafts.draft(UNBEGUN) == "new idea"
        assert await store.drafts.draft(session.id) == "an answer"
    again = make(store=store)
    async with again.app.run_test() as pilot:
        await settle(pilot)
        assert chat(again.app).prompt.text == "new idea"
        await pilot.press("enter")
        await settle(pilot)
        await assert_until(pilot, lambda: not again.app.drafts._changed)
        await settle(pilot)
        assert await store.drafts.draft(UNBEGUN) == ""
        chat(again.app).open_session(session.id)
        await settle(pilot)
        assert chat(again.app).prompt.text == "an answer"


async def test_after_three_wrong_passphrases_the_next_waits(make: Make) -> None:
    place = make(unlocked=False)
    async with place.app.run_test() as pilot:
        await settle(pilot)
        for _ in range(3):
            await type_text(pilot, "not it")
            await pilot.press("enter")
            await settle(pilot)
        assert "Try again in" in shown(place)
        attempts = Attempts(place.desk.paths.attempts)
        for _ in range(6):
            attempts.wrong()
        await type_text(pilot, PASSPHRASE)
        await pilot.press("enter")
        await settle(pilot)
        assert on(place.app, UnlockScreen)
        attempts.path.write_text("3 0\n")
        await pilot.press("enter")
        await settle(pilot)
        assert on(place.app, ChatScreen)
        assert not attempts.path.exists()


async def test_what_is_to_begin_off_the_record_leaves_no_draft_behind(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "KEEP_AFTER_S", 0.01)
    store = InMemoryStore(FakeClock(NOW))
    place = make(store=store)
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await type_text(pilot, "a secret")
        await settle(pilot)
        await place.app.drafts.keep_all()
        assert await store.drafts.draft(UNBEGUN) == "a secret"
        chat(place.app).current.begins_in = RoomKind.OFF_RECORD
        place.app.drafts.changed(chat(place.app).current)
        await place.app.drafts.keep_all()
        assert await store.drafts.draft(UNBEGUN) == ""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
async def test_the_end_that_the_system_asks_for_keeps_what_was_typed(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    place = make(store=store)
    kept: list[str] = []

    async def close() -> None:
        kept.append(await store.drafts.draft(UNBEGUN))

    store.close = close  # type: ignore[method-assign]

    async def drive(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await type_text(pilot, "half")
        os.kill(os.getpid(), signal.SIGTERM)
        await assert_until(pilot, lambda: not place.app.is_running)

    await place.app.run_async(headless=True, auto_pilot=drive)
    assert kept == ["half"]
    assert place.app.return_code == 128 + signal.SIGTERM


async def test_a_terminal_that_is_gone_untold_ends_the_program_with_its_drafts_kept(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = [True]
    ended: list[int] = []
    monkeypatch.setattr(shutdown, "terminal_here", lambda: here[0])
    monkeypatch.setattr(os, "_exit", ended.append)
    store = InMemoryStore(FakeClock(NOW))
    place = make(store=store)
    async with place.app.run_test() as pilot:
        await settle(pilot)
        place.app.shutdown.on_terminal = True
        await type_text(pilot, "not yet said")
        await place.app.shutdown.check()
        assert not place.app.leaving
        here[0] = False
        await place.app.shutdown.check()
        await assert_until(pilot, lambda: ended)
    assert ended == [129]
    assert await store.reopened().drafts.draft(UNBEGUN) == "not yet said"


async def test_nothing_that_was_shown_is_left_on_the_terminal(make: Make) -> None:
    place = make(model=NamedModel(["A word."]))
    written: list[str] = []
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        driver = place.app._driver
        assert driver is not None
        driver.write = written.append  # type: ignore[method-assign,assignment]
        await pilot.press("ctrl+q")
        await assert_until(pilot, lambda: not place.app.is_running)
    assert CLEARED in written
    assert "".join(written).rpartition(CLEARED)[2].strip() == ""
