"""The Notes view: what is written, linked, found there."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from atlas_desktop.services.notes.notebook import read_note
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.dialogs.forms import PathScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.documents.reader import ReaderScreen
from atlas_desktop.tui.memories.screen import MemoryScreen
from atlas_desktop.tui.notes.actions import Hits, Shelf, row_text, rows_of
from atlas_desktop.tui.notes.adding import AddToNoteScreen, TitleScreen, VersionsScreen
from atlas_desktop.tui.notes.screen import NotesScreen
from memory.notes.entities import Note
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage, talk
from tests.tui.driving import assert_until, chat, on, open_private, settle, shown, type_text
from tests.tui.memories.test_screen import remembered
from tests.tui.shelves import library

Make = Callable[..., Stage]


async def notebook(store: InMemoryStore | None = None) -> tuple[InMemoryStore, dict[str, str]]:
    """A store with three notes that link to each other, and their ids by title."""
    store = store or InMemoryStore(FakeClock(NOW))
    texts = {
        "Harbours": "# Harbours\n\nBodø and Moskenes. #travel",
        "Ferries": "The ferry leaves from [[Harbours]] at eight.\n\nNobody wrote about [[Whales]] yet.",
        "Summer": "First [[Ferries|the ferry]], then the islands. #travel #plans",
    }
    made = {}
    for title, text in texts.items():
        (made[title],) = await store.notes.put([read_note(title, text)])
    return store, made


async def look(pilot: Pilot[None], place: Stage, words: str) -> NotesScreen:
    """Opens the view, and waits for these words in it."""
    await settle(pilot)
    await pilot.press("f8")
    await assert_until(pilot, lambda: on(place.app, NotesScreen) and words in shown(place))
    await settle(pilot)
    return browser(place)


def browser(place: Stage) -> NotesScreen:
    screen = place.app.screen
    assert isinstance(screen, NotesScreen)
    return screen


async def mark(pilot: Pilot[None], place: Stage, note_id: str) -> None:
    """Moves the cursor to a note."""
    listing = browser(place).query_one("#notes", OptionList)
    listing.focus()
    listing.highlighted = listing.get_option_index(f"note {note_id}")
    await settle(pilot)


async def text_of(store: InMemoryStore, ref: str) -> str:
    return (await store.notes.get(ref)).text


async def test_an_empty_view_explains_itself_and_a_new_note_is_written(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(80, 24)) as pilot:
        await look(pilot, place, "No notes yet.")
        await pilot.press("n")
        await assert_until(pilot, lambda: on(place.app, TitleScreen))
        await pilot.press("enter")
        await assert_until(pilot, lambda: "A note needs a title" in shown(place))
        await type_text(pilot, "Tides")
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, NotesScreen) and browser(place).editor.has_focus)
        await type_text(pilot, "The moon")
        await pilot.press("enter")
        await type_text(pilot, "pulls #sea")
        await pilot.press("escape")
        await settle(pilot)
        assert await text_of(place.store, "Tides") == "The moon\npulls #sea"
        await assert_until(pilot, lambda: "#sea" in shown(place))


async def test_a_taken_title_is_refused_in_words(make: Make) -> None:
    store, _ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await look(pilot, place, "3 notes")
        await pilot.press("n")
        await type_text(pilot, "ferries")
        await pilot.press("enter")
        await assert_until(pilot, lambda: "There is already a note with this title." in shown(place))
        assert on(place.app, TitleScreen)


async def test_the_list_shows_notes_with_their_tags_and_what_is_linked(make: Make) -> None:
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        await look(pilot, place, "Summer")
        assert "#plans #travel" in shown(place)
        await mark(pilot, place, ids["Ferries"])
        await assert_until(pilot, lambda: "Linked from" in shown(place))
        text = shown(place)
        assert "← Summer" in text
        assert "First [[Ferries|the ferry]], then the islands." in text
        assert "→ Harbours" in text
        assert "? Whales" in text
        assert "not written yet" in text


async def test_a_link_to_a_note_that_is_not_written_yet_begins_it(make: Make) -> None:
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        screen = await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Ferries"])
        await assert_until(pilot, lambda: "? Whales" in shown(place))
        await pilot.press("enter", "ctrl+g")
        links = screen.query_one("#connections", OptionList)
        links.highlighted = next(i for i, row in enumerate(screen._links.rows) if row.name == "Whales")
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, TitleScreen))
        await pilot.press("enter")
        await settle(pilot)
        assert (await store.notes.get("Whales")).title == "Whales"


async def test_neighbours_two_steps_away_are_a_tree(make: Make) -> None:
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Summer"])
        await assert_until(pilot, lambda: "Neighbours" in shown(place))
        assert "└ Ferries" in shown(place)
        assert "  └ Harbours" in shown(place)


async def test_a_link_is_followed_and_esc_leads_back_the_way(make: Make) -> None:
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        screen = await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Summer"])
        await pilot.press("enter", "ctrl+g", "enter")
        await assert_until(pilot, lambda: "leaves from" in screen.editor.text)
        await assert_until(pilot, lambda: screen.editor.has_focus)
        await settle(pilot)
        await pilot.press("ctrl+g")
        links = screen.query_one("#connections", OptionList)
        links.highlighted = next(i for i, row in enumerate(screen._links.rows) if row.to == ids["Harbours"])
        await pilot.press("enter")
        await assert_until(pilot, lambda: "# Harbours" in screen.editor.text)
        await settle(pilot)
        await pilot.press("escape")
        await assert_until(pilot, lambda: "leaves from" in screen.editor.text)
        await settle(pilot)
        await pilot.press("escape")
        await assert_until(pilot, lambda: "First [[Ferries" in screen.editor.text)
        await settle(pilot)
        await pilot.press("escape", "escape")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))


async def test_the_view_opens_again_at_the_note_that_was_shown(make: Make) -> None:
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Harbours"])
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        screen = await look(pilot, place, "Summer")
        assert "# Harbours" in screen.editor.text
        row = screen.marked
        assert row is not None
        assert row.note is not None
        assert row.note.id == ids["Harbours"]


async def test_what_is_typed_is_stored_by_itself_and_when_the_view_is_left(make: Make) -> None:
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        screen = await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Harbours"])
        await pilot.press("enter")
        await assert_until(pilot, lambda: screen.editor.has_focus)
        await type_text(pilot, "Also ")
        await pilot.pause(1.0)
        await settle(pilot)
        assert (await text_of(store, ids["Harbours"])).startswith("Also # Harbours")
        assert "saved" in shown(place)
        await type_text(pilot, "now ")
        await pilot.press("f3")
        await settle(pilot)
        assert (await text_of(store, ids["Harbours"])).startswith("Also now # Harbours")


async def test_text_typed_just_before_another_note_is_shown_is_kept(make: Make) -> None:
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        screen = await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Summer"])
        screen._write()
        screen.editor.insert("Before: ", (0, 0))
        # The change has not been reported to the screen when the other note is shown.
        screen._open(place.app.room, ids["Harbours"])
        await settle(pilot)
        assert "# Harbours" in screen.editor.text
        assert (await text_of(store, ids["Summer"])).startswith("Before: First")
        assert (await text_of(store, ids["Harbours"])).startswith("# Harbours")


async def test_quitting_stores_what_is_typed(make: Make) -> None:
    store, ids = await notebook()
    place = make(store=store)
    kept: list[str] = []
    close = store.close

    async def closing() -> None:
        kept.append(await text_of(store, ids["Summer"]))
        await close()

    store.close = closing  # type: ignore[method-assign]
    async with place.app.run_test(size=(140, 40)) as pilot:
        screen = await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Summer"])
        screen._write()
        await type_text(pilot, "Hurry ")
        await pilot.press("ctrl+q")
        await assert_until(pilot, lambda: kept)
    assert kept[0].startswith("Hurry First")


async def test_keys_typed_fast_keep_their_order(make: Make) -> None:
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        screen = await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Summer"])
        screen._write()
        await settle(pilot)
        for key, sign in [("a", "a"), ("b", "b"), ("backspace", None), ("c", "c"), ("end", None), ("d", "d")]:
            place.app.post_message(Key(key, sign))
        await assert_until(pilot, lambda: screen.editor.text[-1:] == "d")
        assert screen.editor.text == "acFirst [[Ferries|the ferry]], then the islands. #travel #plansd"


async def test_undo_takes_typing_back_in_the_editor(make: Make) -> None:
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        screen = await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Summer"])
        await pilot.press("enter")
        before = screen.editor.text
        await type_text(pilot, "x")
        assert screen.editor.text != before
        await pilot.press("ctrl+z")
        assert screen.editor.text == before
        await pilot.press("ctrl+z")
        assert screen.editor.text == before


async def test_the_cursor_goes_to_both_ends_of_the_text(make: Make) -> None:
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        screen = await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Ferries"])
        await pilot.press("enter", "ctrl+end")
        await type_text(pilot, "!")
        await pilot.press("ctrl+home")
        await type_text(pilot, "?")
        assert screen.editor.text.startswith("?The ferry")
        assert screen.editor.text.endswith("[[Whales]] yet.!")
        await pilot.press("ctrl+shift+end", "delete")
        assert screen.editor.text == "?"


async def test_an_earlier_version_is_looked_at_and_brought_back(make: Make) -> None:
    store, ids = await notebook()
    (await store.notes.get(ids["Summer"]))
    await store.notes.put([read_note("Summer", "Only rain.", note=ids["Summer"])])
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        screen = await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Summer"])
        await pilot.press("v")
        await assert_until(pilot, lambda: on(place.app, VersionsScreen) and "the islands" in shown(place))
        await pilot.press("enter")
        await settle(pilot)
        assert "the islands" in screen.editor.text
        assert (await text_of(store, ids["Summer"])).startswith("First [[Ferries")


async def test_renaming_a_note_changes_the_links_to_it(make: Make) -> None:
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Harbours"])
        await pilot.press("r")
        await assert_until(
            pilot, lambda: on(place.app, TitleScreen) and "Links to it are updated" in shown(place)
        )
        place.app.screen.query_one(Input).value = "Ports"
        await pilot.press("enter")
        await assert_until(pilot, lambda: "Ports" in shown(place) and on(place.app, NotesScreen))
        await settle(pilot)
        assert "[[Ports]]" in await text_of(store, ids["Ferries"])


async def test_a_note_goes_to_the_bin_comes_back_and_is_deleted_for_good(make: Make) -> None:
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40), notifications=True) as pilot:
        await look(pilot, place, "3 notes")
        await mark(pilot, place, ids["Summer"])
        await pilot.press("delete")
        await assert_until(pilot, lambda: "moved to the bin" in shown(place) and "2 notes" in shown(place))
        await pilot.press("u")
        await assert_until(pilot, lambda: "3 notes" in shown(place))
        await mark(pilot, place, ids["Summer"])
        await pilot.press("delete")
        await assert_until(pilot, lambda: "2 notes" in shown(place))
        await pilot.press("b")
        await assert_until(pilot, lambda: "1 in the bin" in shown(place))
        await settle(pilot)
        await pilot.press("e")
        await assert_until(pilot, lambda: "The bin is empty" in shown(place))
        await pilot.press("escape")
        await assert_until(pilot, lambda: "3 notes" in shown(place))
        await mark(pilot, place, ids["Summer"])
        await pilot.press("delete", "b")
        await assert_until(pilot, lambda: "1 in the bin" in shown(place))
        await settle(pilot)
        await pilot.press("delete")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.press("tab", "enter")
        await assert_until(pilot, lambda: "The bin is empty" in shown(place))
        assert [one.title for one in await store.notes.list(binned=True)] == []


async def test_typing_filters_by_title_tag_and_text(make: Make) -> None:
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        screen = await look(pilot, place, "Summer")

        def titles() -> list[str]:
            return [row.note.title for row in screen._list.rows if row.note is not None and row.hit is None]

        await pilot.press("slash")
        await type_text(pilot, "harb")
        await assert_until(pilot, lambda: "Harbours" in titles() and "Summer" not in titles())
        screen.query_one(Input).value = "#travel"
        await assert_until(pilot, lambda: sorted(titles()) == ["Harbours", "Summer"])
        screen.query_one(Input).value = "Moskenes"
        await pilot.press("enter")
        await assert_until(pilot, lambda: any(row.hit for row in screen._list.rows))
        assert {row.note.id for row in screen._list.rows if row.hit and row.note} == {ids["Harbours"]}
        await pilot.press("escape")
        await assert_until(pilot, lambda: len(titles()) == 3)


async def test_a_tag_is_chosen_from_a_list(make: Make) -> None:
    store, _ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        screen = await look(pilot, place, "Summer")
        await pilot.press("t")
        await assert_until(pilot, lambda: "#travel" in shown(place) and "2 notes" in shown(place))
        await pilot.press("down", "enter")
        await settle(pilot)
        assert screen.query_one(Input).value == "#plans"
        assert [row.note.title for row in screen._list.rows if row.note] == ["Summer"]


async def test_the_preview_shows_links_under_their_current_title(make: Make) -> None:
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Summer"])
        await pilot.press("ctrl+r")
        await assert_until(pilot, lambda: "First the ferry, then the islands." in shown(place))
        await pilot.press("ctrl+r")
        await assert_until(pilot, lambda: "First the ferry, then" not in shown(place))


async def test_a_wide_screen_shows_source_and_preview_side_by_side(make: Make) -> None:
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(200, 60)) as pilot:
        await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Summer"])
        await assert_until(pilot, lambda: "First the ferry, then the islands." in shown(place))
        assert "First [[Ferries|the ferry]]" in shown(place)


async def test_names_of_links_are_completed(make: Make) -> None:
    store, ids = await notebook()
    await talk(store, "Harbour talk", [("Where?", "There.")])
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        screen = await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Summer"])
        await pilot.press("enter")
        await assert_until(pilot, lambda: screen.editor.has_focus)
        await pilot.press("[", "[")
        await type_text(pilot, "har")
        await assert_until(pilot, lambda: len(screen._menu.choices) == 2)
        assert "conversation" in shown(place)
        await pilot.press("down", "tab")
        assert screen.editor.text.startswith("[[Harbour talk]]First")
        assert not screen._menu.is_open
        await pilot.press("[", "[")
        await type_text(pilot, "har")
        await assert_until(pilot, lambda: screen._menu.is_open)
        await pilot.press("escape")
        assert not screen._menu.is_open
        assert screen.editor.has_focus


async def test_the_private_room_s_notes_are_marked_and_go_with_it(make: Make) -> None:
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40), notifications=True) as pilot:
        screen = await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Summer"])
        await pilot.press("m")
        await open_private(pilot, place)
        await assert_until(pilot, lambda: "private Summer" in shown(place))
        await settle(pilot)
        assert "private room unlocked" in shown(place)
        await mark(pilot, place, ids["Summer"])
        screen._write()
        await type_text(pilot, "Secret ")
        await place.desk.rooms.leave_private()
        await assert_until(pilot, lambda: "Summer" not in shown(place))
        assert "Secret" not in shown(place)
        assert on(place.app, NotesScreen)


async def test_a_suggested_link_is_taken_with_one_key(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    (tides,) = await store.notes.put([read_note("Tides", "The moon pulls the water.")])
    await store.notes.put([read_note("Harbours", "At low Tides the ferry waits.")])
    place = make(store=store)
    async with place.app.run_test(size=(140, 40), notifications=True) as pilot:
        screen = await look(pilot, place, "Harbours")
        await mark(pilot, place, (await store.notes.get("Harbours")).id)
        await assert_until(pilot, lambda: "Suggested links" in shown(place))
        assert "This note mentions it." in shown(place)
        await pilot.press("enter", "ctrl+g")
        links = screen.query_one("#connections", OptionList)
        links.highlighted = next(i for i, row in enumerate(screen._links.rows) if row.can_link)
        await pilot.press("l")
        await settle(pilot)
        assert await text_of(store, "Harbours") == "At low [[Tides]] the ferry waits."
        assert [one.to for one in (await store.notes.get("Harbours")).links] == [tides]


async def test_a_mention_in_another_note_is_linked_with_one_key(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    (tides,) = await store.notes.put([read_note("Tides", "The moon pulls the water.")])
    await store.notes.put([read_note("Harbours", "At low tides the ferry waits.")])
    place = make(store=store)
    async with place.app.run_test(size=(140, 40), notifications=True) as pilot:
        screen = await look(pilot, place, "Harbours")
        await mark(pilot, place, tides)
        await assert_until(pilot, lambda: "Mentioned without a link" in shown(place))
        await pilot.press("enter", "ctrl+g")
        links = screen.query_one("#connections", OptionList)
        links.highlighted = next(i for i, row in enumerate(screen._links.rows) if row.mention)
        await pilot.press("l")
        await settle(pilot)
        assert await text_of(store, "Harbours") == "At low [[Tides|tides]] the ferry waits."
        await assert_until(pilot, lambda: "← Harbours" in shown(place))


async def test_a_message_is_noted_marked_and_leads_to_its_note(make: Make) -> None:
    store, _ids = await notebook()
    session = await talk(store, "The bread", [("How long?", "An hour.\nOr two.")])
    place = make(store=store, resume=session.id)
    async with place.app.run_test(size=(140, 40), notifications=True) as pilot:
        await assert_until(pilot, lambda: "Or two." in shown(place))
        await settle(pilot)
        await pilot.press("alt+up", "n")
        await assert_until(pilot, lambda: on(place.app, AddToNoteScreen))
        assert place.app.screen.query_one(Input).value == "Summer"
        place.app.screen.query_one(Input).value = "Baking"
        await assert_until(pilot, lambda: "Makes a new note." in shown(place))
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        await assert_until(pilot, lambda: "✎ in a note" in shown(place))
        note = await store.notes.get("Baking")
        message = (await store.branch(session.id))[-1]
        assert note.text.startswith(f"> An hour.\n> Or two.\n>\n> — [[message:{message.id}|The bread, ")
        assert [one.to for one in note.links] == [message.id]
        await pilot.press("N")
        await assert_until(pilot, lambda: on(place.app, NotesScreen) and "Baking" in shown(place))
        await settle(pilot)
        await pilot.press("ctrl+g", "enter")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        await pilot.press("alt+up", "n")
        await assert_until(pilot, lambda: on(place.app, AddToNoteScreen))
        assert place.app.screen.query_one(Input).value == "Baking"
        await pilot.press("enter")
        await settle(pilot)
        assert (await text_of(store, "Baking")).count("— [[message:") == 2


async def test_a_passage_of_a_document_is_noted_with_its_page(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    ids = await library(store)
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        text = await store.documents.text(ids["tides"]) or ""
        begin = text.index("Twice")
        room = place.desk.room
        assert room is not None
        await place.app.push_screen(ReaderScreen(place.app, room, ids["tides"], passage=(begin, begin + 12)))
        await settle(pilot)
        await pilot.press("m")
        await assert_until(pilot, lambda: on(place.app, AddToNoteScreen))
        await type_text(pilot, "Sea")
        await pilot.press("enter")
        await settle(pilot)
        note = await store.notes.get("Sea")
        assert note.text.startswith("> Twice a day")
        assert f"[[document:{ids['tides']}|" in note.text
        assert "page 1" in note.text
        assert [one.note for one in await store.notes.backlinks(ids["tides"])] == [note.id]


async def test_the_details_of_a_conversation_name_the_notes_that_link_to_it(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    session = await talk(store, "The bread", [("How long?", "An hour.")])
    await store.notes.put([read_note("Baking", "As said in [[The bread]].")])
    place = make(store=store, resume=session.id)
    async with place.app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        chat(place.app).action_toggle_aside()
        await assert_until(pilot, lambda: "• Baking" in shown(place))


async def test_a_memory_is_noted_and_says_in_which_notes_it_is(make: Make) -> None:
    store = await remembered()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        await pilot.press("f3")
        await assert_until(pilot, lambda: on(place.app, MemoryScreen))
        await settle(pilot)
        await pilot.press("n")
        await assert_until(pilot, lambda: on(place.app, AddToNoteScreen))
        await type_text(pilot, "About me")
        await pilot.press("enter")
        await assert_until(pilot, lambda: "In notes: About me" in shown(place))
        await pilot.press("N")
        await assert_until(pilot, lambda: on(place.app, NotesScreen) and "About me" in shown(place))


async def test_a_folder_is_imported_and_imported_again(make: Make, tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "Lighthouse.md").write_text("It shines over [[Harbours]].", encoding="utf-8")
    store, _ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(120, 30), notifications=True) as pilot:
        await look(pilot, place, "Harbours")
        browser(place).query_one("#notes", OptionList).focus()
        await settle(pilot)
        await pilot.press("i")
        await assert_until(pilot, lambda: on(place.app, PathScreen))
        place.app.screen.query_one(Input).value = str(folder)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, NotesScreen) and "Lighthouse" in shown(place))
        told = [one.message for one in place.app._notifications]
        assert "Added 1, updated 0, unchanged 0, missing 0." in told
        (folder / "Lighthouse.md").write_text("It shines over the sea.", encoding="utf-8")
        await pilot.press("i")
        await assert_until(pilot, lambda: on(place.app, PathScreen))
        place.app.screen.query_one(Input).value = str(folder)
        await pilot.press("enter")
        await settle(pilot)
        told = [one.message for one in place.app._notifications]
        assert "Added 0, updated 1, unchanged 0, missing 0." in told


async def new_note(pilot: Pilot[None], place: Stage, title: str) -> None:
    """Presses n, and types a title and Enter."""
    await pilot.press("n")
    await assert_until(pilot, lambda: on(place.app, TitleScreen))
    await type_text(pilot, title)
    await pilot.press("enter")


async def test_a_new_note_is_empty_and_what_is_typed_goes_into_it(make: Make) -> None:
    """Also when the list, which is read again, comes before or after it."""
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        screen = await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Ferries"])
        before = {title: await text_of(store, title) for title in ids}
        for title, text in (("Echo", "echo text"), ("Delta", "delta text"), ("Omega", "omega text")):
            await new_note(pilot, place, title)
            await assert_until(pilot, lambda: on(place.app, NotesScreen) and screen.editor.has_focus)
            assert screen._note is not None
            assert (screen._note.title, screen.editor.text) == (title, "")
            await type_text(pilot, text)
            await settle(pilot)
            assert screen._note.title == title
            await pilot.press("escape")
            await settle(pilot)
            assert await text_of(store, title) == text
        assert {title: await text_of(store, title) for title in ids} == before


async def test_with_slow_storage_a_new_note_is_still_its_own(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list is drawn while the new note is still being read."""
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        screen = await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Ferries"])
        before = {title: await text_of(store, title) for title in ids}
        gate, get = asyncio.Event(), store.notes.get

        async def slow(ref: str) -> Note:
            found = await get(ref)
            if on(place.app, NotesScreen):
                await gate.wait()
            return found

        monkeypatch.setattr(store.notes, "get", slow)
        await new_note(pilot, place, "Echo")
        try:
            await assert_until(pilot, lambda: on(place.app, NotesScreen) and "4 notes" in shown(place))
            await pilot.press("d", "x")
        finally:
            gate.set()
        await assert_until(pilot, lambda: screen.editor.has_focus)
        monkeypatch.setattr(store.notes, "get", get)
        await type_text(pilot, "echo")
        await pilot.press("escape")
        await settle(pilot)
        assert await text_of(store, "Echo") == "echo"
        assert {title: await text_of(store, title) for title in ids} == before


