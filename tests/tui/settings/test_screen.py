"""The settings as forms: found, changed, refused with a reason, taken back; followed while it runs."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from atlas_desktop.bootstrap import build_doctor
from atlas_desktop.paths import Paths
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.dialogs.questions import ChoiceScreen
from atlas_desktop.tui.settings.dialogs import KeyScreen
from atlas_desktop.tui.settings.screen import SettingsScreen, matching, rows
from memory.entities import RoomKind, RoomReport
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage, talk
from tests.tui.driving import assert_until, command, on, settle, shown, type_text

Make = Callable[..., Stage]


async def find(pilot: Pilot[None], words: str) -> None:
    """Opens the settings with the cursor on the first that has these words."""
    await settle(pilot)
    if not isinstance(pilot.app.screen, SettingsScreen):
        await pilot.press("f9")
        await assert_until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
        await settle(pilot)
    await pilot.press("slash")
    await type_text(pilot, words)
    await pilot.press("enter")
    await pilot.pause()


async def test_every_setting_and_every_action_is_there(make: Make) -> None:
    from atlas_desktop.settings.file import describe
    from atlas_desktop.tui.actions import ACTIONS
    from atlas_desktop.tui.settings.screen import rows, sections

    place = make(theme="none")
    keys = {row.key for row in rows(place.desk.settings_file)}
    assert keys == {info.key for info in describe()} | {f"keys.{action.id}" for action in ACTIONS}
    assert {key.partition(".")[0] for key in keys} == set(sections())
    async with place.app.run_test(size=(80, 24)) as pilot:
        await find(pilot, "longest reply")
        assert "Longest reply (tokens)" in shown(place)
        assert "Allowed: 1 to 32768. Default: 1,024" in shown(place)


@pytest.mark.parametrize("width", [80, 100, 140, 200])
async def test_a_search_keeps_names_and_values_readable(make: Make, width: int) -> None:
    place = make()
    async with place.app.run_test(size=(width, 40)) as pilot:
        await settle(pilot)
        await pilot.press("f9")
        await settle(pilot)
        await pilot.press("slash")
        for words in ("model", "context", "key", "ctrl", "system", "folder"):
            place.app.screen.query_one("#search", Input).value = words
            await settle(pilot)
            found = matching(rows(place.desk.settings_file), words)
            listed = place.app.screen.query_one("#rows", OptionList)
            seen = shown(place).splitlines()[listed.region.y + 1 : listed.region.bottom]
            lines = [line[listed.region.x :].rstrip(" ▇█▅▃▁▂▄▆") for line in seen]
            assert lines
            for row, line in zip(found, lines, strict=False):
                name, value = row.name[:22], row.shown[:11]
                assert line.strip().startswith(name), (words, row.key)
                assert f" {value}" in line, (words, row.key)
                assert line.index(f" {value}") - len(name) <= 90


async def test_a_bad_value_is_refused_beside_the_field_and_the_file_stays(make: Make) -> None:
    place = make(theme="none")
    path = place.desk.paths.home / "config.toml"
    path.write_text("# mine\n[chat]\nmax_tokens = 99 # few\n")
    place.desk.settings_file.load()
    before = path.read_text()
    async with place.app.run_test(size=(80, 24)) as pilot:
        await find(pilot, "max tokens reply")
        await pilot.press("enter")
        field = place.app.screen.query_one("#value", Input)
        assert field.value == "99"
        field.value = "many"
        await pilot.press("enter")
        await assert_until(pilot, lambda: "expected a whole number, 1 to 32768" in shown(place))
        assert field.has_focus
        assert path.read_text() == before
        field.value = "77"
        await pilot.press("enter")
        await assert_until(pilot, lambda: "Saved. Takes effect now." in shown(place))
        assert path.read_text() == before.replace("99", "77")
        assert place.desk.turn_options().params.max_tokens == 77
        await pilot.press("r")
        await assert_until(pilot, lambda: place.desk.settings.chat.max_tokens == 1024)
        assert "max_tokens" not in path.read_text()


async def test_switches_and_choices(make: Make) -> None:
    place = make(theme="none")
    async with place.app.run_test(size=(80, 24)) as pilot:
        await find(pilot, "ask_first")
        await pilot.press("space")
        await assert_until(pilot, lambda: place.desk.settings.memory.ask_first)
        await pilot.press("escape")
        await find(pilot, "new_session")
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ChoiceScreen))
        await pilot.press("down", "enter")
        await assert_until(pilot, lambda: place.desk.settings.sessions.new_session == "automatic")
        await pilot.press("escape", "escape")
        assert on(place.app, ChatScreen)


async def test_a_theme_chosen_by_its_own_key_is_shown_at_once(make: Make) -> None:
    place = make(theme="none")
    async with place.app.run_test(size=(100, 30)) as pilot:
        await find(pilot, "ui.theme")
        await pilot.press("escape")
        await settle(pilot)
        assert "all defaults" in shown(place)
        await pilot.press("f12", "down", "enter")
        await assert_until(pilot, lambda: "1 changed" in shown(place))


async def test_what_the_environment_sets_is_shown_and_not_changed(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(100, 30)) as pilot:
        await find(pilot, "ui.theme")
        assert "set by ATLAS_UI_THEME" in shown(place)
        assert "overrides the file" in shown(place)
        await pilot.press("enter", "r")
        assert on(place.app, SettingsScreen)
    assert not (place.desk.paths.home / "config.toml").exists()


async def test_a_key_is_taken_at_once_and_a_taken_one_refused(make: Make) -> None:
    place = make(theme="none")
    async with place.app.run_test(size=(100, 30)) as pilot:
        await find(pilot, "keys.session.new")
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, KeyScreen))
        # While a key is waited for it does nothing else.
        await pilot.press("ctrl+q")
        await assert_until(pilot, lambda: "is already used for “Quit”" in shown(place))
        assert "app.quit" not in shown(place)
        await pilot.press("alt+n")
        await assert_until(pilot, lambda: place.desk.settings.keys == {"session.new": "alt+n"})
        await pilot.press("escape", "escape")
        assert on(place.app, ChatScreen)
        active = place.app.screen.active_bindings.values()
        assert {b.binding.key for b in active if b.binding.id == "session.new"} == {"alt+n"}


async def test_a_still_interface_neither_moves_nor_blinks(make: Make) -> None:
    place = make(theme="none")
    place.desk.settings_file.set("ui.reduced_motion", value=True)
    place.app.appearance.apply_all()
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("ctrl+o")
        assert place.app.animation_level == "none"
        assert not place.app.screen.query_one("#filter", Input).cursor_blink


async def test_settings_are_not_shown_at_the_locked_door(make: Make) -> None:
    place = make(unlocked=False)
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("f9")
        assert not on(place.app, SettingsScreen)


async def test_dates_and_numbers_follow_the_language(make: Make) -> None:
    from atlas_desktop.locale import formats, use

    place = make(theme="none")
    try:
        async with place.app.run_test(size=(100, 30)) as pilot:
            await find(pilot, "ui.locale")
            await pilot.press("enter")
            await assert_until(pilot, lambda: on(place.app, ChoiceScreen) and "Español" in shown(place))
            await pilot.press("end", "enter")
            await assert_until(pilot, lambda: on(place.app, SettingsScreen))
            await settle(pilot)
            await pilot.press(*"klingon", "enter")
            await assert_until(pilot, lambda: "unknown locale" in shown(place))
            await pilot.press("escape", "enter")
            await assert_until(pilot, lambda: on(place.app, ChoiceScreen))
            await pilot.press("down", "down", "enter")
            await assert_until(pilot, lambda: formats().locale == "de_DE")
            await find(pilot, "chat.max_tokens")
            assert "1.024" in shown(place)
    finally:
        use("")


async def test_settings_with_the_words_in_their_name_come_first(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(120, 40)) as pilot:
        await find(pilot, "theme")
        rows = place.app.screen.query_one("#rows", OptionList)
        assert rows.option_count > 1
        assert rows.get_option_at_index(0).id == "ui.theme"


# --- the doctor -------------------------------------------------------------------------------------


async def test_the_doctor_shows_what_it_found_and_reads_every_page(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = InMemoryStore(FakeClock(NOW))
    await talk(store, "Tides", [("When is high water?", "At noon.")])
    place = make(store=store)
    place.desk.make_doctor = lambda: build_doctor(Paths(tmp_path))
    async with place.app.run_test(size=(100, 70)) as pilot:
        await settle(pilot)
        await command(pilot, "/doctor")
        await assert_until(pilot, lambda: "llama-cpp-python" in shown(place))
        expected = {one.check for one in await build_doctor(Paths(tmp_path)).examine()}
        assert {check for check in expected if f"  {check}: " in shown(place)} == expected
        await pilot.press("v")
        await assert_until(pilot, lambda: "No damage in the open room: 1 conversation" in shown(place))
        damaged = RoomReport(RoomKind.OPEN, 1, 2, 21, ("structure: wrong page 3",))
        monkeypatch.setattr(place.store, "verify", partial(asyncio.sleep, 0, damaged))
        await pilot.press("v")
        await assert_until(pilot, lambda: "Damage in the open room." in shown(place))
        assert "structure: wrong page 3" in shown(place)
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        await settle(pilot)
