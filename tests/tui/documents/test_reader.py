"""The reader: a document's text with search, quotations and an outline."""

from collections.abc import Callable

import pytest
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Input

from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.dialogs.questions import ErrorScreen, PickScreen
from atlas_desktop.tui.documents.reader import ReaderScreen
from memory.documents.entities import FileFacts, NewDocument, ParsedText
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage
from tests.tui.driving import assert_until, chat, on, settle, shown, type_text
from tests.tui.shelves import FERRIES, TIDES, library, shelve

Make = Callable[..., Stage]


async def stocked() -> tuple[InMemoryStore, dict[str, str]]:
    store = InMemoryStore(FakeClock(NOW))
    return store, await library(store)


async def read(
    pilot: Pilot[None], place: Stage, document_id: str, passage: tuple[int, int] | None = None
) -> ReaderScreen:
    """Opens the reader over the conversation; what it is left with is done there."""
    await settle(pilot)
    room = place.desk.room
    assert room is not None
    screen = ReaderScreen(place.app, room, document_id, passage=passage)
    place.app.push_screen(screen, chat(place.app).documents.left)
    await settle(pilot)
    return screen


def selected(screen: ReaderScreen) -> tuple[int, int] | None:
    """The selected range, asked anew each time."""
    return screen.view.selected


async def test_it_opens_at_a_passage_with_pages_marked(make: Make) -> None:
    store, ids = await stocked()
    place = make(store=store)
    begin = TIDES.index("At new moon")
    async with place.app.run_test(size=(100, 24)) as pilot:
        await read(pilot, place, ids["tides"], (begin, begin + 11))
        await assert_until(pilot, lambda: "▌ At new moon they are highest" in shown(place))
        assert "── Page 2 ─" in shown(place)
        await pilot.press("home")
        await assert_until(pilot, lambda: "── Page 1 ─" in shown(place))
        assert "Tides · page 1 of 2" in shown(place)
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))


async def test_search_goes_from_match_to_match_and_copies_with_the_source(make: Make) -> None:
    store, ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(100, 24), notifications=True) as pilot:
        await read(pilot, place, ids["ferries"])
        await pilot.press("y")
        await assert_until(pilot, lambda: "Select text first" in shown(place))
        await pilot.press("slash")
        await type_text(pilot, "FERRY")
        await pilot.press("enter")
        await assert_until(pilot, lambda: "match 1 of 2" in shown(place))
        await pilot.press("y")
        await assert_until(pilot, lambda: "Copied, with its source." in shown(place))
        assert place.app.clipboard == (
            "“The ferry leaves Bodø at eight and reaches Moskenes at noon.”\n— Ferries of the north, line 5"
        )
        await pilot.press("n")
        await assert_until(pilot, lambda: "match 2 of 2" in shown(place))
        await pilot.press("N")
        await assert_until(pilot, lambda: "match 1 of 2" in shown(place))
        await pilot.press("slash")
        place.app.screen.query_one(Input).value = "zebra"
        await pilot.press("enter")
        await assert_until(pilot, lambda: "no matches for “zebra”" in shown(place))
        for _ in range(2):
            await pilot.press("escape")
            await settle(pilot)
            assert on(place.app, ReaderScreen)
        assert "zebra" not in shown(place)
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))


async def test_words_typed_at_once_are_searched_for(make: Make) -> None:
    store, ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(100, 24)) as pilot:
        await read(pilot, place, ids["ferries"])
        for key, sign in (("slash", "/"), *zip("ferry", "ferry", strict=True), ("enter", None)):
            place.app.post_message(Key(key, sign))
        await assert_until(pilot, lambda: "match 1 of 2" in shown(place))