async def test_a_filter_does_not_hide_a_new_note(make: Make) -> None:
    store, _ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        screen = await look(pilot, place, "Summer")
        await pilot.press("slash")
        await type_text(pilot, "#travel")
        await pilot.press("enter")
        await settle(pilot)
        await new_note(pilot, place, "Echo")
        await assert_until(pilot, lambda: on(place.app, NotesScreen) and screen.editor.has_focus)
        await settle(pilot)
        await type_text(pilot, "echo")
        await pilot.press("escape")
        await settle(pilot)
        assert await text_of(store, "Echo") == "echo"
        assert screen.query_one("#query", Input).value == ""
        assert "#travel" in await text_of(store, "Harbours")


async def test_a_note_that_is_read_while_its_text_is_stored_keeps_the_text(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        screen = await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Ferries"])
        await pilot.press("enter")
        await assert_until(pilot, lambda: screen.editor.has_focus)
        gate, get = asyncio.Event(), store.notes.get

        async def slow(ref: str) -> Note:
            found = await get(ref)
            await gate.wait()
            return found

        monkeypatch.setattr(store.notes, "get", slow)
        await type_text(pilot, "now ")
        screen._reread()
        await type_text(pilot, "and then ")
        gate.set()
        monkeypatch.setattr(store.notes, "get", get)
        await settle(pilot)
        await pilot.press("escape")
        await settle(pilot)
        assert (await text_of(store, "Ferries")).startswith("now and then The ferry")
        assert screen.editor.text.startswith("now and then The ferry")


async def test_the_note_of_a_link_that_leads_nowhere_is_made_with_its_name(make: Make) -> None:
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        screen = await look(pilot, place, "Summer")
        await mark(pilot, place, ids["Ferries"])
        await pilot.press("enter")
        await assert_until(pilot, lambda: screen.editor.has_focus)
        screen.editor.go_to(screen.editor.text.index("Whales"))
        screen.action_notes_follow()
        await assert_until(pilot, lambda: on(place.app, TitleScreen))
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, NotesScreen) and screen.editor.has_focus)
        assert screen.editor.text == ""
        assert (await store.notes.get("Whales")).text == ""


