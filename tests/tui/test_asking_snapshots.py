"""How the small windows look that ask for something: a choice, a path, a key, the passphrase, colours."""

from pathlib import Path

from textual.pilot import Pilot

from atlas_desktop.tui.dialogs.forms import PathScreen
from atlas_desktop.tui.dialogs.questions import PickScreen
from atlas_desktop.tui.settings.dialogs import KeyScreen, ThemeScreen
from atlas_desktop.tui.setup.unlock import PassphraseScreen
from memory.attachments import NewAttachment
from tests.fakes.clock import FakeClock
from tests.tui.desk import NOW, Stage, stage
from tests.tui.driving import assert_until, chat, on, say, settle, shown, type_text
from tests.tui.models.test_screen import shelf
from tests.tui.settings.test_screen import find
from tests.tui.test_snapshots import SIZES, THEMES, Snap, still, taken, unwritten

__all__ = ["still", "unwritten"]
HOME = Path("/home/ada/.local/share/atlas-desktop")


def desk(theme: str) -> Stage:
    return stage(HOME, theme=theme, clock=FakeClock(NOW))


@SIZES
@THEMES
def test_one_of_several(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        for name, length in (("ferries.md", 1), ("notes of the second day in Reine.txt", 2_340)):
            text = "x" * length
            chat(place.app).current.attached.append(NewAttachment(name, "text/plain", length, text))
        await say(pilot, "/detach")
        await assert_until(pilot, lambda: on(place.app, PickScreen) and "2,340" in shown(place))

    assert taken(snap_compare, desk(theme), size, steps, alone=True)


@SIZES
@THEMES
def test_a_path(snap_compare: Snap, tmp_path: Path, size: tuple[int, int], theme: str) -> None:
    place = stage(tmp_path, theme=theme, clock=FakeClock(NOW))
    shelf(place)

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f6")
        await assert_until(pilot, lambda: "Can be downloaded" in shown(place))
        await pilot.press("i")
        await assert_until(pilot, lambda: on(place.app, PathScreen))

    assert taken(snap_compare, place, size, steps, alone=True)


@SIZES
@THEMES
def test_a_key(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await find(pilot, "keys.session.new")
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, KeyScreen))
        await pilot.press("f2")
        await assert_until(pilot, lambda: "is already used" in shown(place))

    assert taken(snap_compare, desk(theme), size, steps, alone=True)


@SIZES
@THEMES
def test_the_passphrase_again(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await say(pilot, "/private")
        await assert_until(pilot, lambda: on(place.app, PassphraseScreen))
        await type_text(pilot, "nope")
        await pilot.press("enter")
        await assert_until(pilot, lambda: "Wrong passphrase" in shown(place))

    assert taken(snap_compare, desk(theme), size, steps, alone=True)


@SIZES
@THEMES
def test_colours(snap_compare: Snap, tmp_path: Path, size: tuple[int, int], theme: str) -> None:
    (tmp_path / "config.toml").write_text(f'[ui]\ntheme = "{theme}"\n')

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f12")
        await assert_until(pilot, lambda: on(place.app, ThemeScreen))
        await settle(pilot, but="turns")

    place = stage(tmp_path, theme="none", clock=FakeClock(NOW))
    assert taken(snap_compare, place, size, steps, alone=True)
