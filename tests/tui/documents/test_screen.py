"""The Documents view: what is in the library, and what is done with it."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, TextArea

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.documents.scanning import SkipReason
from atlas_desktop.services.documents.watching import FolderFollower
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.dialogs.forms import TextEditScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen, PickScreen
from atlas_desktop.tui.documents.actions import AddScreen, WatchScreen
from atlas_desktop.tui.documents.reader import ReaderScreen
from atlas_desktop.tui.documents.rows import Details, Library, Row, details_of, rows_of
from atlas_desktop.tui.documents.screen import DocumentList, DocumentsScreen, LinkList
from atlas_desktop.tui.paths import PathPicker
from memory.attachments import NewAttachment
from memory.documents.entities import DocumentHit, FileFacts, NewDocument, OnMissing, ParsedText
from memory.jobs.queue import Job
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, NamedModel, Stage, talk
from tests.tui.driving import assert_until, chat, on, say, settle, shown, type_text
from tests.tui.shelves import cited_talk, library, shelve

Make = Callable[..., Stage]
TIMES = NewAttachment("harbours.md", "text/markdown", 20, "Ferries go at eight.")


async def stocked() -> tuple[InMemoryStore, dict[str, str]]:
    store = InMemoryStore(FakeClock(NOW))
    return store, await library(store)


async def look(pilot: Pilot[None], place: Stage, words: str) -> None:
    """Opens the view, and waits for these words in it."""
    await settle(pilot)
    await pilot.press("f7")
    await assert_until(pilot, lambda: on(place.app, DocumentsScreen) and words in shown(place))
    await settle(pilot)


def browser(place: Stage) -> DocumentsScreen:
    screen = place.app.screen
    assert isinstance(screen, DocumentsScreen)
    return screen


async def mark(pilot: Pilot[None], place: Stage, row_id: str) -> None:
    """Moves the cursor to a row."""
    listing = browser(place).query_one("#documents", OptionList)
    listing.focus()
    listing.highlighted = listing.get_option_index(row_id)
    await settle(pilot)


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is scanned or summarised in the background while a test looks at what is stored."""
    monkeypatch.setattr(BackgroundService, "start", lambda _self, _on_fault: None)
    monkeypatch.setattr(FolderFollower, "start", lambda _self, _on_fault: None)


@pytest.mark.usefixtures("idle")
async def test_it_shows_folders_and_files_with_their_states_in_words(make: Make) -> None:
    store, _ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(200, 60)) as pilot:
        await look(pilot, place, "Ferries of the north")
        await assert_until(pilot, lambda: "drafts/old.md" in shown(place))
        text = shown(place)
        assert "3 documents · 1 watched folder" in text
        assert "● Ferries of the north" in text
        assert "ready" in text
        assert "✗ scan.pdf" in text
        assert "not readable" in text
        assert "1 not readable" in text
        assert "Single files" in text
        # The first row is the folder: its rules and what was skipped are on the right.
        assert "Not: drafts/" in text
        assert "Archive it: kept, but not searched" in text
        assert "drafts/old.md: is excluded by a rule" in text
        await pilot.press("down")
        await assert_until(pilot, lambda: "Summary (sentences of the document)" in shown(place))
        assert "When the ferries to the islands go." in shown(place)
        assert "Times in winter" in shown(place)


@pytest.mark.usefixtures("idle")
async def test_a_watched_folder_says_that_forgotten_files_stay_out(make: Make) -> None:
    store, ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        await look(pilot, place, "Ferries of the north")
        await assert_until(pilot, lambda: "If a file is gone" in shown(place))
        assert "stay out" not in shown(place)
        await store.documents.erase([ids["ferries"]], for_good=True)
        browser(place).reload()
        await assert_until(pilot, lambda: "stay out" in shown(place))


