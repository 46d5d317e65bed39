"""The finder: everything by one text, by kind, with a preview, and opened where it belongs."""

from collections.abc import Callable

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from atlas_desktop.services.notes.notebook import read_note
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.documents.reader import ReaderScreen
from atlas_desktop.tui.finder.screen import FinderScreen
from atlas_desktop.tui.help import HelpScreen
from atlas_desktop.tui.history.screen import HistoryScreen
from atlas_desktop.tui.memories.screen import MemoryScreen
from atlas_desktop.tui.notes.screen import NotesScreen
from atlas_desktop.tui.settings.screen import SettingsScreen
from atlas_desktop.tui.tasks.screen import TasksScreen
from memory.memories.entities import MemoryKind, MemoryOrigin, MemoryState, NewMemory
from memory.skills.entities import NewSkill, SkillText
from memory.tasks.entities import NewTask, Team
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage, history
from tests.tui.driving import assert_until, chat, command, make_private, on, settle, shown, type_text
from tests.tui.shelves import library

Make = Callable[..., Stage]
SIZE = (140, 45)


async def furnished(make: Make, **options: object) -> Stage:
    """A room with a conversation, a memory, two notes, a document, a skill and a task about tides."""
    clock = FakeClock(NOW)
    store = InMemoryStore(clock)
    await history(clock, store)
    await library(store)
    await store.notes.put(
        [read_note("Harbour", "Slack water is at noon.\n\nMind the tides.\n"), read_note("Tides empty", "")]
    )
    await store.memories.add(
        NewMemory(MemoryKind.FACT, "I live by the tides", MemoryOrigin.PERSON, state=MemoryState.KEPT)
    )
    await store.skills.add(
        NewSkill("tide-tables", SkillText("Reads tide tables", "Look at the tides.")), approved=True
    )
    await store.tasks.add(NewTask("Compare the tide levels of March and April", teams=(Team.RESEARCH,)))
    return make(store=store, **options)


async def opened(pilot: Pilot[None], place: Stage, words: str) -> FinderScreen:
    await settle(pilot)
    await pilot.press("ctrl+k")
    await assert_until(pilot, lambda: on(place.app, FinderScreen))
    await type_text(pilot, words)
    await settle(pilot)
    screen = place.app.screen
    assert isinstance(screen, FinderScreen)
    return screen


def headings(screen: FinderScreen) -> list[str]:
    listing = screen.query_one(OptionList)
    return [str(one.prompt) for one in listing.options if one.disabled]


async def test_one_text_finds_things_of_every_kind_under_their_headings(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place, "tide")
        assert headings(screen) == ["Conversations", "Memories", "Notes", "Documents", "Skills", "Tasks"]
        text = shown(place)
        for sign in (
            "≡ Tides, the moon",
            "◆ I live by",
            "✎ Harbour",
            "▤ Tides",
            "✦ tide-tables",
            "▸ Compare the tide",
        ):
            assert sign in text
        # A note without a text is found by its title.
        assert "✎ Tides empty" in text


@pytest.mark.parametrize(
    ("words", "downs", "screen", "sees"),
    [
        ("letter to the housing", 0, ChatScreen, "Letter to the housing office"),
        ("live by", 0, MemoryScreen, "I live by the tides"),
        ("kind:note slack", 0, NotesScreen, "Slack water is at noon."),
        ("kind:document moon", 0, ReaderScreen, "The moon raises the tides."),
        ("tables", 0, MemoryScreen, "tide-tables"),
        ("levels of march", 0, TasksScreen, "Compare the tide levels of March and April"),
        ("reduced motion", 0, SettingsScreen, "Reduced motion"),
        (">insights", 0, None, "Insights"),
    ],
)
async def test_enter_opens_each_kind_where_it_belongs(
    make: Make, words: str, downs: int, screen: type | None, sees: str
) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await opened(pilot, place, words)
        await pilot.press(*["down"] * downs, "enter")
        await assert_until(pilot, lambda: not on(place.app, FinderScreen) and sees in shown(place))
        if screen is not None:
            assert isinstance(place.app.screen, screen)


