"""Conversations put in order from the history: tags, marks, projects, saved searches, merging."""

from atlas_desktop.tui.dialogs.forms import FieldsScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen, PickScreen
from atlas_desktop.tui.history.actions import SavedScreen
from atlas_desktop.tui.history.screen import HistoryScreen
from tests.tui.driving import assert_until, on, settle, shown, type_text
from tests.tui.history.test_screen import SIZE, Make, furnished, opened, titles


async def test_suggested_tags_are_given_or_refused(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place)
        await pilot.press("down", "space", "shift+down")
        ids = list(screen.listing.selected)
        for session_id in ids:
            await place.store.organising.suggest(session_id, {"sea": 0.9, "north": 0.5})
        await pilot.press("t")
        await assert_until(pilot, lambda: on(place.app, PickScreen))
        for part in ("Type tags", "Add #sea", "Suggested for 2 of them", "Never suggest #north here"):
            assert part in shown(place)
        await pilot.press("down", "enter")
        await settle(pilot)
        assert "2 tagged." in shown(place)
        assert [s.tags for s in await place.store.list_sessions() if s.tags] == [("sea",)] * 2
        await pilot.press("u")
        await settle(pilot)
        assert not any(s.tags for s in await place.store.list_sessions())
        await pilot.press("t")
        await assert_until(pilot, lambda: on(place.app, PickScreen))
        await pilot.press("down", "down", "down", "down", "enter")
        await settle(pilot)
        assert "#north won't be suggested there again." in shown(place)
        left = sorted(one.tag for one in await place.store.organising.suggestions())
        assert left == ["north", "sea", "sea"]
        await pilot.press("t")
        await assert_until(pilot, lambda: on(place.app, PickScreen) or on(place.app, FieldsScreen))


async def test_several_are_tagged_at_once_and_it_is_undone(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place)
        await pilot.press("down", "space", "shift+down")
        assert "2 selected" in shown(place)
        await pilot.press("t")
        await assert_until(pilot, lambda: on(place.app, FieldsScreen))
        await type_text(pilot, "sea, north")
        await pilot.press("enter")
        await settle(pilot)
        assert "2 tagged." in shown(place)
        tagged = [s for s in await place.store.list_sessions() if s.tags]
        assert [s.tags for s in tagged] == [("north", "sea")] * 2
        assert "#north #sea" in shown(place)
        await pilot.press("f")
        await assert_until(pilot, lambda: on(place.app, PickScreen))
        await pilot.press("down", "enter")
        await settle(pilot)
        assert screen.text == "tag:sea"
        assert screen.listing.total == 2
        screen.listing.focus()
        await pilot.press("u")
        await settle(pilot)
        assert not any(s.tags for s in await place.store.list_sessions())


async def test_marks_are_set_and_taken_away(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await opened(pilot, place)
        newest = (await place.store.list_sessions())[0]
        await pilot.press("down", "i")
        await settle(pilot)
        await pilot.press("p")
        await settle(pilot)
        after = await place.store.get_session(newest.id)
        assert after.important
        assert after.pinned_at is not None
        assert "Pinned" in shown(place)
        await pilot.press("p", "a")
        await settle(pilot)
        assert (await place.store.get_session(newest.id)).archived_at is not None
        assert "5 conversations" in shown(place)


async def test_several_become_one_and_come_apart_again(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place)
        await pilot.press("down", "m")
        await settle(pilot)
        assert on(place.app, HistoryScreen)
        await pilot.press("shift+down", "m")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.press("tab", "enter")
        await settle(pilot)
        assert screen.listing.total == 5
        assert max(s.message_count for s in await place.store.list_sessions()) == 8
        await pilot.press("u")
        await settle(pilot)
        assert screen.listing.total == 6
        assert not await place.store.list_sessions(binned=True)


async def test_a_project_is_made_on_the_way(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await opened(pilot, place)
        await pilot.press("down", "g")
        await assert_until(pilot, lambda: on(place.app, PickScreen))
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, FieldsScreen))
        await type_text(pilot, "The sea")
        await pilot.press("enter")
        await settle(pilot)
        assert next(s.project for s in await place.store.list_sessions()) == "The sea"
        assert "Moved to “The sea”." in shown(place)


async def test_a_search_is_saved_and_used_by_its_name(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place, "sourdough")
        await pilot.press("ctrl+s")
        await assert_until(
            pilot, lambda: on(place.app, SavedScreen) and "No saved searches yet" in shown(place)
        )
        await pilot.press("a")
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert "A saved search needs a name and a query." in shown(place)
        await type_text(pilot, "bread")
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, SavedScreen) and "bread" in shown(place))
        await pilot.press("e")
        await pilot.pause()
        await pilot.press("tab")
        await type_text(pilot, " rise")
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, SavedScreen) and "sourdough rise" in shown(place))
        await pilot.press("escape")
        screen.put("")
        screen.field.focus()
        await type_text(pilot, "@bread")
        await settle(pilot)
        assert titles(screen) == ["Sourdough that does not rise"]
        await type_text(pilot, "x")
        await settle(pilot)
        assert "No saved search has that name" in shown(place)
