"""Conversations put in order from the history: tags, marks, projects, saved searches, merging."""

from dataclasses import replace

from textual.widgets import Input

from atlas_desktop.tui.dialogs.forms import FieldsScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen, PickScreen, RenameScreen
from atlas_desktop.tui.history.actions import SavedScreen
from atlas_desktop.tui.history.screen import HistoryScreen
from atlas_desktop.tui.widgets import CompletionMenu
from memory.entities import SessionPatch, TitleSource
from memory.organising import MarksPatch
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
        await assert_until(pilot, lambda: "#north" in shown(place))
        for part in ("#sea", "suggested from similar conversations", "With - before it"):
            assert part in shown(place)
        await pilot.press("down", "enter")
        assert place.app.screen.query_one(Input).value == "sea, "
        assert "#north" in shown(place)
        await pilot.press("enter")
        await settle(pilot)
        assert "2 tagged." in shown(place)
        assert [s.tags for s in await place.store.list_sessions() if s.tags] == [("sea",)] * 2
        await pilot.press("u")
        await settle(pilot)
        assert not any(s.tags for s in await place.store.list_sessions())
        await pilot.press("t")
        await assert_until(pilot, lambda: on(place.app, FieldsScreen))
        await type_text(pilot, "-north")
        await pilot.press("enter")
        await settle(pilot)
        assert "Not suggested there again: #north" in shown(place)
        left = sorted(one.tag for one in await place.store.organising.suggestions())
        assert left == ["sea", "sea"]


async def test_a_tag_can_have_spaces_and_those_in_use_are_offered(make: Make) -> None:
    place = await furnished(make)
    sessions = await place.store.list_sessions()
    await place.store.organising.apply([sessions[-1].id], MarksPatch(add_tags=("winter plan", "wine")))
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place)
        await pilot.press("down")
        marked = screen.listing.marked
        assert marked is not None
        await pilot.press("t")
        await assert_until(pilot, lambda: on(place.app, FieldsScreen))
        await type_text(pilot, "old house, win")
        await assert_until(pilot, lambda: "#winter plan" in shown(place) and "#wine" in shown(place))
        # What is typed is as good as what is offered: Enter takes it as it is.
        assert place.app.screen.query_one(CompletionMenu).picked is None
        await type_text(pilot, "t")
        await pilot.press("down", "enter", "enter")
        await settle(pilot)
        assert (await place.store.get_session(marked.session.id)).tags == ("old house", "winter plan")


async def test_a_tag_that_is_too_long_is_said_where_it_is_typed(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await opened(pilot, place)
        await pilot.press("down", "t")
        await assert_until(pilot, lambda: on(place.app, FieldsScreen))
        await type_text(pilot, "x" * 41)
        await pilot.press("enter")
        await assert_until(pilot, lambda: "Tags can have 1 to 40 characters" in shown(place))
        assert on(place.app, FieldsScreen)


async def test_a_conversation_is_renamed_and_the_old_title_comes_back(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place)
        await pilot.press("down")
        marked = screen.listing.marked
        assert marked is not None
        made = SessionPatch(title=marked.session.title, title_source=TitleSource.MODEL)
        marked = replace(marked, session=await place.store.update_session(marked.session.id, made))
        screen.reload()
        await settle(pilot)
        await pilot.press("e")
        await assert_until(pilot, lambda: on(place.app, RenameScreen))
        await pilot.press("home", "shift+end")
        await type_text(pilot, "All about ferries")
        await pilot.press("enter")
        await settle(pilot)
        assert "Renamed to “All about ferries”." in shown(place)
        assert "All about ferries" in titles(screen)
        await pilot.press("u")
        await settle(pilot)
        now = await place.store.get_session(marked.session.id)
        assert (now.title, now.title_source) == (marked.session.title, marked.session.title_source)


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


async def test_the_cursor_stays_on_a_conversation_that_moves(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place)
        await pilot.press("down", "down", "down", "down")
        marked = screen.listing.marked
        assert marked is not None
        await pilot.press("p")
        await settle(pilot)
        assert screen.listing.cursor == 0
        await pilot.press("s")
        await settle(pilot)
        after = await place.store.get_session(marked.session.id)
        assert after.pinned_at is not None
        assert after.starred


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


async def test_a_project_is_chosen_by_typing_its_name_and_no_other_by_mistake(make: Make) -> None:
    place = await furnished(make)
    for name in ("Allotment", "Winter plans"):
        await place.store.projects.create(name)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place)
        await pilot.press("down")
        marked = screen.listing.marked
        assert marked is not None
        await pilot.press("g")
        await assert_until(pilot, lambda: on(place.app, PickScreen))
        await type_text(pilot, "Wintre")
        await assert_until(pilot, lambda: "“Wintre”: no match" in shown(place))
        await pilot.press("enter")
        await pilot.pause()
        assert on(place.app, PickScreen)
        await pilot.press("backspace", "backspace", "enter")
        await settle(pilot)
        assert (await place.store.get_session(marked.session.id)).project == "Winter plans"
