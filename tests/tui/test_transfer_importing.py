"""The window that imports: it looks first, and takes in beside the conversation."""

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.widgets import Checkbox, Input, Select, Static

from atlas_desktop.tui.transfer import ImportDialog
from memory.entities import MemoryMode
from tests.tui.desk import Stage
from tests.tui.driving import assert_until, on, say, settle, shown
from tests.unit.importing.exports import chatgpt, everything, node, write


def export(file: Path, *, count: int = 3) -> None:
    talks = [
        chatgpt(
            node(f"{n}-u", "root", "user", "Where to?"),
            node(f"{n}-a", f"{n}-u", "assistant", "Lofoten."),
            conversation_id=f"c{n}",
            title=f"Trip {n}",
        )
        for n in range(count)
    ]
    write(file, [*talks, {"title": "secret"}])


def told(place: Stage) -> str:
    return "\n".join(one.message for one in place.app._notifications)


async def test_what_is_named_is_looked_into_and_then_taken_in(
    make: Callable[..., Stage], tmp_path: Path
) -> None:
    place = make()
    file = tmp_path / "export.json"
    export(file)
    async with place.app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await say(pilot, f"/import {file}")
        await assert_until(pilot, lambda: on(place.app, ImportDialog))
        await settle(pilot)
        screen = shown(place)
        for part in (
            "export.json: ChatGPT",
            "6 messages to import, 3 new conversations",
            "From 14 Nov 2023.",
            "1 skipped:",
        ):
            assert part in screen
        assert "secret" not in screen
        assert await everything(place.store) == []
        place.app.screen.query_one("#project", Input).value = "Trips"
        place.app.screen.query_one("#memory", Select).value = MemoryMode.READS
        await pilot.press("enter")
        await settle(pilot)
        assert not on(place.app, ImportDialog)
        came = {(one.project, one.memory_mode) for one in await everything(place.store)}
        assert came == {("Trips", MemoryMode.READS)}
        assert "6 messages imported, 3 new conversations" in told(place)
        assert "Trip 2" in shown(place)
        assert place.app.background == ""


async def test_from_what_comes_in_is_learned_only_when_that_is_ticked(
    make: Callable[..., Stage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make()
    asked: list[str] = []

    async def learn_everything() -> None:
        asked.append("learn")

    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        monkeypatch.setattr(place.app.room.learning, "everything", learn_everything)
        for name, learn in (("a", False), ("b", True)):
            folder = tmp_path / name
            folder.mkdir()
            talk = chatgpt(node(f"{name}-u", "root", "user", f"Hi {name}"), conversation_id=name)
            write(folder / "talk.json", [talk])
            await place.app.push_screen(ImportDialog(str(folder)))
            await settle(pilot)
            place.app.screen.query_one("#learn", Checkbox).value = learn
            await pilot.press("ctrl+s")
            await settle(pilot)
            assert bool(asked) is learn
        assert len(await everything(place.store)) == 2


async def test_enter_on_scan_scans_and_then_imports(make: Callable[..., Stage], tmp_path: Path) -> None:
    place = make()
    write(tmp_path / "talk.json", [chatgpt(node("a-u", "root", "user", "Hi"), conversation_id="a")])
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await place.app.push_screen(ImportDialog())
        await settle(pilot)
        place.app.screen.query_one("#where", Input).value = str(tmp_path)
        place.app.screen.query_one("#look").focus()
        await pilot.press("enter")
        await assert_until(pilot, lambda: "Press Enter to import" in shown(place))
        await pilot.press("enter")
        await settle(pilot)
        assert len(await everything(place.store)) == 1


async def test_what_cannot_be_imported_is_said_in_the_window(
    make: Callable[..., Stage], tmp_path: Path
) -> None:
    place = make()
    (tmp_path / "notes.txt").write_text("milk, bread")
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await place.app.push_screen(ImportDialog())
        await settle(pilot)
        field = place.app.screen.query_one("#where", Input)
        for given, words in (
            ("", "Enter a path."),
            (str(tmp_path / "nowhere.zip"), "does not exist."),
            (str(tmp_path / "notes.txt"), "No conversations found."),
        ):
            field.value = given
            await pilot.press("enter")
            await settle(pilot)
            assert words in " ".join(shown(place).split())
        await pilot.press("escape")
        await settle(pilot)
        assert not on(place.app, ImportDialog)
        assert await everything(place.store) == []


async def test_the_reason_why_there_is_nothing_is_in_the_window(
    make: Callable[..., Stage], tmp_path: Path
) -> None:
    place = make()
    file = tmp_path / "export.json"
    write(file, b'[{"uuid": "c", "chat_messages": [{"uu')
    async with place.app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await say(pilot, f"/import {file}")
        await assert_until(pilot, lambda: on(place.app, ImportDialog))
        await settle(pilot)
        state = place.app.screen.query_one("#state", Static)
        assert "export.json: the file ends in the middle of it." in str(state.render())
        assert "the file ends in the" in shown(place)


async def test_what_was_left_out_is_told_to_whoever_did_not_look(
    make: Callable[..., Stage], tmp_path: Path
) -> None:
    place = make()
    file = tmp_path / "export.json"
    export(file)
    async with place.app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await say(pilot, "/import")
        await assert_until(pilot, lambda: on(place.app, ImportDialog))
        place.app.screen.query_one("#where", Input).value = str(file)
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert "1 skipped, the first one export.json:4: not a conversation" in told(place)