async def test_what_atlas_wrote_stands_apart_from_the_files(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    await shelve(store, "/papers/tides.md", "High at noon.", title="Tides")
    await shelve(store, "", "High at noon. [1]", title="Compare the tides")
    place = make(store=store)
    async with place.app.run_test(size=(200, 60)) as pilot:
        await look(pilot, place, "Written by Atlas")
        text = shown(place)
        assert text.index("Single files") < text.index("Tides") < text.index("Written by Atlas")
        assert text.index("Written by Atlas") < text.rindex("Compare the tides")


async def test_enter_on_a_folder_goes_to_its_first_document(make: Make) -> None:
    store, _ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        await look(pilot, place, "Ferries of the north")
        folder = browser(place).marked
        assert folder is not None
        assert folder.folder is not None
        await pilot.press("enter")
        await assert_until(pilot, lambda: browser(place).marked is not folder)
        row = browser(place).marked
        assert row is not None
        assert row.document == folder.documents[0]
        assert browser(place).query_one("#documents", OptionList).has_focus


async def test_what_is_in_no_text_is_said_to_be_nowhere(make: Make) -> None:
    store, _ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        await look(pilot, place, "Single files")
        await pilot.press("slash")
        await type_text(pilot, "zebra")
        await pilot.press("enter")
        await assert_until(pilot, lambda: "No matches, in titles or texts." in shown(place))


async def test_what_has_none_of_the_words_is_not_said_to_have_them() -> None:
    store, ids = await stocked()
    documents = {one.id: one for one in await store.documents.list()}
    chunks = {name: (await store.documents.chunks(ids[name]))[0] for name in ("ferries", "tides")}
    hits = [
        DocumentHit(chunk, documents[ids[name]].title, "", 0.5, {"document": words}, NOW)
        for (name, chunk), words in zip(chunks.items(), (0.0, 0.4), strict=True)
    ]
    rows = rows_of(Library(tuple(documents.values())), "zebra", hits)
    assert [row.id for row in rows if row.hit is None] == [
        "text",
        f"found {ids['tides']}",
        "near",
        f"found {ids['ferries']}",
    ]


async def test_an_empty_library_explains_itself(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(80, 24)) as pilot:
        await look(pilot, place, "No documents yet.")
        await pilot.press("a")
        await assert_until(pilot, lambda: on(place.app, AddScreen))
        await pilot.press("escape")
        await settle(pilot)
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))


async def test_typing_filters_and_a_search_finds_passages_by_document(make: Make) -> None:
    store, ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        await look(pilot, place, "Single files")
        await pilot.press("slash")
        await type_text(pilot, "papers/fer")
        await assert_until(pilot, lambda: "In titles and paths" in shown(place))
        assert "scan.pdf" not in shown(place)
        browser(place).query_one(Input).value = "spring tides"
        await pilot.press("enter")
        await assert_until(pilot, lambda: "In the text" in shown(place) and "page 2" in shown(place))
        assert "Ferries" not in shown(place)
        hit = next(row for row in browser(place)._rows if row.hit is not None and row.hit.chunk.page == 2)
        await mark(pilot, place, hit.id)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ReaderScreen) and "▌ At new moon" in shown(place))
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, DocumentsScreen))
        browser(place).query_one(Input).value = "zebras"
        await assert_until(pilot, lambda: "No matches" in shown(place))
        await pilot.press("escape")
        await assert_until(pilot, lambda: "Single files" in shown(place))
        assert hit.document is not None
        assert hit.document.id == ids["tides"]


async def test_files_are_added_with_a_completed_path(make: Make, tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()
    (tmp_path / "shelf" / "moon.md").write_text("The moon is round.")
    place = make()
    async with place.app.run_test(size=(140, 40), notifications=True) as pilot:
        await look(pilot, place, "No documents yet.")
        await pilot.press("a")
        await assert_until(pilot, lambda: on(place.app, AddScreen))
        await type_text(pilot, "/nowhere/at/all")
        await pilot.press("enter")
        await assert_until(pilot, lambda: "There is no such file or folder." in shown(place))
        field = place.app.screen.query_one("#path", Input)
        field.value = f"{tmp_path}/she"
        await settle(pilot, but="documents-change")
        await pilot.press("tab")
        await assert_until(pilot, lambda: field.value == f"{tmp_path}/shelf/")
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, DocumentsScreen) and "moon.md" in shown(place))
        (document,) = await place.store.documents.list()
        assert document.path == f"{tmp_path}/shelf/moon.md"
        await assert_until(pilot, lambda: any("1 added" in note.message for note in place.app._notifications))


