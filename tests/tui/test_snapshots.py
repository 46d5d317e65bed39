"""How every screen looks. After a wanted change: `pytest tests/tui/test_snapshots.py --snapshot-update`."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from atlas_desktop.paths import Paths
from atlas_desktop.tui.dialogs.questions import RenameScreen
from atlas_desktop.tui.setup.welcome import RecoveryScreen
from atlas_desktop.tui.widgets import TakeBack
from models.errors import WorkerCrashed
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import (
    NOW,
    PASSPHRASE,
    RECOVERY_KEY,
    FakeShelf,
    FakeVault,
    NamedModel,
    Stage,
    history,
    stage,
)
from tests.tui.driving import assert_until, chat, on, processed, say, settle, shown, type_text

Snap = Callable[..., bool]
Steps = Callable[[Pilot[None], Stage], Awaitable[None]]
SIZES = pytest.mark.parametrize("size", [(80, 24), (140, 45)], ids=["80x24", "140x45"])
THEMES = pytest.mark.parametrize("theme", ["dark", "light"])


@pytest.fixture(autouse=True)
def unwritten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The home that is shown is nobody's: what the program writes goes elsewhere."""
    for name in ("logs", "cache"):
        monkeypatch.setattr(Paths, name, tmp_path / name)


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing blinks and nothing moves, and no second passes."""
    monkeypatch.setattr(TakeBack, "_tick", lambda _self: None)
    monkeypatch.setattr(Input, "cursor_blink", False)
    monkeypatch.setattr(TextArea, "cursor_blink", False)
    monkeypatch.setattr(TextArea, "_toggle_cursor_blink_visible", lambda _self: None)
    monkeypatch.setattr(Input, "_toggle_cursor", lambda _self: None)
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")


def taken(
    snap_compare: Snap, place: Stage, size: tuple[int, int], steps: Steps, *, alone: bool = False
) -> bool:
    """Whether it looks as it did after `steps`. `alone` shows a window without what lies below it, which has
    pictures of its own."""

    async def before(pilot: Pilot[None]) -> None:
        await settle(pilot, but="turns")
        await steps(pilot, place)
        await processed(pilot)
        for below in place.app.screen_stack[:-1] if alone else ():
            for child in below.children:
                child.visible = False
            await pilot.pause()

    return snap_compare(place.app, terminal_size=size, run_before=before)


def furnished(**options: Any) -> Stage:
    """An application with a past, in a home whose path is always the same."""
    clock = FakeClock(NOW)
    store = InMemoryStore(clock)
    sessions = asyncio.run(history(clock, store))
    which = options.pop("open", None)
    resume = None if which is None else sessions[which].id
    return stage(Path("/home/ada/.local/share/atlas-desktop"), store=store, resume=resume, **options)


async def nothing(pilot: Pilot[None], place: Stage) -> None:
    await pilot.pause()


@SIZES
@THEMES
def test_conversation(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await assert_until(pilot, lambda: "when you are done" in shown(place))

    assert taken(snap_compare, furnished(open=4, theme=theme), size, steps)


@SIZES
@THEMES
def test_new_conversation(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    assert taken(snap_compare, furnished(theme=theme), size, nothing)


@SIZES
@THEMES
def test_reply_and_queue(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await say(pilot, "Why tides?")
        await assert_until(pilot, lambda: "The" in shown(place) and "Writing" in shown(place))
        await say(pilot, "And at new moon?")
        await assert_until(pilot, lambda: "Queued" in shown(place))

    model = NamedModel(["The moon pulls."], gate=asyncio.Event())
    assert taken(snap_compare, furnished(theme=theme, model=model), size, steps)


@SIZES
@THEMES
def test_failed_reply(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await say(pilot, "Why tides?")
        await settle(pilot)
        await assert_until(pilot, lambda: "SIGSEGV" in shown(place) and "The moon" in shown(place))

    model = NamedModel(["The moon pulls the water."], failure=WorkerCrashed(-11), fail_after=3)
    assert taken(snap_compare, furnished(theme=theme, model=model), size, steps)


@SIZES
@THEMES
def test_list_in_front(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("ctrl+o", "down")
        await settle(pilot)

    assert taken(snap_compare, furnished(theme=theme), size, steps)


@SIZES
@THEMES
def test_deleted(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        chat(place.app).action_delete()
        await assert_until(pilot, lambda: "Undo" in shown(place))
        await settle(pilot)

    assert taken(snap_compare, furnished(theme=theme, open=4), size, steps)


@SIZES
@THEMES
def test_rename(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("ctrl+t")
        await assert_until(pilot, lambda: on(place.app, RenameScreen) and "Enter saves" in shown(place))

    assert taken(snap_compare, furnished(theme=theme, open=5), size, steps)


@SIZES
@THEMES
def test_help(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f1")
        await assert_until(pilot, lambda: "Shift+Enter" in shown(place))

    assert taken(snap_compare, furnished(theme=theme), size, steps)


@SIZES
@THEMES
def test_palette(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("ctrl+p")
        await assert_until(pilot, lambda: "Start a new conversation" in shown(place))
        await settle(pilot)

    assert taken(snap_compare, furnished(theme=theme), size, steps)


@SIZES
@THEMES
def test_error(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await assert_until(pilot, lambda: "Conversation not found" in shown(place))

    place = furnished(theme=theme)
    place.app._resume = "ffff"
    assert taken(snap_compare, place, size, steps)


@SIZES
@THEMES
def test_unlock(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    assert taken(snap_compare, furnished(theme=theme, unlocked=False), size, nothing)


@SIZES
@THEMES
def test_wrong_passphrase(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await type_text(pilot, "nope")
        await pilot.press("enter")
        await settle(pilot)

    assert taken(snap_compare, furnished(theme=theme, unlocked=False), size, steps)


@SIZES
@THEMES
def test_welcome(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await type_text(pilot, PASSPHRASE)
        await assert_until(pilot, lambda: "good" in shown(place) or "strong" in shown(place))

    vault = FakeVault(made=False, keyring="Secret Service")
    assert taken(snap_compare, furnished(theme=theme, unlocked=False, vault=vault), size, steps)


@SIZES
@THEMES
def test_recovery_key(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await place.app.turn_to(RecoveryScreen(place.app, place.vault.key, RECOVERY_KEY, ask=(2, 6)))
        await pilot.pause()

    assert taken(snap_compare, furnished(theme=theme, unlocked=False), size, steps)


@SIZES
@THEMES
def test_choosing_a_model(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    assert taken(snap_compare, furnished(theme=theme, shelf=FakeShelf(chosen=None)), size, nothing)


@SIZES
@THEMES
def test_fetching_a_model(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("enter")
        await assert_until(pilot, lambda: "0 bytes of" in shown(place))

    shelf = FakeShelf(chosen=None, gate=asyncio.Event())
    assert taken(snap_compare, furnished(theme=theme, shelf=shelf), size, steps)
