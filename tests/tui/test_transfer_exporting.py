"""The window that exports: what it writes, what it leaves out, and what it asks before."""

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Checkbox, Input, Select

from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.transfer import ExportDialog
from memory.entities import RoomKind
from tests.contract.talk import begin
from tests.tui.desk import LOFOTEN, PASSPHRASE, TIDES, Stage, talk
from tests.tui.driving import assert_until, on, say, settle, shown

PERSONAL = (("Mail dana@example.org, my name is Dana Miller.", "I will, Dana."),)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    (tmp_path / "person").mkdir()


def field(place: Stage, name: str) -> Input:
    return place.app.screen.query_one(name, Input)


def tick(place: Stage, name: str) -> None:
    place.app.screen.query_one(name, Checkbox).value = True


async def show(pilot: Pilot[None], place: Stage, *ids: str) -> ExportDialog:
    dialog = ExportDialog(ids)
    await place.app.push_screen(dialog)
    await settle(pilot)
    return dialog


async def test_the_conversation_that_is_shown_is_exported_by_its_command(
    make: Callable[..., Stage], tmp_path: Path
) -> None:
    place = make()
    session = await talk(place.store, "Tides: why?", TIDES)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        place.app.chat.open_session(session.id)  # type: ignore[union-attr]
        await settle(pilot)
        await say(pilot, "/export")
        await assert_until(pilot, lambda: on(place.app, ExportDialog))
        await settle(pilot)
        assert field(place, "#where").value == "~/Tides why.md"
        assert "not encrypted" in shown(place)
        place.app.screen.query_one("#format", Select).value = "html"
        await settle(pilot)
        assert field(place, "#where").value == "~/Tides why.html"
        place.app.screen.query_one("#where", Input).focus()
        await pilot.press("enter")
        await settle(pilot)
        assert on(place.app, ExportDialog)
        assert place.app.focused is place.app.screen.query_one("#export")
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert not on(place.app, ExportDialog)
        written = tmp_path / "person" / "Tides why.html"
        assert "two bulges" in written.read_text(encoding="utf-8")
        assert written.stat().st_mode & 0o777 == 0o600
        assert any("Exported to" in one.message for one in place.app._notifications)


async def test_personal_data_is_shown_before_it_is_taken_out(
    make: Callable[..., Stage], tmp_path: Path
) -> None:
    place = make()
    session = await talk(place.store, "Mail", PERSONAL)
    async with place.app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        await show(pilot, place, session.id)
        tick(place, "#redact")
        field(place, "#words").value = "mail"
        await settle(pilot)
        assert "Not every name is recognised" in shown(place)
        await pilot.click("#preview")
        await settle(pilot)
        for part in (
            "dana@example.org → [email 1]",
            "Dana Miller → [name 1]",
            "1 conversation with 2 messages",
        ):
            assert part in shown(place)
        assert not list((tmp_path / "person").iterdir())
        await pilot.click("#export")
        await settle(pilot)
        text = (tmp_path / "person" / "Mail.md").read_text(encoding="utf-8")
        assert "[removed 1] [email 1], my name is [name 1]." in text
        assert "Dana" not in text


async def test_what_is_there_is_replaced_only_when_that_is_agreed_to(
    make: Callable[..., Stage], tmp_path: Path
) -> None:
    place = make()
    session = await talk(place.store, "Tides", TIDES)
    there = tmp_path / "person" / "Tides.md"
    there.write_text("mine")
    async with place.app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        await show(pilot, place, session.id)
        await pilot.press("ctrl+s")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.press("escape")
        await settle(pilot)
        assert there.read_text() == "mine"
        await pilot.press("ctrl+s")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.click("#yes")
        await settle(pilot)
        assert "two bulges" in there.read_text(encoding="utf-8")


