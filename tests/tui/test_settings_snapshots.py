"""How the settings, the models, the choice of colours and the words in place of a failed screen look."""

from pathlib import Path
from typing import cast

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from atlas_desktop.errors import Explained
from atlas_desktop.services.backup import BackupService
from atlas_desktop.tui.crash_recovery import FailureScreen
from atlas_desktop.tui.settings.dialogs import NewPassphraseScreen, ThemeScreen
from memory.storage.files import SqlRoomFiles
from memory.vault.vault import Keys, Vaults
from models.engines.spec import EngineReport, EngineSpec, Family
from tests.fakes.clock import FakeClock
from tests.tui.desk import NOW, PASSPHRASE, FakeVault, Stage, stage
from tests.tui.driving import assert_until, command, on, settle, shown, type_text
from tests.tui.models.test_engines import with_engines
from tests.tui.models.test_screen import shelf
from tests.tui.settings.test_screen import find
from tests.tui.test_snapshots import SIZES, THEMES, Snap, still, taken

__all__ = ["still"]


@SIZES
@pytest.mark.parametrize("theme", ["light", "contrast-dark"])
def test_a_value_is_refused(snap_compare: Snap, tmp_path: Path, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await find(pilot, "max_tokens reply")
        await pilot.press("enter")
        place.app.screen.query_one("#value", Input).value = "many"
        await pilot.press("enter")
        await assert_until(pilot, lambda: "Not changed" in shown(place))

    assert taken(snap_compare, stage(tmp_path, theme=theme), size, steps)


@SIZES
@pytest.mark.parametrize("theme", ["dark", "contrast-light"])
def test_models(snap_compare: Snap, tmp_path: Path, size: tuple[int, int], theme: str) -> None:
    place = stage(tmp_path, theme=theme)
    shelf(place, "smollm2-135m-instruct", "first")

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f6")
        await assert_until(pilot, lambda: "Can be downloaded" in shown(place))
        listing = place.app.screen.query_one("#models", OptionList)
        listing.highlighted = listing.get_option_index("llama-3.2-1b-instruct")
        await assert_until(pilot, lambda: "sets conditions" in shown(place))

    assert taken(snap_compare, place, size, steps)


@SIZES
@pytest.mark.parametrize("theme", ["dark", "contrast-light"])
def test_engines(snap_compare: Snap, tmp_path: Path, size: tuple[int, int], theme: str) -> None:
    async def probe(spec: EngineSpec, model: str) -> EngineReport:
        local = spec.name == "ollama"
        return EngineReport(
            Family.OLLAMA if local else Family.OTHER,
            ("llama3.2:3b", "nomic-embed-text") if local else ("big-70b",),
            "",
            stream=True,
            json_schema=True,
            embeddings=local,
            context=4096,
            exact_tokens=False,
        )

    place = stage(tmp_path, theme=theme)
    with_engines(place, probe)

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        engines = place.desk.engines
        await engines.add("ollama", "http://127.0.0.1:11434")
        await engines.add("office", "https://models.example.org", allowed=True)
        engines.choose("ollama:nomic-embed-text", "embed")
        engines.choose("office:big-70b", "chat")
        await pilot.press("f6")
        await assert_until(pilot, lambda: "Can be downloaded" in shown(place))
        await pilot.press("e")
        await assert_until(pilot, lambda: "in use: search by meaning" in shown(place))
        await pilot.press("down", "down", "down")
        await assert_until(pilot, lambda: "makes vectors" in shown(place))

    assert taken(snap_compare, place, size, steps)


def test_colours_of_the_terminal(snap_compare: Snap, tmp_path: Path) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f12")
        await assert_until(pilot, lambda: on(place.app, ThemeScreen))

    assert taken(snap_compare, stage(tmp_path, theme="terminal"), (80, 24), steps)


@SIZES
@THEMES
def test_words_in_place_of_a_screen(
    snap_compare: Snap, tmp_path: Path, size: tuple[int, int], theme: str
) -> None:
    words = Explained("unexpected", "Something unexpected went wrong", "Error id: 0badcafe.", "Try again.")

    async def leave() -> None:
        return None

    async def steps(_pilot: Pilot[None], place: Stage) -> None:
        await place.app.turn_to(FailureScreen(words, lambda: None, leave))

    assert taken(snap_compare, stage(tmp_path, theme=theme), size, steps)


@SIZES
@THEMES
def test_settings(snap_compare: Snap, tmp_path: Path, size: tuple[int, int], theme: str) -> None:
    (tmp_path / "config.toml").write_text(f'[ui]\ntheme = "{theme}"\n[chat]\nmax_tokens = 512\n')

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f9")
        await assert_until(pilot, lambda: "Longest reply (tokens)" in shown(place))
        await settle(pilot, but="turns")

    assert taken(snap_compare, stage(tmp_path, theme="none"), size, steps)


@SIZES
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_what_unlocks_the_vault(
    snap_compare: Snap, tmp_path: Path, size: tuple[int, int], theme: str
) -> None:
    place = stage(tmp_path, theme=theme, vault=FakeVault(keyring="Secret Service"))
    clock = FakeClock(NOW)
    folder = tmp_path / "backups"
    place.desk.make_backups = lambda: BackupService(
        tmp_path, lambda: folder, lambda _rooms: cast("Vaults", None), SqlRoomFiles(clock), clock, "t"
    )

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await command(pilot, "/vault")
        await assert_until(pilot, lambda: "none yet" in shown(place))

    assert taken(snap_compare, place, size, steps)


@SIZES
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_new_passphrase(snap_compare: Snap, tmp_path: Path, size: tuple[int, int], theme: str) -> None:
    place = stage(tmp_path, theme=theme)

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        place.app.change_passphrase(Keys(place.vault.key))
        await assert_until(pilot, lambda: on(place.app, NewPassphraseScreen))
        await settle(pilot)
        await type_text(pilot, PASSPHRASE)
        await assert_until(pilot, lambda: "guessed in" in shown(place))
        await pilot.press("enter", "x", "enter")
        await assert_until(pilot, lambda: "do not match" in shown(place))

    assert taken(snap_compare, place, size, steps)