async def test_what_was_added_is_selected_and_what_was_not_is_named_once(make: Make, tmp_path: Path) -> None:
    (tmp_path / "zebra.md").write_text("A zebra has stripes.")
    (tmp_path / "photo.raw").write_bytes(b"\x00\x01")
    store, _ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40), notifications=True) as pilot:
        await look(pilot, place, "Single files")
        for name in ("zebra.md", "photo.raw"):
            await pilot.press("a")
            await assert_until(pilot, lambda: on(place.app, AddScreen))
            place.app.screen.query_one("#path", Input).value = f"{tmp_path}/{name}"
            await settle(pilot, but="documents-change")
            await pilot.press("enter")
            await assert_until(pilot, lambda: on(place.app, DocumentsScreen))
            await settle(pilot)
        row = browser(place).marked
        assert row is not None
        assert row.document is not None
        assert row.document.path == f"{tmp_path}/zebra.md"
        (told,) = [note.message for note in place.app._notifications if "skipped" in note.message]
        assert told == "Nothing was added. 1 skipped: photo.raw: Atlas does not read this format."


async def test_a_folder_is_watched_after_a_look_at_what_would_be_read(make: Make, tmp_path: Path) -> None:
    for name in ("a.md", "b.md", "c.bin"):
        (tmp_path / name).write_text("words")
    place = make()
    async with place.app.run_test(size=(140, 40)) as pilot:
        await look(pilot, place, "No documents yet.")
        await pilot.press("w")
        await assert_until(pilot, lambda: on(place.app, WatchScreen))
        place.app.screen.query_one("#path", Input).focus()
        place.app.screen.query_one("#path", Input).value = str(tmp_path)
        place.app.screen.query_one("#exclude", Input).value = "b.md, *.tmp"
        # Enter shows what would be read before it watches.
        await pilot.press("enter")
        await assert_until(pilot, lambda: "would be read" in shown(place) and "✗ c.bin" in shown(place))
        assert not await place.store.documents.folders()
        place.app.screen.query_one("#path", Input).focus()
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, DocumentsScreen) and "Watched folder" in shown(place))
        (folder,) = await place.store.documents.folders()
        assert folder.location == str(tmp_path)
        assert folder.exclude == ("b.md", "*.tmp")
        assert folder.on_missing is OnMissing.KEEP


async def test_keys_of_the_library_are_shown_where_they_do_something(make: Make) -> None:
    store, ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        await look(pilot, place, "1 watched folder")
        await mark(pilot, place, f"document {ids['tides']}")
        keys = shown(place).splitlines()[-1]
        assert "s Summary" in keys
        assert "e Edit" not in keys


@pytest.mark.parametrize("keeps", [True, False])
async def test_a_folder_is_no_longer_watched(make: Make, keeps: bool) -> None:
    store, _ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(120, 40)) as pilot:
        await look(pilot, place, "1 watched folder")
        await pilot.press("u")
        await assert_until(
            pilot, lambda: on(place.app, PickScreen) and "Keep its 2 documents" in shown(place)
        )
        await pilot.press(*(["enter"] if keeps else ["down", "enter"]))
        await assert_until(pilot, lambda: on(place.app, DocumentsScreen))
        await settle(pilot)
        assert await store.documents.folders() == []
        assert len(await store.documents.list()) == (3 if keeps else 1)


