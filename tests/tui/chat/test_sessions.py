"""The list of conversations: opening, filtering, renaming, deleting and taking that back."""

from collections.abc import Callable

import pytest
from textual.widgets import Input

from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.chat.sessions import Sidebar
from atlas_desktop.tui.dialogs.questions import RenameScreen
from atlas_desktop.tui.widgets import UndoBar
from memory.entities import TitleSource
from memory.errors import SessionNotFound
from memory.organising import MarksPatch
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, FakeShelf, Stage, history, talk
from tests.tui.driving import assert_until, chat, on, settle, shown, type_text
from tests.tui.shelves import shelve

Make = Callable[..., Stage]
WIDE = (140, 45)


async def with_history() -> tuple[InMemoryStore, list[str]]:
    clock = FakeClock(NOW)
    store = InMemoryStore(clock)
    return store, [session.id for session in await history(clock, store)]


async def test_conversations_are_listed_by_day_with_those_with_a_star_on_top(make: Make) -> None:
    store, ids = await with_history()
    await store.organising.apply([ids[0]], MarksPatch(starred=True))
    place = make(store=store)
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        text = shown(place)
        positions = [
            text.index(group)
            for group in ("★ Starred and pinned", "Today", "Yesterday", "This week", "Older")
        ]
        assert positions == sorted(positions)
        assert text.index("Choosing a bicycle") < text.index("Tides, the moon") < text.index("Yesterday")


async def test_enter_in_the_list_opens(make: Make) -> None:
    store, ids = await with_history()
    place = make(store=store)
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+o", "down", "down", "enter")
        await settle(pilot)
        await assert_until(pilot, lambda: chat(place.app).current.id == ids[-2])
        await assert_until(
            pilot, lambda: "Three days are enough" in shown(place) or "rain jacket" in shown(place)
        )
        assert chat(place.app).prompt.has_focus


async def test_the_filter_looks_into_titles_and_texts(make: Make) -> None:
    store, ids = await with_history()
    place = make(store=store)
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+o")
        await type_text(pilot, "henningsv")
        sidebar = place.app.screen.query_one(Sidebar)
        await assert_until(pilot, lambda: sidebar._shown == [ids[-2]])
        await pilot.press("enter")
        await assert_until(pilot, lambda: chat(place.app).current.id == ids[-2])
        sidebar.query_one("#filter", Input).value = "no such words anywhere"
        await assert_until(pilot, lambda: "No matches." in shown(place))
        sidebar.query_one("#filter", Input).value = "henningsv* -is:starred"
        await assert_until(pilot, lambda: sidebar._shown == [ids[-2]])
        sidebar.query_one("#filter", Input).value = "is:starry"
        await assert_until(pilot, lambda: "Try: starred" in shown(place))
        assert sidebar._shown == [ids[-2]], "what was found stays"


async def test_resume_by_name(make: Make) -> None:
    store, ids = await with_history()
    place = make(store=store, resume="last")
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await assert_until(pilot, lambda: chat(place.app).current.id == ids[-1])
        await assert_until(pilot, lambda: "two bulges" in shown(place))


async def test_resuming_what_is_not_there_is_explained(make: Make) -> None:
    place = make(resume="ffff")
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await assert_until(pilot, lambda: "Conversation not found" in shown(place))
        assert on(place.app, ChatScreen)