async def test_a_selection_is_copied_and_asked_about(make: Make) -> None:
    store, ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(100, 24), notifications=True) as pilot:
        screen = await read(pilot, place, ids["ferries"])
        await pilot.press("shift+down", "shift+down", "shift+down", "shift+up")
        assert selected(screen) == (0, FERRIES.index("Times in summer"))
        await pilot.press("escape")
        assert selected(screen) is None
        # With the mouse: from one row to another.
        await pilot.mouse_down("#text", offset=(2 + 4, 4))
        await pilot.hover("#text", offset=(2 + 9, 4))
        await pilot.mouse_up("#text", offset=(2 + 9, 4))
        await settle(pilot)
        await pilot.press("y")
        await settle(pilot)
        assert place.app.clipboard == "“ferry”\n— Ferries of the north, line 5"
        await pilot.press("a")
        await assert_until(
            pilot, lambda: on(place.app, ChatScreen) and "used with next message" in shown(place)
        )
        assert chat(place.app).prompt.text == "“ferry”\n— Ferries of the north, line 5\n\n"
        assert [one.id for one in chat(place.app).current.documents] == [ids["ferries"]]


async def test_the_outline_leads_to_headings(make: Make) -> None:
    store, ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(100, 8)) as pilot:
        screen = await read(pilot, place, ids["ferries"])
        await pilot.press("o")
        await assert_until(pilot, lambda: on(place.app, PickScreen))
        await pilot.press("end", "enter")
        await assert_until(pilot, lambda: on(place.app, ReaderScreen) and "ten." in shown(place))
        assert screen.view.top > 0


async def test_the_place_stays_when_the_width_changes(make: Make) -> None:
    store, ids = await stocked()
    place = make(store=store)
    begin = TIDES.index("At new moon")
    async with place.app.run_test(size=(100, 10)) as pilot:
        screen = await read(pilot, place, ids["tides"])
        screen.view.go_to(200)
        await settle(pilot)
        top = screen.view.top
        await pilot.resize_terminal(60, 10)
        await settle(pilot)
        begin, end = screen.view._rows.range_of(screen.view._rows.row_at(screen.view.top))
        assert begin <= top < end


async def test_a_document_that_is_gone_is_explained(make: Make) -> None:
    store, ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(100, 24)) as pilot:
        await settle(pilot)
        await store.documents.erase([ids["tides"]])
        await read(pilot, place, ids["tides"])
        await assert_until(pilot, lambda: on(place.app, ChatScreen) or on(place.app, ErrorScreen))
        assert not any(isinstance(one, ReaderScreen) for one in place.app.screen_stack)


async def test_wide_signs_tabs_and_control_signs_are_drawn_safely(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    text = "漢字" * 60 + "\n\tindented\nover\u202eride\n"
    document_id = await shelve(store, "/home/ada/wide.md", text)
    place = make(store=store)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await read(pilot, place, document_id)
        await assert_until(pilot, lambda: "    indented" in shown(place))
        assert "override" in shown(place)
        assert "\u202e" not in shown(place)


@pytest.mark.parametrize("wide", [False, True])
async def test_a_text_of_millions_of_characters_opens_at_once(make: Make, wide: bool) -> None:
    store = InMemoryStore(FakeClock(NOW))
    line = (
        "漢字仮名交じり文。" * 20 + "\n"
        if wide
        else "The quick brown fox jumps over the lazy dog. " * 6 + "\n"
    )
    text = line * (2_000_000 // len(line)) + "NEEDLE\n" + line
    (document_id,) = await store.documents.put(
        [
            NewDocument(
                path="/home/ada/big.md",
                facts=FileFacts("/home/ada/big.md", len(text), 1),
                sha256="a" * 64,
                media_type="text/markdown",
                parser="plain-1",
                title="Big",
                parsed=ParsedText(text),
            )
        ]
    )
    place = make(store=store)
    begin = text.index("NEEDLE")
    async with place.app.run_test(size=(100, 24)) as pilot:
        screen = await read(pilot, place, document_id, (begin, begin + 6))
        # The part around the passage is there before the whole is laid out, and the view stays on it then.
        view = screen.view
        view._lay_out()
        assert view._rows.end - view._rows.begin < 100_000
        assert not view.laid_out
        assert "▌ NEEDLE" in shown(place)
        await assert_until(pilot, lambda: view.laid_out)
        await settle(pilot)
        assert "▌ NEEDLE" in shown(place)