async def test_selected_documents_are_removed_after_a_question(make: Make) -> None:
    store, ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(120, 40)) as pilot:
        await look(pilot, place, "Single files")
        await mark(pilot, place, f"document {ids['ferries']}")
        await pilot.press("space")
        await mark(pilot, place, f"document {ids['tides']}")
        await pilot.press("space")
        await assert_until(pilot, lambda: "2 selected" in shown(place))
        assert "✓ ● Ferries" in shown(place)
        await pilot.press("delete")
        await assert_until(
            pilot, lambda: on(place.app, ConfirmScreen) and "Remove 2 documents?" in shown(place)
        )
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, DocumentsScreen))
        assert len(await store.documents.list()) == 3
        await pilot.press("delete")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.press("tab", "enter")
        await assert_until(pilot, lambda: on(place.app, DocumentsScreen) and "1 document" in shown(place))
        assert [one.id for one in await store.documents.list()] == [ids["scan"]]


async def test_the_mouse_shows_opens_and_selects(make: Make) -> None:
    store, ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        await look(pilot, place, "Single files")
        listing = browser(place).query_one("#documents", OptionList)
        await pilot.click("#documents", offset=(12, 1))
        await assert_until(pilot, lambda: "When the ferries to the islands go." in shown(place))
        assert on(place.app, DocumentsScreen)
        await pilot.click("#documents", offset=(1, 1))
        await assert_until(pilot, lambda: "1 selected" in shown(place))
        await pilot.click("#documents", offset=(1, 1))
        await assert_until(pilot, lambda: "1 selected" not in shown(place))
        await pilot.click("#documents", offset=(12, 1))
        await assert_until(pilot, lambda: on(place.app, ReaderScreen) and "Times in winter" in shown(place))
        await pilot.press("escape")
        await settle(pilot)
        await pilot.click("#links", offset=(6, 3))
        await assert_until(pilot, lambda: on(place.app, ReaderScreen))
        assert listing.highlighted == 1
        assert ids


@pytest.mark.usefixtures("idle")
async def test_a_folder_that_is_gone_is_said_in_words(make: Make) -> None:
    store, _ids = await stocked()
    (folder,) = await store.documents.folders()
    await store.documents.scanned(folder.id, [("", SkipReason.VANISHED.value)])
    place = make(store=store)
    async with place.app.run_test(size=(200, 60)) as pilot:
        await look(pilot, place, "Ferries of the north")
        await assert_until(pilot, lambda: "The folder itself: is not there any more" in shown(place))


@pytest.mark.usefixtures("idle")
async def test_a_summary_is_made(make: Make) -> None:
    store, ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        await look(pilot, place, "Single files")
        await mark(pilot, place, f"document {ids['tides']}")
        await assert_until(pilot, lambda: "No summary yet" in shown(place))
        await settle(pilot)
        await pilot.press("s")
        await assert_until(pilot, lambda: "Summary (" in shown(place))
        assert (await store.documents.get(ids["tides"])).summary is not None


async def test_a_question_begins_a_conversation_about_the_documents(make: Make) -> None:
    store, ids = await stocked()
    place = make(store=store, model=NamedModel(["At eight."]))
    async with place.app.run_test(size=(140, 40)) as pilot:
        await look(pilot, place, "Single files")
        await mark(pilot, place, f"document {ids['scan']}")
        await pilot.press("q")
        await settle(pilot)
        assert on(place.app, DocumentsScreen), "nothing was read from it"
        await mark(pilot, place, f"document {ids['ferries']}")
        await pilot.press("q")
        await assert_until(
            pilot, lambda: on(place.app, ChatScreen) and "used with next message" in shown(place)
        )
        await say(pilot, "When does it leave?")
        await assert_until(pilot, lambda: "At eight." in shown(place))
        await settle(pilot)
        session = chat(place.app).current.id
        assert session is not None
        assert [one.id for one in await store.documents.bound(session)] == [ids["ferries"]]
        assert chat(place.app).current.documents == []
        assert "Ferries of the north · document" in shown(place)
        # The document leads back to its conversation.
        await chat(place.app).sessions.show_new()
        await look(pilot, place, "Single files")
        await mark(pilot, place, f"document {ids['ferries']}")
        await assert_until(pilot, lambda: "Conversations" in shown(place))
        await pilot.press("right", "end", "enter")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        await assert_until(pilot, lambda: chat(place.app).current.id == session)


