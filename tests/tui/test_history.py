"""The history browser: found as one types, selected, put in order, deleted and brought back."""

import asyncio
from collections.abc import Callable

from textual.pilot import Pilot
from textual.widgets import Input

from atlas_desktop.tui.screens.chat import ChatScreen
from atlas_desktop.tui.screens.confirm import ConfirmScreen
from atlas_desktop.tui.screens.exporting import ExportDialog
from atlas_desktop.tui.screens.fields import FieldsScreen
from atlas_desktop.tui.screens.history import HistoryScreen
from atlas_desktop.tui.screens.passphrase import PassphraseScreen
from atlas_desktop.tui.screens.pick import PickScreen
from atlas_desktop.tui.screens.saved_searches import SavedScreen
from memory.entities import RoomKind
from memory.organising.entities import MarksPatch
from memory.testing import FakeClock, InMemorySessionStore
from tests.tui.desk import NOW, PASSPHRASE, Stage, history
from tests.tui.driving import assert_until, chat, on, settle, shown, type_text
from tests.tui.payloads import MARKUP, TERMINAL
from tests.tui.test_outside_text import FORBIDDEN

Make = Callable[..., Stage]
SIZE = (120, 40)


async def furnished(make: Make, **options: object) -> Stage:
    clock = FakeClock(NOW)
    store = InMemorySessionStore(clock)
    await history(clock, store)
    return make(store=store, **options)


async def opened(pilot: Pilot[None], place: Stage, query: str = "") -> HistoryScreen:
    await settle(pilot)
    await pilot.press("f2")
    await settle(pilot)
    await assert_until(pilot, lambda: on(place.app, HistoryScreen) and "6 conversations" in shown(place))
    if query:
        await type_text(pilot, query)
        await settle(pilot)
    screen = place.app.screen
    assert isinstance(screen, HistoryScreen)
    return screen


def titles(screen: HistoryScreen) -> list[str]:
    return [hit.session.title for _, hit in sorted(screen.listing.fetched)]


async def test_everything_is_listed_by_day_and_shown_beside(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place)
        text = shown(place)
        for word in ("Today", "Yesterday", "Mon, 9 Mar", "Feb 2026", "Tides, the moon", "4 messages"):
            assert word in text
        await assert_until(pilot, lambda: "Because the Earth turns" in shown(place))
        await pilot.press("down", "down")
        await assert_until(pilot, lambda: "What should we not miss" in shown(place))
        await pilot.press("up", "up", "up")
        assert screen.field.has_focus


async def test_typing_finds_and_enter_opens_at_the_message(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place, "henningsv")
        assert titles(screen) == ["A weekend in the Lofoten islands, with ferries, huts and rain"]
        assert "galleries, fish soup" in shown(place)
        hit = screen.listing.marked
        assert hit is not None
        assert hit.snippet is not None
        assert [hit.snippet.text[a:b] for a, b in hit.snippet.marks] == ["Henningsvær"]
        await pilot.press("enter")
        await settle(pilot)
        assert chat(place.app).current.id == hit.session.id
        selected = chat(place.app).transcript.selected
        assert selected is not None
        assert hit.message is not None
        assert selected == hit.message.id


async def test_search_begins_with_its_words_and_a_half_typed_query_keeps_what_was_found(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await type_text(pilot, "/search sourdough")
        await pilot.press("enter")
        await settle(pilot)
        screen = place.app.screen
        assert isinstance(screen, HistoryScreen)
        assert titles(screen) == ["Sourdough that does not rise"]
        await type_text(pilot, " OR")
        await settle(pilot)
        assert "OR joins what stands on its two sides" in shown(place)
        assert titles(screen) == ["Sourdough that does not rise"]
        await pilot.press("escape")
        await settle(pilot)
        assert screen.listing.total == 6
        await pilot.press("escape")
        assert on(place.app, ChatScreen)


async def test_filters_are_a_key_away_and_stand_in_the_query(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place)
        await pilot.press("down", "s")
        await settle(pilot)
        await pilot.press("1")
        await settle(pilot)
        assert screen.text == "is:starred"
        assert titles(screen) == ["Tides, the moon, and why twice a day"]
        assert "✓ Starred" in shown(place)
        await pilot.press("1")
        await settle(pilot)
        assert screen.text == ""
        assert screen.listing.total == 6
        await pilot.click("#chips", offset=(3, 0))
        await settle(pilot)
        assert screen.text == "is:starred"


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
        for part in ("Type tags", "Give #sea", "Suggested for 2 of them", "Never suggest #north here"):
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
        assert "#north is not suggested there again." in shown(place)
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


async def test_what_is_deleted_is_undone_or_found_in_the_bin(make: Make) -> None:
    place = await furnished(make, resume="last")
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place)
        opened_id = (await place.store.list_sessions())[0].id
        await pilot.press("down", "ctrl+a", "d")
        await settle(pilot)
        assert "6 deleted" in shown(place)
        assert "No conversations yet" in shown(place)
        await pilot.press("ctrl+z")
        await settle(pilot)
        assert screen.listing.total == 6
        screen.listing.focus()
        await pilot.press("home", "d")
        await settle(pilot)
        await pilot.press("b")
        await settle(pilot)
        assert titles(screen) == ["Tides, the moon, and why twice a day"]
        assert "Bin" in shown(place)
        await pilot.press("enter")
        assert on(place.app, HistoryScreen)
        await pilot.press("r")
        await settle(pilot)
        assert screen.listing.total == 0
        assert (await place.store.get_session(opened_id)).deleted_at is None
        await pilot.press("escape")
        await settle(pilot)
        assert screen.listing.total == 6
        await pilot.press("escape")
        await settle(pilot)
        assert chat(place.app).current.id is None


