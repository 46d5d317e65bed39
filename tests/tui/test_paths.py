"""Paths are completed while they are typed, and chosen in a window."""

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.widgets import Input

from atlas_desktop.tui.paths import PathPicker, places
from atlas_desktop.tui.transfer import ImportDialog
from tests.tui.desk import Stage
from tests.tui.driving import assert_until, chat, on, say, settle, shown, type_text
from tests.tui.test_transfer_importing import export

Make = Callable[..., Stage]
SIZE = (120, 40)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a folder, two files and a hidden one."""
    home = tmp_path / "ada"
    (home / "papers").mkdir(parents=True)
    (home / "papers" / "tides.md").write_text("The moon raises the tides.")
    (home / "Plan.txt").write_text("Plan")
    (home / "zebra.txt").write_text("Zebra")
    (home / ".secret").write_text("hidden")
    monkeypatch.setenv("HOME", str(home))
    return home


def test_folders_come_first_and_hidden_ones_only_when_asked_for(folder: Path) -> None:
    assert [one.text for one in places(f"{folder}/")] == [
        f"{folder}/papers/",
        f"{folder}/Plan.txt",
        f"{folder}/zebra.txt",
    ]
    assert [one.text for one in places("~/p")] == ["~/papers/", "~/Plan.txt"]
    assert [one.text for one in places("~/.s")] == ["~/.secret"]


@pytest.mark.parametrize("typed", ["/nowhere/at/all", "~nobody-here/", "\0", "~/Plan.txt/"])
def test_what_cannot_be_read_has_no_places(folder: Path, typed: str) -> None:
    assert places(typed) == []


async def test_a_path_after_attach_is_completed_and_sent(make: Make, folder: Path) -> None:
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await type_text(pilot, "/attach ~/pa")
        await settle(pilot)
        assert "papers/" in shown(place)
        await pilot.press("tab")
        await settle(pilot)
        assert chat(place.app).prompt.text == "/attach ~/papers/"
        assert "tides.md" in shown(place)
        await pilot.press("enter")
        await settle(pilot)
        assert [one.name for one in chat(place.app).current.attached] == ["tides.md"]


async def test_a_path_after_import_is_completed(make: Make, folder: Path) -> None:
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await type_text(pilot, "/import ~/z")
        await settle(pilot)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ImportDialog) and "~/zebra.txt" in shown(place))


async def test_import_of_a_folder_whose_name_is_typed_in_full_takes_one_enter(
    make: Make, folder: Path
) -> None:
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await type_text(pilot, "/import ~/papers")
        await settle(pilot)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ImportDialog))


async def test_attach_without_a_path_opens_a_window_to_choose_one(make: Make, folder: Path) -> None:
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "/attach")
        await assert_until(pilot, lambda: on(place.app, PathPicker) and "papers/" in shown(place))
        assert ".secret" not in shown(place)
        await pilot.press("enter")
        await assert_until(pilot, lambda: "tides.md" in shown(place))
        await pilot.press("enter")
        await assert_until(pilot, lambda: not on(place.app, PathPicker))
        await settle(pilot)
        assert [one.name for one in chat(place.app).current.attached] == ["tides.md"]


async def test_import_has_a_window_to_choose_a_file_or_a_folder(make: Make, folder: Path) -> None:
    export(folder / "papers" / "export.json")
    place = make()

    async def open_papers() -> None:
        await assert_until(pilot, lambda: on(place.app, PathPicker) and "papers/" in shown(place))
        await pilot.press("enter")
        await assert_until(pilot, lambda: "export.json" in shown(place))

    async def is_looked_into(path: str) -> None:
        await assert_until(pilot, lambda: on(place.app, ImportDialog))
        await settle(pilot)
        assert place.app.screen.query_one("#where", Input).value == path
        assert "6 messages to import" in shown(place)

    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "/import")
        await assert_until(pilot, lambda: on(place.app, ImportDialog))
        await pilot.press("ctrl+o")
        await open_papers()
        await pilot.press("enter")
        await is_looked_into("~/papers/export.json")

        await pilot.click("#choose")
        await open_papers()
        assert "Take this folder" in shown(place)
        await pilot.press("up", "enter")
        await is_looked_into("~/papers/")