async def test_notes_without_the_words_are_told_apart_and_the_line_with_them_is_shown(make: Make) -> None:
    store, ids = await notebook()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        screen = await look(pilot, place, "Summer")
        await pilot.press("slash")
        await type_text(pilot, "Moskenes")
        await pilot.press("enter")
        await assert_until(pilot, lambda: any(row.hit for row in screen._list.rows))
        (hit,) = [row.hit for row in screen._list.rows if row.hit]
        room = place.app.room
        apart = replace(
            hit,
            chunk=replace(hit.chunk, id="other", document=ids["Summer"], text="---\ntags: [a]\n---\nBoats."),
            parts={**hit.parts, "document": 0.0},
        )
        rows = rows_of([Shelf(room, tuple(await room.notes.list()))], "Moskenes", [Hits(room, (apart, hit))])
        told = [str(row_text(row, 100, NOW)) for row in rows if row.heading or row.hit][-4:]
        shelf = Shelf(room, tuple(await room.notes.list()))
        tagged = rows_of([shelf], "#nowhere Moskenes", [Hits(room, (apart, hit, hit))])
        twice = rows_of([shelf], "Moskenes", [Hits(room, (hit, hit))])
    assert tagged == [], "a note without the tag is not found by its text"
    assert sum(row.hit is not None for row in twice) == 1, "a note is listed once"
    assert told[0] == "In the text"
    assert "Moskenes" in told[1].split("\n")[1]
    assert told[2] == "With none of the words, but near in meaning"
    assert told[3].split("\n")[1].strip() == "Boats."
