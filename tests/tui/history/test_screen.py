"""The history browser: found as one types, opened, deleted and brought back."""

import asyncio
from collections.abc import Callable

from textual.pilot import Pilot
from textual.widgets import Input

from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.history.screen import HistoryScreen
from atlas_desktop.tui.setup.unlock import PassphraseScreen
from atlas_desktop.tui.transfer import ExportDialog
from memory.entities import RoomKind
from memory.organising import MarksPatch
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, PASSPHRASE, Stage, history, talk
from tests.tui.driving import assert_until, chat, on, settle, shown, type_text
from tests.tui.payloads import MARKUP, TERMINAL
from tests.tui.test_outside_text import FORBIDDEN

Make = Callable[..., Stage]
SIZE = (120, 40)


async def furnished(make: Make, **options: object) -> Stage:
    clock = FakeClock(NOW)
    store = InMemoryStore(clock)
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
        assert "OR needs a term on each side" in shown(place)
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


async def test_what_is_deleted_is_undone_or_found_in_the_bin(make: Make) -> None:
    place = await furnished(make, resume="last")
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place)
        opened_id = (await place.store.list_sessions())[0].id
        await pilot.press("down", "ctrl+a", "d")
        await settle(pilot)
        assert "6 moved to the bin" in shown(place)
        assert "No conversations. Archived" in shown(place)
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
        for keys in (("right", "left", "enter"), ("right", "enter")):
            assert screen.listing.total == 1
            await pilot.press("delete")
            await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
            await pilot.press(*keys)
            await settle(pilot)
        assert screen.listing.total == 0
        assert len(await place.store.list_sessions()) == 5
        assert not await place.store.list_sessions(binned=True)


async def test_what_is_erased_and_still_stands_elsewhere_is_not_said_to_be_gone(make: Make) -> None:
    place = make()
    said = await talk(place.store, "Locks", [("My bicycle lock code is 4471.", "Noted.")])
    await place.store.fork_session(said.id, str(said.head_id), "Locks (2)")
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("f2")
        await assert_until(pilot, lambda: on(place.app, HistoryScreen) and "2 conversations" in shown(place))
        await pilot.press("down", "delete")
        await settle(pilot)
        await pilot.press("b", "delete")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.press("tab", "enter")
        await settle(pilot)
        (left,) = await place.store.list_sessions()
        await assert_until(pilot, lambda: f"The same text still exists in “{left.title}”." in shown(place))


async def test_into_the_private_room_out_of_sight_when_it_closes_and_back_when_it_opens(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place)
        await pilot.press("down", "down", "v")
        await assert_until(pilot, lambda: on(place.app, PassphraseScreen))
        await type_text(pilot, PASSPHRASE)
        await pilot.press("enter")
        await settle(pilot)
        assert "Moved to the private room." in shown(place)
        assert "private" in shown(place)
        private = place.desk.rooms.private
        assert private is not None
        assert len(await private.store.list_sessions()) == 1
        await pilot.press("ctrl+g")
        await settle(pilot)
        assert screen.listing.total == 5
        assert "Lofoten" not in shown(place)

        await pilot.press("slash", "ctrl+g")
        await assert_until(pilot, lambda: on(place.app, PassphraseScreen))
        await type_text(pilot, PASSPHRASE)
        await pilot.press("enter")
        await settle(pilot)
        assert place.app.screen is screen
        assert screen.listing.total == 6
        assert "Lofoten" in shown(place)


async def test_what_is_selected_is_exported(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await opened(pilot, place)
        await pilot.press("down", "shift+down", "x")
        await assert_until(pilot, lambda: on(place.app, ExportDialog))
        assert "2 conversations" in shown(place)


async def test_a_long_list_is_fetched_where_it_is_looked_at(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
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
        assert "No conversations. Archived" in shown(place)
        screen.query_one("HistoryList").focus()
        assert screen.check_action("history_tag", ()) is False
        assert screen.check_action("history_back", ()) is True
        assert isinstance(screen.focused, Input) or screen.focused is not None
        assert RoomKind.OPEN is place.store.room
        await asyncio.sleep(0)