async def test_the_private_room_goes_out_only_when_its_box_is_ticked(
    make: Callable[..., Stage], tmp_path: Path
) -> None:
    place = make()
    shared = await talk(place.store, "Tides", TIDES)
    async with place.app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        room = await place.desk.rooms.enter_private(PASSPHRASE)
        hidden = await talk(room.store, "Lofoten", LOFOTEN)  # type: ignore[arg-type]
        assert hidden.room is RoomKind.PRIVATE
        await show(pilot, place, hidden.id)
        assert "Lofoten" not in field(place, "#where").value
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert "Tick the box" in shown(place)
        await pilot.press("escape")
        await settle(pilot)
        await show(pilot, place, shared.id, hidden.id)
        tick(place, "#each")
        field(place, "#where").value = str(tmp_path / "out")
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["2026-03-12 Tides.md"]


async def test_a_passphrase_is_typed_twice_and_encrypts(make: Callable[..., Stage], tmp_path: Path) -> None:
    place = make()
    session = await talk(place.store, "Tides", TIDES)
    async with place.app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        await show(pilot, place, session.id)
        field(place, "#secret").value = "quiet green boats"
        await settle(pilot)
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert "do not match" in shown(place)
        field(place, "#again").value = "quiet green boats"
        await pilot.press("ctrl+s")
        await settle(pilot)
    sealed = (tmp_path / "person" / "Tides.md.age").read_bytes()
    # That it opens again is held where archives are tested: deriving its key takes seconds, on purpose.
    assert sealed.startswith(b"age-encryption.org/v1\n-> scrypt ")
    assert b"bulges" not in sealed


async def test_every_kind_is_shown_in_the_preview_and_counted_as_one(make: Callable[..., Stage]) -> None:
    place = make()
    words = (
        "My name is Mara Lindqvist, mara.l@example.org, +43 660 1234567. I live at 12 Baker Street, London "
        "NW1 6XE. Card 4111 1111 1111 1111, IBAN DE89 3704 0044 0532 0130 00. Project Heron is secret."
    )
    session, _ = await begin(place.store, words)
    async with place.app.run_test(size=(100, 44)) as pilot:
        await settle(pilot)
        await show(pilot, place, session.id)
        tick(place, "#redact")
        field(place, "#words").value = "Project Heron"
        await settle(pilot)
        await pilot.click("#preview")
        await settle(pilot)
        screen = shown(place)
        assert "1 conversation with 1 message." in screen
        for mark in ("name", "email", "phone", "address", "card", "id", "removed"):
            assert f"→ [{mark} 1]" in screen


async def test_the_ending_and_the_format_agree(make: Callable[..., Stage], tmp_path: Path) -> None:
    place = make()
    session = await talk(place.store, "Tides: why?", TIDES)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        dialog = await show(pilot, place, session.id)
        chosen = dialog.query_one("#format", Select)
        field(place, "#where").value = str(tmp_path / "tides.pdf")
        await settle(pilot)
        assert chosen.value == "pdf"
        chosen.value = "html"
        await settle(pilot)
        assert field(place, "#where").value == str(tmp_path / "tides.html")
        # Any other ending is the user's own.
        field(place, "#where").value = str(tmp_path / "tides.2026")
        await settle(pilot)
        assert chosen.value == "html"
        await pilot.press("ctrl+s")
        await settle(pilot)
    assert "<html" in (tmp_path / "tides.2026").read_text()


async def test_the_command_fills_in_the_file(make: Callable[..., Stage], tmp_path: Path) -> None:
    place = make()
    session = await talk(place.store, "Tides: why?", TIDES)
    file = tmp_path / "My tides.html"
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        place.app.chat.open_session(session.id)  # type: ignore[union-attr]
        await settle(pilot)
        await say(pilot, f"/export {file}")
        await assert_until(pilot, lambda: on(place.app, ExportDialog))
        await settle(pilot)
        assert field(place, "#where").value == str(file)
        assert place.app.screen.query_one("#format", Select).value == "html"
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert "<html" in file.read_text()
