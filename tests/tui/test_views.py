"""One key leads from one view over the conversation to another."""

from collections.abc import Callable

from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.documents.screen import DocumentsScreen
from atlas_desktop.tui.help import ActionCommands
from atlas_desktop.tui.history.screen import HistoryScreen
from atlas_desktop.tui.insights.screen import InsightsScreen
from atlas_desktop.tui.memories.screen import MemoryScreen
from atlas_desktop.tui.notes.screen import NotesScreen
from tests.tui.desk import Stage, talk
from tests.tui.driving import on, settle, shown, type_text

Make = Callable[..., Stage]

_ROUND = (
    ("f2", HistoryScreen),
    ("f3", MemoryScreen),
    ("f4", InsightsScreen),
    ("f7", DocumentsScreen),
    ("f8", NotesScreen),
    ("f2", HistoryScreen),
)


async def test_a_key_leads_from_one_view_to_another_and_its_own_back(make: Make) -> None:
    place = make()
    await talk(place.store, "The bread", [("How long?", "An hour.")])
    async with place.app.run_test() as pilot:
        await settle(pilot)
        depth = len(place.app.screen_stack)
        for key, screen in _ROUND:
            await pilot.press(key)
            await settle(pilot)
            assert on(place.app, screen)
            assert len(place.app.screen_stack) == depth + 1
        await type_text(pilot, "bread")
        await pilot.press("f2")
        await settle(pilot)
        assert on(place.app, HistoryScreen)  # What is looked for is taken back first.
        assert "bread" not in shown(place).splitlines()[1]
        await pilot.press("f2")
        await settle(pilot)
        assert on(place.app, ChatScreen)
        assert place.app.focused is place.app.screen.query_one("#prompt")


async def test_the_palette_offers_the_other_views(make: Make) -> None:
    place = make()
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("f4")
        await settle(pilot)
        screen = place.app.screen
        offered = {action.id for action in ActionCommands(screen)._available()}
        assert "session.rename" not in offered
        for wanted, view in (("history", HistoryScreen), ("memories", MemoryScreen)):
            depth = len(place.app.screen_stack)
            await pilot.press("ctrl+p")
            await settle(pilot)
            assert len(place.app.screen_stack) == depth + 1
            await type_text(pilot, wanted)
            await settle(pilot)
            await pilot.press("enter")
            await settle(pilot)
            assert on(place.app, view)
            assert len(place.app.screen_stack) == depth


async def test_a_key_of_ones_own_leads_there_and_back(make: Make) -> None:
    place = make()
    place.app.desk.settings_file.set("keys.memory.show", "f11")
    place.app.appearance.apply_all()
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("f2")
        await settle(pilot)
        await pilot.press("f11")
        await settle(pilot)
        assert on(place.app, MemoryScreen)
        await pilot.press("f11")
        await settle(pilot)
        assert on(place.app, ChatScreen)
