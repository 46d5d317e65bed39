"""Documents in the history browser: found beside conversations, filtered, opened in the reader."""

from collections.abc import Callable

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from atlas_desktop.services.notes.notebook import read_note
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.dialogs.questions import PickScreen
from atlas_desktop.tui.documents.reader import ReaderScreen
from atlas_desktop.tui.history.screen import HistoryScreen
from atlas_desktop.tui.notes.screen import NotesScreen
from atlas_desktop.tui.setup.unlock import PassphraseScreen
from memory.entities import RoomKind
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, NamedModel, Stage, history
from tests.tui.driving import assert_until, chat, make_private, on, settle, shown, type_text
from tests.tui.shelves import cited_talk, library, shelve

Make = Callable[..., Stage]
SIZE = (140, 40)


async def furnished(make: Make, **options: object) -> Stage:
    clock = FakeClock(NOW)
    store = InMemoryStore(clock)
    await history(clock, store)
    await library(store)
    return make(store=store, **options)


async def opened(pilot: Pilot[None], place: Stage, query: str) -> HistoryScreen:
    await settle(pilot)
    await pilot.press("f2")
    await assert_until(pilot, lambda: on(place.app, HistoryScreen) and "6 conversations" in shown(place))
    await type_text(pilot, query)
    await settle(pilot)
    screen = place.app.screen
    assert isinstance(screen, HistoryScreen)
    return screen


def told(place: Stage) -> str:
    """The texts of the window that is shown, in one line."""
    return " ".join(str(one.content) for one in place.app.screen.query(Static))


async def test_documents_stand_below_the_conversations_with_their_place(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place, "tides")
        text = shown(place)
        assert "5 conversations · 1 document" in text
        assert text.index("Tides, the moon") < text.index(" Documents") < text.index("▤ Tides")
        assert "page 1  The moon raises the tides." in text
        await pilot.press("down", "end")
        await settle(pilot)
        assert screen.listing.document is not None
        assert screen.listing.marked is None
        # The right side shows the passage.
        await assert_until(pilot, lambda: "3 passages" in shown(place))
        assert "/home/ada/tides.pdf" in shown(place)


async def test_enter_opens_the_reader_at_the_passage_and_escape_returns(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await opened(pilot, place, "spring moon kind:document")
        assert "History · 1 document" in shown(place)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ReaderScreen) and "▌ At new moon" in shown(place))
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, HistoryScreen))
        assert "History · 1 document" in shown(place)


async def test_a_filter_shows_only_documents_and_back(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place, "")
        assert "document" not in shown(place).split("\n")[0]
        await pilot.press("down", "7")
        await settle(pilot)
        assert screen.text == "kind:document"
        assert "✓ Docs" in shown(place)
        assert "2 documents" in shown(place)
        assert "Ferries of the north" in shown(place)
        assert "conversations" not in shown(place)
        await pilot.press("7")
        await settle(pilot)
        assert screen.text == ""
        assert "6 conversations" in shown(place)
        await pilot.press("f")
        await assert_until(pilot, lambda: on(place.app, PickScreen) and "nothing else" in shown(place))
        await pilot.press("enter")
        await settle(pilot)
        assert screen.text == "kind:document"


async def test_without_documents_the_filter_says_where_they_are(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("f2")
        await assert_until(pilot, lambda: "0 conversations" in shown(place))
        await type_text(pilot, "kind:document")
        await assert_until(pilot, lambda: "No documents match. F7 shows the library" in shown(place))


async def test_actions_of_conversations_leave_a_document_alone(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place, "ferry kind:document")
        await pilot.press("down")
        await settle(pilot)
        for action in ("tag", "star", "private", "delete", "export", "select"):
            assert not screen.check_action(f"history_{action}", ()), action
        await pilot.press("space", "s", "delete", "ctrl+a")
        await settle(pilot)
        assert screen.listing.selected == {}
        assert on(place.app, HistoryScreen)
        assert len(await place.store.documents.list()) == 3


async def test_a_question_about_a_found_document_begins_a_conversation(make: Make) -> None:
    place = await furnished(make, model=NamedModel(["At eight."]))
    async with place.app.run_test(size=SIZE) as pilot:
        await opened(pilot, place, "moskenes kind:document")
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ReaderScreen) and "Moskenes" in shown(place))
        await pilot.press("a")
        await assert_until(
            pilot, lambda: on(place.app, ChatScreen) and "used with next message" in shown(place)
        )
        assert [one.title for one in chat(place.app).current.documents] == ["Ferries of the north"]
        assert "Moskenes" in chat(place.app).prompt.text


