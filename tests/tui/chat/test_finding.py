"""Finding in a conversation, earlier prompts, the editor, and the words above the conversation."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import Static

from atlas_desktop.tui.chat.composer import EarlierPromptsScreen
from atlas_desktop.tui.chat.finding import FindBar
from atlas_desktop.tui.chat.status import HeadLine
from atlas_desktop.tui.dialogs.questions import PickScreen
from memory.entities import MemoryMode, RoomKind
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage, history, talk
from tests.tui.driving import assert_until, chat, command, on, settle, shown, type_text

Make = Callable[..., Stage]
SIZE = (140, 45)


async def long_talk(make: Make) -> Stage:
    """A conversation of eighty turns; the seventh, fortieth and last mention a heron."""
    store = InMemoryStore(clock := FakeClock(NOW))
    await history(clock, store)
    turns = [
        (
            f"Question {n}",
            f"Answer {n}: {'a Heron stands there' if n in (7, 40, 79) else 'nothing'}.\n\n"
            + "More of it.\n\n" * 8,
        )
        for n in range(80)
    ]
    await talk(store, "Birds", turns)
    return make(store=store, resume="last")


async def open_bar(pilot: Pilot[None], place: Stage, words: str) -> FindBar:
    await settle(pilot)
    await pilot.press("ctrl+f")
    bar = chat(place.app).query_one(FindBar)
    await assert_until(pilot, lambda: bar.is_open)
    await type_text(pilot, words)
    await settle(pilot)
    return bar


async def test_the_newest_match_is_shown_first_and_keys_go_around(make: Make) -> None:
    place = await long_talk(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await open_bar(pilot, place, "heron")
        for key, number, answer in (
            ("", "3 of 3", "Answer 79: a Heron"),
            ("up", "2 of 3", "Answer 40: a Heron"),
            ("up", "1 of 3", "Answer 7: a Heron"),
            ("up", "3 of 3", "Answer 79: a Heron"),
            ("down", "1 of 3", "Answer 7: a Heron"),
            ("enter", "2 of 3", "Answer 40: a Heron"),
        ):
            await pilot.press(*([key] if key else []))
            await settle(pilot)
            await assert_until(pilot, lambda n=number, a=answer: n in shown(place) and a in shown(place))  # type: ignore[misc]


def _marked(place: Stage) -> list[tuple[str, list[str]]]:
    """The marked messages, each with its highlighted words."""
    return [
        (
            block.message.content.split(":")[0],
            [
                part.content.plain[span.start : span.end]
                for part in block.query(Static).results(Static)
                if isinstance(part.content, Content) and not part.has_class("head")
                for span in part.content.spans
                if "underline" in str(span.style)
            ],
        )
        for block in chat(place.app).transcript.blocks
        if block.has_class("-selected")
    ]


async def test_the_message_and_its_words_are_marked_until_the_line_is_closed(make: Make) -> None:
    place = await long_talk(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await open_bar(pilot, place, "heron")
        await assert_until(pilot, lambda: _marked(place) == [("Answer 79", ["Heron"])])
        await pilot.press("up")
        await assert_until(pilot, lambda: _marked(place) == [("Answer 40", ["Heron"])])
        await type_text(pilot, "s")
        await assert_until(pilot, lambda: "No matches." in shown(place))
        assert _marked(place) == []
        await pilot.press("backspace")
        await assert_until(pilot, lambda: _marked(place) == [("Answer 79", ["Heron"])])
        await pilot.press("escape")
        await settle(pilot)
        assert _marked(place) == []


async def test_nothing_found_is_said_and_escape_returns_to_the_prompt(make: Make) -> None:
    place = await long_talk(make)
    async with place.app.run_test(size=SIZE) as pilot:
        bar = await open_bar(pilot, place, "zebra")
        assert "No matches." in shown(place)
        await pilot.press("escape")
        await settle(pilot)
        assert not bar.is_open
        assert chat(place.app).prompt.has_focus


async def test_a_command_finds_words_here(make: Make) -> None:
    place = await long_talk(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await command(pilot, "/find heron")
        await assert_until(pilot, lambda: "3 of 3" in shown(place))


async def test_up_in_a_new_conversation_recalls_what_was_sent_in_others(make: Make) -> None:
    store = InMemoryStore(clock := FakeClock(NOW))
    await history(clock, store)
    place = make(store=store)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("up")
        await settle(pilot)
        assert chat(place.app).prompt.text == "And at new moon?"
        await pilot.press("up")
        assert chat(place.app).prompt.text == "Why are there two high tides a day?"


async def test_earlier_prompts_are_searched_and_put_into_the_prompt(make: Make) -> None:
    store = InMemoryStore(clock := FakeClock(NOW))
    await history(clock, store)
    place = make(store=store)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("alt+r")
        await assert_until(pilot, lambda: on(place.app, EarlierPromptsScreen))
        await assert_until(pilot, lambda: "high tides" in shown(place))
        await type_text(pilot, "pack")
        await assert_until(pilot, lambda: "high tides" not in shown(place))
        assert "packing list" in shown(place)
        await pilot.press("enter")
        await settle(pilot)
        assert chat(place.app).prompt.text == "Can you make a packing list as a Python list?"


@contextmanager
def handed_over() -> Iterator[None]:
    yield


def editor(folder: Path, lines: str) -> str:
    """A program that is called as an editor."""
    script = folder / "editor.sh"
    script.write_text(f"#!/bin/sh\n{lines}\n")
    script.chmod(0o700)
    return str(script)


async def test_the_editor_gets_what_is_typed_and_gives_back_its_text(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    monkeypatch.setenv(
        "VISUAL", editor(tmp_path, f'cp "$1" {seen}; stat -c %a "$1" >> {seen}; echo more >> "$1"')
    )
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        monkeypatch.setattr(place.app, "suspend", handed_over)
        await type_text(pilot, "a draft ")
        await pilot.press("alt+e")
        await settle(pilot)
        assert chat(place.app).prompt.text == "a draft more"
        assert seen.read_text() == "a draft 600\n"
        assert not place.desk.paths.editing.exists()


@pytest.mark.parametrize(
    ("command_", "said"), [("", "No editor is set."), ("no-such-editor-here", "was not found")]
)
async def test_without_an_editor_it_says_what_to_set(
    make: Make, monkeypatch: pytest.MonkeyPatch, command_: str, said: str
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", command_)
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await type_text(pilot, "kept")
        await pilot.press("alt+e")
        await settle(pilot)
        assert any(said in one.message for one in place.app._notifications)
        assert chat(place.app).prompt.text == "kept"


async def test_off_the_record_nothing_goes_to_an_editor(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "true")
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await command(pilot, "/off")
        await pilot.press("alt+e")
        await settle(pilot)
        assert any("Only in the open room" in one.message for one in place.app._notifications)


async def test_what_a_killed_program_left_for_an_editor_is_removed_at_the_start(make: Make) -> None:
    place = make()
    folder = place.desk.paths.editing
    folder.mkdir(parents=True)
    (folder / "message.md").write_text("secret")
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert not folder.exists()


@pytest.mark.parametrize(
    ("word", "choice"), [("memory normal", "Memory read only"), ("open room", "Move to private")]
)
async def test_a_click_on_a_word_above_the_conversation_offers_its_changes(
    make: Make, word: str, choice: str
) -> None:
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        head = chat(place.app).query_one(HeadLine)
        await pilot.click(HeadLine, offset=(str(head.render()).index(word) + 3, 0))
        await assert_until(pilot, lambda: on(place.app, PickScreen))
        assert "scripted" not in str(place.app.screen.query("OptionList"))


async def test_the_memory_mode_is_changed_by_a_click(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        head = chat(place.app).query_one(HeadLine)
        await pilot.click(HeadLine, offset=(str(head.render()).index("memory normal") + 3, 0))
        await assert_until(pilot, lambda: on(place.app, PickScreen))
        await pilot.press("down", "enter")
        await settle(pilot)
        assert chat(place.app).view.destination == (RoomKind.OPEN, MemoryMode.READS)


async def test_a_click_on_the_model_shows_the_models(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    place = make()
    opened: list[str] = []
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        monkeypatch.setattr(place.app, "action_show_models", lambda: opened.append("models"))
        head = chat(place.app).query_one(HeadLine)
        await pilot.click(HeadLine, offset=(str(head.render()).index("scripted") + 3, 0))
        await assert_until(pilot, lambda: opened == ["models"])