async def test_a_heading_leads_into_the_reader(make: Make) -> None:
    store, ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await look(pilot, place, "Single files")
        await mark(pilot, place, f"document {ids['ferries']}")
        assert "Outline" not in shown(place), "a narrow screen shows one side"
        await pilot.press("right")
        await assert_until(pilot, lambda: "Outline" in shown(place) and "Single files" not in shown(place))
        await pilot.press("end", "enter")
        await assert_until(pilot, lambda: on(place.app, ReaderScreen) and "one ferry a day" in shown(place))
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, DocumentsScreen))
        await pilot.press("escape")
        await assert_until(pilot, lambda: "Single files" in shown(place))


async def test_who_goes_to_the_details_before_they_are_read_gets_there(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, ids = await stocked()
    place = make(store=store)
    read = asyncio.Event()

    async def slowly(row: Row, *rest: Any) -> Details:
        if row.document is not None:
            await read.wait()
        return await details_of(row, *rest)

    monkeypatch.setattr("atlas_desktop.tui.documents.screen.details_of", slowly)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await look(pilot, place, "Single files")
        listing, links = browser(place).query_one(DocumentList), browser(place).query_one(LinkList)
        listing.highlighted = listing.get_option_index(f"document {ids['ferries']}")
        await pilot.press("right")
        await assert_until(
            pilot, lambda: "Outline" not in shown(place) and "Single files" not in shown(place)
        )
        read.set()
        await assert_until(pilot, lambda: "Outline" in shown(place) and links.has_focus)
        assert links.highlighted == 1, "the first heading of the document"


async def test_the_view_follows_changes_in_the_background(make: Make) -> None:
    store, _ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(120, 40)) as pilot:
        await look(pilot, place, "Single files")
        await shelve(store, "/home/ada/new.md", "Something new.")
        room = place.desk.room
        assert room is not None
        room.background.register("nothing", nothing)
        await room.background.add("nothing", "all")
        await assert_until(pilot, lambda: "new.md" in shown(place))


async def test_a_summary_made_in_the_background_is_shown(make: Make) -> None:
    store, ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(140, 40)) as pilot:
        await look(pilot, place, "Single files")
        await mark(pilot, place, f"document {ids['tides']}")
        await assert_until(pilot, lambda: "The moon raises" in shown(place))
        await shelve(store, "/home/ada/tides.pdf", "The sun raises them, too.")
        room = place.desk.room
        assert room is not None
        await room.documents.remember()
        await assert_until(pilot, lambda: "The sun raises" in shown(place))


async def nothing(_job: Job) -> None:
    """A job that has nothing to do."""


# --- files attached to conversations ----------------------------------------------------------------


async def readers() -> tuple[InMemoryStore, list[str]]:
    """Two conversations that read the same attached file."""
    store = InMemoryStore(FakeClock(NOW))
    ids = []
    for title in ("Lofoten", "Islands"):
        session = await talk(store, title, [("When do we go?", "At eight.")])
        await store.attachments.attach(session.id, TIMES)
        ids.append(session.id)
    return store, ids


async def test_attached_files_lead_to_their_conversations_and_are_used_here(make: Make) -> None:
    store, ids = await readers()
    place = make(store=store)
    async with place.app.run_test(size=(120, 30)) as pilot:
        await look(pilot, place, "harbours.md")
        assert "Attached to conversations" in shown(place)
        await pilot.press("right", "end", "enter")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        await assert_until(pilot, lambda: chat(place.app).current.id == ids[0])
        await chat(place.app).sessions.show_new()
        await look(pilot, place, "harbours.md")
        await pilot.press("h")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        await assert_until(pilot, lambda: "read with next message" in shown(place))
        assert [one.name for one in chat(place.app).current.attached] == ["harbours.md"]