async def test_an_empty_page_says_how_the_documents_get_into_a_conversation(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    await shelve(store, "/papers/tides.md", "High at noon.")
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        await settle(pilot)
        await assert_until(pilot, lambda: "1 document: @ uses it in this conversation" in shown(place))
        await shelve(store, "/papers/moon.md", "It rises at six.")
        await pilot.press("f7")
        await settle(pilot)
        await pilot.press("escape")
        await assert_until(pilot, lambda: "2 documents: @ uses one" in shown(place))
        await pilot.press("ctrl+n")
        await type_text(pilot, "/off")
        await pilot.press("enter")
        await assert_until(pilot, lambda: "off the record" in shown(place))
        await settle(pilot)
        assert "documents: @" not in shown(place)


async def test_a_new_conversation_keeps_what_was_being_typed_in_the_old(make: Make) -> None:
    store, ids = await with_history()
    place = make(store=store, resume="last")
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await type_text(pilot, "half a thought")
        await pilot.press("ctrl+n")
        await settle(pilot)
        assert chat(place.app).prompt.text == ""
        assert "What is on your mind?" in shown(place)
        chat(place.app).open_session(ids[-1])
        await settle(pilot)
        assert chat(place.app).prompt.text == "half a thought"


async def test_rename(make: Make) -> None:
    store, ids = await with_history()
    place = make(store=store, resume="last")
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+t")
        await assert_until(pilot, lambda: on(place.app, RenameScreen))
        await pilot.press("ctrl+a")
        place.app.screen.query_one("#title", Input).value = "Moon and water"
        await pilot.press("enter")
        await settle(pilot)
        session = await store.get_session(ids[-1])
        assert (session.title, session.title_source) == ("Moon and water", TitleSource.PERSON)
        await assert_until(pilot, lambda: shown(place).count("Moon and water") == 2)


async def test_rename_can_be_left(make: Make) -> None:
    store, ids = await with_history()
    place = make(store=store, resume="last")
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("ctrl+t")
        await assert_until(pilot, lambda: on(place.app, RenameScreen))
        await pilot.press("x", "escape")
        await settle(pilot)
        assert (await store.get_session(ids[-1])).title.startswith("Tides")


async def test_delete_in_the_list_and_undo(make: Make) -> None:
    store, ids = await with_history()
    place = make(store=store)
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+o", "down", "delete")
        await settle(pilot)
        assert "Deleted “Tides" in shown(place)
        assert (await store.get_session(ids[-1])).deleted_at is not None
        await assert_until(pilot, lambda: "Today" not in shown(place))
        await pilot.press("u")
        await settle(pilot)
        assert (await store.get_session(ids[-1])).deleted_at is None
        await assert_until(pilot, lambda: "Today" in shown(place))
        assert "Deleted" not in shown(place)


@pytest.mark.parametrize("size", [WIDE, (80, 24)])
async def test_delete_the_open_one_in_the_list_and_undo_there(make: Make, size: tuple[int, int]) -> None:
    store, ids = await with_history()
    place = make(store=store, resume="last")
    async with place.app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+o", "down", "d")
        await assert_until(pilot, lambda: chat(place.app).query_one(UndoBar).offered == ids[-1])
        await settle(pilot)
        assert chat(place.app).current.id is None
        assert place.app.focused is chat(place.app).query_one(Sidebar).sessions
        await pilot.press("u")
        await assert_until(pilot, lambda: chat(place.app).current.id == ids[-1])
        await settle(pilot)
        assert (await store.get_session(ids[-1])).deleted_at is None
        assert chat(place.app).prompt.text == ""


async def test_delete_the_open_one_and_undo_while_typing(make: Make) -> None:
    store, ids = await with_history()
    place = make(store=store, resume="last")
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await place.app.run_action("delete", place.app.screen)
        await settle(pilot)
        await assert_until(pilot, lambda: "What is on your mind?" in shown(place))
        await pilot.press("ctrl+z")
        await settle(pilot)
        await assert_until(pilot, lambda: chat(place.app).current.id == ids[-1])
        await assert_until(pilot, lambda: "two bulges" in shown(place))


async def test_undo_goes_away_and_the_bin_keeps_it(make: Make) -> None:
    store, ids = await with_history()
    place = make(store=store, resume="last")
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await place.app.run_action("delete", place.app.screen)
        await settle(pilot)
        bar = place.app.screen.query_one(UndoBar)
        for _ in range(10):
            bar._tick()
        assert not bar.has_class("-shown")
        await type_text(pilot, "a b")
        await pilot.press("ctrl+z")
        await settle(pilot)
        assert [s.id for s in await store.list_sessions(binned=True)] == [ids[-1]]
        assert chat(place.app).prompt.text != "a b"


async def test_undo_by_mouse(make: Make) -> None:
    store, ids = await with_history()
    place = make(store=store, resume="last")
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await place.app.run_action("delete", place.app.screen)
        await settle(pilot)
        await pilot.click("#undo #undo")
        await settle(pilot)
        assert (await store.get_session(ids[-1])).deleted_at is None


async def test_each_conversation_of_a_long_list_has_one_line_on_a_narrow_screen(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    for number in range(40):
        await talk(store, f"What is still missing for the launch of boat {number}?", [("Hello.", "Hello.")])
    place = make(store=store)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+o")
        await settle(pilot)
        listing = chat(place.app).query_one(Sidebar).sessions
        assert listing.show_vertical_scrollbar
        assert listing.virtual_size.height == listing.option_count


async def test_the_list_folds_away_and_lies_over_on_narrow_screens(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        sidebar = place.app.screen.query_one(Sidebar)
        seen = [sidebar.display]
        await pilot.press("ctrl+b")
        seen.append(sidebar.display)
        assert 0 < sidebar.region.width < 40
        await pilot.press("escape")
        seen.append(sidebar.display)
        await pilot.resize_terminal(140, 45)
        await pilot.pause()
        seen.append(sidebar.display)
        await pilot.press("ctrl+b")
        seen.append(sidebar.display)
        assert seen == [False, True, False, True, False]


async def test_an_emptied_list_says_so(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert "No conversations yet." in shown(place)
        await talk(place.store, "First", [("a", "b")])
        chat(place.app).refresh_list()
        await assert_until(pilot, lambda: "No conversations yet." not in shown(place))


async def test_escape_leaves_the_filter_and_empties_it(make: Make) -> None:
    store, _ids = await with_history()
    place = make(store=store)
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+o")
        await type_text(pilot, "xqxq")
        await assert_until(pilot, lambda: "No matches." in shown(place))
        lines = shown(place).splitlines()
        at = next(n for n, line in enumerate(lines) if "xqxq" in line)
        assert any("No matches." in line for line in lines[at : at + 4])
        await pilot.press("escape")
        await assert_until(pilot, lambda: "No matches." not in shown(place))
        assert chat(place.app).query_one("#filter", Input).value == ""
        assert chat(place.app).prompt.has_focus


async def test_the_list_is_whole_again_when_a_conversation_was_opened_from_what_the_filter_left(
    make: Make,
) -> None:
    store, ids = await with_history()
    place = make(store=store)
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+o")
        await type_text(pilot, "sourdough")
        listed = chat(place.app).query_one(Sidebar).sessions
        await assert_until(pilot, lambda: listed.option_count == 2)
        await pilot.press("enter")
        await assert_until(pilot, lambda: chat(place.app).current.id == ids[3])
        await assert_until(pilot, lambda: listed.option_count > len(ids))
        assert chat(place.app).query_one("#filter", Input).value == ""


@pytest.mark.parametrize("size", [(80, 24), WIDE])
async def test_a_demonstration_says_that_it_is_one(make: Make, size: tuple[int, int]) -> None:
    store, ids = await with_history()
    place = make(store=store, resume=ids[-2], demo_passphrase="salt rope lamp tide")
    async with place.app.run_test(size=size) as pilot:
        await settle(pilot)
        await assert_until(pilot, lambda: "A weekend" in shown(place).splitlines()[0])
        assert " Demo  A weekend" in shown(place).splitlines()[0]
        assert "memory normal" in shown(place).splitlines()[0]
        assert "gone when you quit" in shown(place)


async def test_a_demonstration_tells_the_passphrase_of_its_private_room(make: Make) -> None:
    place = make(demo_passphrase="salt rope lamp tide")
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+g")
        await assert_until(pilot, lambda: "In this demonstration the passphrase is:" in shown(place))
        assert "salt rope lamp tide" in shown(place)


async def test_a_demonstration_without_a_model_shows_its_conversations(make: Make) -> None:
    store, ids = await with_history()
    place = make(
        store=store, resume=ids[-2], demo_passphrase="salt rope lamp tide", shelf=FakeShelf(chosen=None)
    )
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await assert_until(pilot, lambda: "A weekend" in shown(place).splitlines()[0])


async def test_a_conversation_that_leaves_while_it_is_read_again_is_no_error(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, ids = await with_history()
    place = make(store=store, resume=ids[-1])
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        screen = chat(place.app)
        told: list[object] = []
        monkeypatch.setattr(place.app, "say_error", told.append)

        async def closed(session_id: str) -> None:
            raise SessionNotFound(session_id)

        monkeypatch.setattr(screen.sessions, "open", closed)
        await screen.sessions_changed([ids[-1]], content=True)
        await settle(pilot)
        assert screen.current.id == ids[-1]
        assert told == []