async def test_the_bin_erases_for_good_after_a_question(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place)
        await pilot.press("down", "delete")
        await settle(pilot)
        await pilot.press("b", "delete")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.press("escape")
        await settle(pilot)
        assert screen.listing.total == 1
        await pilot.press("delete")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.press("tab", "enter")
        await settle(pilot)
        assert screen.listing.total == 0
        assert len(await place.store.list_sessions()) == 5
        assert not await place.store.list_sessions(binned=True)


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
        assert "Put into “The sea”." in shown(place)


async def test_a_search_is_saved_and_used_by_its_name(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place, "sourdough")
        await pilot.press("ctrl+s")
        await assert_until(pilot, lambda: on(place.app, SavedScreen) and "none yet" in shown(place))
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
        assert "no saved search" in shown(place)


async def test_into_the_private_room_and_out_of_sight_when_it_closes(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place)
        await pilot.press("down", "down", "v")
        await assert_until(pilot, lambda: on(place.app, PassphraseScreen))
        await type_text(pilot, PASSPHRASE)
        await pilot.press("enter")
        await settle(pilot)
        assert "In the private room now." in shown(place)
        assert "private" in shown(place)
        private = place.desk.rooms.private
        assert private is not None
        assert len(await private.store.list_sessions()) == 1
        await place.desk.rooms.leave_private()
        await settle(pilot)
        assert screen.listing.total == 5
        assert "Lofoten" not in shown(place)


async def test_what_is_selected_is_exported(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await opened(pilot, place)
        await pilot.press("down", "shift+down", "x")
        await assert_until(pilot, lambda: on(place.app, ExportDialog))
        assert "2 conversations" in shown(place)


async def test_a_long_list_is_fetched_where_it_is_looked_at(make: Make) -> None:
    store = InMemorySessionStore(FakeClock(NOW))
    from memory.entities import NewMessage, NewSession
    from models.messages import Role

    for number in range(500):
        await store.create_session(NewSession(f"Talk {number}"), NewMessage(Role.USER, "words"))
    place = make(store=store)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("f2")
        await assert_until(pilot, lambda: "500 conversations" in shown(place))
        screen = place.app.screen
        assert isinstance(screen, HistoryScreen)
        assert len(dict(screen.listing.fetched)) == 30
        await pilot.press("down", "end")
        await settle(pilot)
        assert "Talk 0 " in shown(place)
        assert 30 < len(dict(screen.listing.fetched)) <= 120
        await pilot.press("ctrl+a")
        await settle(pilot)
        assert "500 selected" in shown(place)


async def test_what_others_wrote_cannot_draw_on_the_screen(make: Make) -> None:
    place = await furnished(make)
    newest = (await place.store.list_sessions())[0]
    evil = "moonshine " + "".join(TERMINAL + MARKUP)
    await place.store.organising.apply([newest.id], MarksPatch(add_tags=(evil,)))
    from memory.entities import NewMessage, SessionPatch
    from models.messages import Role

    await place.store.update_session(newest.id, SessionPatch(title=evil))
    await place.store.append_message(newest.id, NewMessage(Role.USER, evil))
    async with place.app.run_test(size=SIZE) as pilot:
        await opened(pilot, place, "moonshine")
        text = shown(place)
        assert "moonshine" in text
        assert FORBIDDEN.search(text) is None


async def test_only_what_can_be_done_is_offered(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("f2")
        await settle(pilot)
        screen = place.app.screen
        assert "No conversations yet" in shown(place)
        screen.query_one("HistoryList").focus()
        assert screen.check_action("history_tag", ()) is False
        assert screen.check_action("history_back", ()) is True
        assert isinstance(screen.focused, Input) or screen.focused is not None
        assert RoomKind.OPEN is place.store.room
        await asyncio.sleep(0)