async def test_an_attached_file_is_removed_from_all_conversations_after_a_question(make: Make) -> None:
    store, ids = await readers()
    place = make(store=store)
    async with place.app.run_test(size=(120, 30)) as pilot:
        await look(pilot, place, "harbours.md")
        await pilot.press("delete")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen) and "from the 2" in shown(place))
        await pilot.press("tab", "enter")
        await assert_until(pilot, lambda: on(place.app, DocumentsScreen) and "harbours" not in shown(place))
        assert [await store.attachments.attached(one) for one in ids] == [[], []]


async def test_a_file_is_attached_from_the_view(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(80, 24)) as pilot:
        await look(pilot, place, "No documents yet.")
        await pilot.press("t")
        await assert_until(pilot, lambda: on(place.app, PathPicker))


# --- in a conversation ------------------------------------------------------------------------------


async def test_a_reply_shows_its_sources_and_leads_to_the_passage_and_back(make: Make) -> None:
    store, ids = await stocked()
    session = await cited_talk(store, ids["ferries"])
    place = make(store=store, resume=session.id)
    async with place.app.run_test(size=(120, 40)) as pilot:
        await assert_until(pilot, lambda: "[1] Ferries of the north, line 5" in shown(place))
        await settle(pilot)
        assert "✓ [1]" in shown(place)
        assert "✗ [2] Ferries of the north, line 1 · quotation not found there" in shown(place)
        assert "1 sentence without support" in shown(place)
        await pilot.press("alt+up", "tab")
        await assert_until(pilot, lambda: "▸ ✓ [1]" in shown(place))
        await pilot.press("tab")
        await assert_until(pilot, lambda: "▸ ✗ [2]" in shown(place))
        await pilot.press("shift+tab", "enter")
        await assert_until(
            pilot, lambda: on(place.app, ReaderScreen) and "▌ The ferry leaves" in shown(place)
        )
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, ChatScreen) and "▸ ✓ [1]" in shown(place))
        await pilot.press("escape", "u")
        await assert_until(pilot, lambda: "? Everybody knows it." in shown(place))
        await pilot.press("u")
        await assert_until(pilot, lambda: "? Everybody knows it." not in shown(place))
        await pilot.press("tab", "tab", "tab")
        await assert_until(pilot, lambda: chat(place.app).prompt.has_focus)


async def test_a_new_reply_shows_its_sources_when_it_is_done(make: Make) -> None:
    store, ids = await stocked()
    model = NamedModel(["The ferry leaves Bodø at eight and reaches Moskenes at noon [1]."])
    place = make(store=store, model=model)
    async with place.app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        chat(place.app).documents.use(ids["ferries"])
        await assert_until(pilot, lambda: "used with next message" in shown(place))
        await say(pilot, "When does the ferry leave Bodø?")
        await assert_until(pilot, lambda: "✓ [1] Ferries of the north" in shown(place))
        await settle(pilot)
        links = chat(place.app).transcript.blocks[-1].sources
        assert links is not None
        await pilot.click(links, offset=(10, 0))
        await assert_until(pilot, lambda: on(place.app, ReaderScreen) and "▌" in shown(place))
        await pilot.press("escape")
        await assert_until(pilot, lambda: links.has_focus)


async def read_again(store: InMemoryStore, document_id: str) -> None:
    """The document is read again from its file, which has another text by now."""
    known = await store.documents.get(document_id)
    new = NewDocument(
        path=known.path,
        facts=FileFacts(known.path, 50, 2),
        sha256="0" * 64,
        media_type=known.media_type,
        parser=known.parser,
        title=known.title,
        parsed=ParsedText("A new first line.\n\nThe ferry leaves Bodø at eight.\n"),
        document=known.id,
        folder=known.folder,
    )
    await store.documents.put([new])