async def test_a_setting_opens_with_the_cursor_on_it(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await opened(pilot, place, "reduced motion")
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, SettingsScreen))
        await settle(pilot)
        screen = place.app.screen
        assert isinstance(screen, SettingsScreen)
        assert screen.marked is not None
        assert screen.marked.key == "ui.reduced_motion"


async def test_tab_shows_one_kind_and_shift_tab_all_again(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place, "tides")
        await pilot.press("tab")
        await settle(pilot)
        assert "✓ Conversations" in shown(place)
        assert headings(screen) == []
        assert {row.kind for row in screen._listed if row is not None} == {"conversation"}
        await pilot.press("shift+tab")
        await settle(pilot)
        assert "Memories" in headings(screen)


async def test_a_click_on_a_kind_shows_only_that(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place, "tides")
        line = next(n for n, text in enumerate(shown(place).split("\n")) if "✓ All" in text)
        column = shown(place).split("\n")[line].index("Notes")
        await pilot.click(offset=(column, line))
        await settle(pilot)
        assert {row.kind for row in screen._listed if row is not None} == {"note"}


async def test_without_a_text_the_latest_are_shown(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place, "")
        assert headings(screen)[:2] == ["Conversations · more with Tab", "Memories"]
        assert "Commands" not in headings(screen)


async def test_the_preview_shows_what_is_marked(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await opened(pilot, place, "slack")
        await assert_until(pilot, lambda: "Mind the tides." in shown(place))


async def test_a_half_typed_condition_is_explained_and_keeps_the_results(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place, "tides")
        before = list(screen._listed)
        screen.field.value = "tides before:"
        await settle(pilot)
        assert screen._listed == before
        assert "before:" in shown(place)
        assert str(screen.query_one("#fault").render())


async def test_nothing_found_is_said(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await opened(pilot, place, "zebra xylophone")
        assert "No matches." in shown(place)
        await pilot.press("enter")
        await settle(pilot)
        assert on(place.app, FinderScreen)


async def test_it_opens_over_a_view_and_escape_returns_there(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("f2")
        await assert_until(pilot, lambda: on(place.app, HistoryScreen))
        await opened(pilot, place, "live by")
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, HistoryScreen))
        await opened(pilot, place, "live by")
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, MemoryScreen))
        # The view that was left is not below the new one.
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))


async def test_a_command_acts_on_the_screen_below(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("f2")
        await assert_until(pilot, lambda: on(place.app, HistoryScreen))
        await opened(pilot, place, ">help")
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, HelpScreen))
        assert isinstance(place.app.screen_stack[-2], HistoryScreen)


async def test_a_command_begins_it_with_words(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await command(pilot, "/go slack")
        await assert_until(pilot, lambda: on(place.app, FinderScreen) and "✎ Harbour" in shown(place))


async def test_it_does_not_open_over_a_window_or_while_locked(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("f1")
        await assert_until(pilot, lambda: on(place.app, HelpScreen))
        await pilot.press("ctrl+k")
        await settle(pilot)
        assert on(place.app, HelpScreen)
    locked = make(unlocked=False)
    async with locked.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+k")
        await settle(pilot)
        assert not on(locked.app, FinderScreen)


async def test_conversations_of_the_private_room_are_found_only_while_it_is_open(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        chat(place.app).open_session("last")
        await settle(pilot)
        await make_private(pilot, place)
        screen = await opened(pilot, place, "why twice")
        assert "private Tides, the moon" in shown(place)
        await pilot.press("escape", "ctrl+g")
        await settle(pilot)
        screen = await opened(pilot, place, "why twice")
        assert [row.kind for row in screen._listed if row is not None] == []