async def test_documents_of_the_private_room_are_gone_when_it_closes(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        session = (await place.store.list_sessions())[0]
        await make_private(pilot, place, session.id)
        private = place.desk.at(RoomKind.PRIVATE)
        await shelve(private.store, "/home/ada/diary.md", "The tides of my life.", title="Diary")
        await pilot.press("f2")
        await assert_until(pilot, lambda: on(place.app, HistoryScreen))
        await type_text(pilot, "tides")
        await assert_until(pilot, lambda: "private ▤ Diary" in shown(place))
        assert "2 documents" in shown(place)
        await pilot.press("ctrl+g")
        await assert_until(pilot, lambda: place.desk.rooms.private is None)
        await settle(pilot)
        await assert_until(pilot, lambda: "1 document" in shown(place))
        assert "Diary" not in shown(place)


async def test_the_reader_of_a_private_document_closes_with_its_room(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        session = (await place.store.list_sessions())[0]
        await make_private(pilot, place, session.id)
        private = place.desk.at(RoomKind.PRIVATE)
        await shelve(private.store, "/home/ada/diary.md", "A hidden harbour.", title="Diary")
        await pilot.press("f2")
        await assert_until(pilot, lambda: on(place.app, HistoryScreen))
        await type_text(pilot, "hidden")
        await settle(pilot)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ReaderScreen) and "hidden harbour" in shown(place))
        await place.desk.rooms.leave_private()
        await assert_until(pilot, lambda: not on(place.app, ReaderScreen))
        await settle(pilot)
        assert "hidden harbour" not in shown(place)


@pytest.mark.parametrize("width", [80, 60, 40])
async def test_filters_take_the_lines_they_need_and_can_be_clicked(make: Make, width: int) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=(width, 24)) as pilot:
        screen = await opened(pilot, place, "")
        lines = shown(place).split("\n")
        row, line = next((y, text) for y, text in enumerate(lines) if " Docs " in text)
        assert any(" More" in text for text in lines)
        await pilot.click(offset=(line.index("Docs"), row))
        await settle(pilot)
        assert screen.text == "kind:document"


async def test_before_a_conversation_moves_it_is_told_which_documents_stay(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    ids = await library(store)
    session = await cited_talk(store, ids["ferries"])
    place = make(store=store, resume=session.id)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("f2")
        await assert_until(pilot, lambda: on(place.app, HistoryScreen) and "1 conversation" in shown(place))
        await pilot.press("down", "v")
        await assert_until(pilot, lambda: on(place.app, PassphraseScreen))
        await assert_until(pilot, lambda: "document in use" in told(place))
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, HistoryScreen))
        await pilot.press("f2")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        await type_text(pilot, "/private")
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, PassphraseScreen))
        await assert_until(pilot, lambda: "document in use" in told(place))


async def noted(make: Make) -> Stage:
    """A place with conversations, documents and two notes about tides."""
    place = await furnished(make)
    for title, text in (
        ("Harbour", "Slack water is at noon.\n\n**Mind** the tides.\n"),
        ("Rye", "Sourdough.\n"),
    ):
        await place.store.notes.put([read_note(title, text)])
    return place


async def test_notes_stand_below_the_documents_under_a_heading_of_their_own(make: Make) -> None:
    place = await noted(make)
    async with place.app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, place, "tides")
        text = shown(place)
        assert "5 conversations · 1 document · 1 note" in text
        assert text.index("▤ Tides") < text.index(" Notes   ") < text.index("✎ Harbour")
        await pilot.press("down", "end")
        await settle(pilot)
        assert screen.listing.document is not None
        assert screen.listing.document.document.title == "Harbour"
        await assert_until(pilot, lambda: "Note · " in shown(place) and "Mind the tides." in shown(place))


async def test_enter_opens_a_note_in_the_notes_view_at_the_passage(make: Make) -> None:
    place = await noted(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await opened(pilot, place, "tides kind:note")
        assert "History · 1 note" in shown(place)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, NotesScreen) and "Slack water" in shown(place))
        screen = place.app.screen
        assert isinstance(screen, NotesScreen)
        await assert_until(pilot, lambda: screen.visit is not None)
        assert screen.editor.text.startswith("Slack water")


async def test_a_filter_shows_only_notes_and_back(make: Make) -> None:
    place = await noted(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await opened(pilot, place, "tides")
        await pilot.press("down", "8")
        await settle(pilot)
        assert "History · 1 note" in shown(place)
        await pilot.press("8")
        await settle(pilot)
        assert "5 conversations · 1 document · 1 note" in shown(place)