async def test_a_citation_of_a_changed_document_says_so(make: Make) -> None:
    store, ids = await stocked()
    session = await cited_talk(store, ids["ferries"])
    await read_again(store, ids["ferries"])
    place = make(store=store, resume=session.id)
    async with place.app.run_test(size=(120, 40)) as pilot:
        await assert_until(pilot, lambda: "document has changed since" in shown(place))
        await settle(pilot)
        await pilot.press("alt+up", "tab", "enter")
        await assert_until(
            pilot, lambda: on(place.app, ReaderScreen) and "marked where it is now" in shown(place)
        )
        assert "▌ The ferry leaves Bodø at eight." in shown(place)


async def test_a_document_that_changes_while_its_citation_is_shown_is_noticed(make: Make) -> None:
    store, ids = await stocked()
    session = await cited_talk(store, ids["ferries"])
    place = make(store=store, resume=session.id)
    async with place.app.run_test(size=(120, 40)) as pilot:
        await assert_until(pilot, lambda: "✓ [1] Ferries of the north" in shown(place))
        await settle(pilot)
        await read_again(store, ids["ferries"])
        await pilot.press("alt+up", "tab", "enter")
        await assert_until(
            pilot, lambda: on(place.app, ReaderScreen) and "marked where it is now" in shown(place)
        )
        await pilot.press("escape")
        await assert_until(pilot, lambda: "document has changed since" in shown(place))


async def test_a_name_after_an_at_sign_uses_a_document_here(make: Make) -> None:
    store, ids = await stocked()
    place = make(store=store)
    async with place.app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await type_text(pilot, "see @ferr")
        await assert_until(pilot, lambda: "document: use it here" in shown(place))
        await pilot.press("tab")
        await assert_until(pilot, lambda: "used with next message" in shown(place))
        assert chat(place.app).prompt.text == "see “Ferries of the north” "
        assert [one.id for one in chat(place.app).current.documents] == [ids["ferries"]]
        await pilot.press("ctrl+u")
        chat(place.app).prompt.put("")
        await say(pilot, "/detach ferries of the north")
        await assert_until(pilot, lambda: "used with next message" not in shown(place))
        assert chat(place.app).current.documents == []


async def test_documents_of_a_begun_conversation_are_bound_at_once_and_shown_beside_it(make: Make) -> None:
    store, ids = await stocked()
    session = await talk(store, "Tides", [("Why?", "The moon.")])
    place = make(store=store, resume=session.id)
    async with place.app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        await say(pilot, "/attach /home/ada/tides.pdf")
        await assert_until(pilot, lambda: "Tides · document" in shown(place))
        assert [one.id for one in await store.documents.bound(session.id)] == [ids["tides"]]
        await pilot.press("alt+m")
        await assert_until(pilot, lambda: "• Tides" in shown(place))
        await say(pilot, "/detach Tides")
        await assert_until(pilot, lambda: "Tides · document" not in shown(place))
        assert list(await store.documents.bound(session.id)) == []


async def test_a_conversation_becomes_a_document_that_can_be_edited(make: Make) -> None:
    place = make(model=NamedModel(["Understood."]))
    async with place.app.run_test(size=(140, 45)) as pilot:
        await settle(pilot)
        await say(pilot, "I live in Reine. We decided to take the night train.")
        await assert_until(pilot, lambda: "Understood." in shown(place))
        await type_text(pilot, "/document")
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ReaderScreen) and "night train" in shown(place))
        await pilot.press("escape")
        await look(pilot, place, "I live in Reine")
        (document,) = await place.store.documents.list()
        await mark(pilot, place, f"document {document.id}")
        await pilot.press("e")
        await assert_until(pilot, lambda: on(place.app, TextEditScreen))
        place.app.screen.query_one(TextArea).text = "# Travel\n\nWe take the ferry."
        await pilot.press("ctrl+s")
        await assert_until(pilot, lambda: on(place.app, DocumentsScreen))
        await assert_until(pilot, lambda: "Travel" in shown(place))
    assert await place.store.documents.text(document.id) == "# Travel\n\nWe take the ferry."
