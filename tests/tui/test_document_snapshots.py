"""How the library, the reader and the sources of a reply look."""

import asyncio
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from atlas_desktop.tui.documents.actions import AddScreen, WatchScreen
from atlas_desktop.tui.documents.reader import ReaderScreen
from atlas_desktop.tui.documents.screen import DocumentsScreen
from memory.attachments import NewAttachment
from memory.documents.entities import DocumentState
from memory.entities import Session
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage, stage
from tests.tui.driving import assert_until, on, settle, shown
from tests.tui.shelves import cited_talk, library, shelve
from tests.tui.test_snapshots import SIZES, THEMES, Snap, still, taken, unwritten

__all__ = ["still", "unwritten"]
HOME = Path("/home/ada/.local/share/atlas-desktop")


async def furnished() -> tuple[InMemoryStore, dict[str, str], Session]:
    """A library, and a conversation about one of its documents with a file attached."""
    store = InMemoryStore(FakeClock(NOW))
    ids = await library(store)
    session = await cited_talk(store, ids["ferries"])
    await store.attachments.attach(
        session.id, NewAttachment("map.txt", "text/plain", 4_000, "North is up. " * 300)
    )
    return store, ids, session


async def opened(pilot: Pilot[None], place: Stage, row_id: str) -> None:
    """Opens the library and moves the cursor to a row."""
    await settle(pilot)
    await pilot.press("f7")
    await assert_until(pilot, lambda: "Attached to conversations" in shown(place))
    listing = place.app.screen.query_one("#documents", OptionList)
    listing.highlighted = listing.get_option_index(row_id)
    await settle(pilot)


@SIZES
@THEMES
def test_library(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    store, ids, _session = asyncio.run(furnished())

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await opened(pilot, place, f"document {ids['tides']}")
        await pilot.press("space")
        await opened_row(pilot, place, f"document {ids['ferries']}")

    assert taken(snap_compare, stage(HOME, theme=theme, store=store), size, steps)


async def opened_row(pilot: Pilot[None], place: Stage, row_id: str) -> None:
    listing = place.app.screen.query_one("#documents", OptionList)
    listing.highlighted = listing.get_option_index(row_id)
    await settle(pilot)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=["80x24", "200x60"])
def test_every_state_while_files_are_read(snap_compare: Snap, size: tuple[int, int]) -> None:
    store, ids, _session = asyncio.run(furnished())

    async def fill() -> None:
        states = [one for one in DocumentState if one not in (DocumentState.INDEXED, DocumentState.FAILED)]
        for state in states:
            known = await shelve(
                store, f"/home/ada/{state}.md", "Words of a document.", title=f"A {state} file"
            )
            await store.documents.set_state([known], state)

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await fill()
        await opened(pilot, place, f"document {ids['scan']}")
        screen = place.app.screen
        assert isinstance(screen, DocumentsScreen)
        # What the reading of files reports.
        screen.changes._progress("papers/tides-of-the-northern-sea.pdf", 3, 12)
        await assert_until(pilot, lambda: "Reading 3 of 12" in shown(place))

    assert taken(snap_compare, stage(HOME, store=store), size, steps)


@SIZES
def test_details(snap_compare: Snap, size: tuple[int, int]) -> None:
    store, ids, _session = asyncio.run(furnished())

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await opened(pilot, place, f"document {ids['ferries']}")
        await pilot.press("right", "down")
        await settle(pilot)

    assert taken(snap_compare, stage(HOME, store=store), size, steps)


@SIZES
def test_folder_and_failed_file(snap_compare: Snap, size: tuple[int, int]) -> None:
    store, ids, _session = asyncio.run(furnished())

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await opened(pilot, place, f"document {ids['scan']}")

    assert taken(snap_compare, stage(HOME, store=store), size, steps)


@SIZES
@THEMES
def test_nothing_in_the_library(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f7")
        await assert_until(pilot, lambda: "No documents yet" in shown(place))

    assert taken(snap_compare, stage(HOME, theme=theme, clock=FakeClock(NOW)), size, steps)


@SIZES
@THEMES
def test_search(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    store, ids, _session = asyncio.run(furnished())

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await opened(pilot, place, f"document {ids['ferries']}")
        place.app.screen.query_one("#query", Input).value = "ferry"
        place.app.screen.query_one("#query", Input).focus()
        await pilot.press("enter")
        await assert_until(pilot, lambda: "In the text" in shown(place))
        await pilot.press("down", "down")
        await settle(pilot)

    assert taken(snap_compare, stage(HOME, theme=theme, store=store), size, steps)


@SIZES
@THEMES
def test_reader(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    store, ids, _session = asyncio.run(furnished())

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        room = place.desk.room
        assert room is not None
        text = await store.documents.text(ids["tides"]) or ""
        begin = text.index("Twice")
        screen = ReaderScreen(place.app, room, ids["tides"], passage=(begin, begin + 150))
        place.app.push_screen(screen)
        await settle(pilot)
        await pilot.press("slash")
        screen.query_one(Input).value = "tides"
        await pilot.press("enter")
        await assert_until(pilot, lambda: "match 1 of 2" in shown(place))
        await pilot.press("shift+down", "shift+down", "shift+down")

    assert taken(snap_compare, stage(HOME, theme=theme, store=store), size, steps)


@SIZES
@THEMES
def test_sources_of_a_reply(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    store, _ids, session = asyncio.run(furnished())

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await assert_until(pilot, lambda: "[1] Ferries of the north" in shown(place))
        await pilot.press("alt+up", "u")
        await assert_until(pilot, lambda: "? Everybody knows it." in shown(place))
        await pilot.press("tab")
        await assert_until(pilot, lambda: "▸ ✓ [1]" in shown(place))

    assert taken(snap_compare, stage(HOME, theme=theme, store=store, resume=session.id), size, steps)


@SIZES
def test_a_file_is_added(snap_compare: Snap, size: tuple[int, int], papers: Path) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f7")
        await assert_until(pilot, lambda: "No documents yet" in shown(place))
        await pilot.press("a")
        await assert_until(pilot, lambda: on(place.app, AddScreen))
        place.app.screen.query_one("#path", Input).value = "papers/"
        await assert_until(pilot, lambda: "ferries.md" in shown(place))

    assert papers.is_dir()
    assert taken(snap_compare, stage(HOME, clock=FakeClock(NOW)), size, steps, alone=True)


@SIZES
def test_a_folder_is_watched(snap_compare: Snap, size: tuple[int, int], papers: Path) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f7")
        await assert_until(pilot, lambda: "No documents yet" in shown(place))
        await pilot.press("w")
        await assert_until(pilot, lambda: on(place.app, WatchScreen))
        place.app.screen.query_one("#path", Input).value = "papers"
        await assert_until(pilot, lambda: "2 files would be read" in shown(place))

    assert papers.is_dir()
    assert taken(snap_compare, stage(HOME, clock=FakeClock(NOW)), size, steps, alone=True)


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files, of which some are documents, in the current folder."""
    folder = tmp_path / "papers"
    folder.mkdir()
    for name in ("ferries.md", "tides.txt", "photo.raw"):
        (folder / name).write_text("words " * 100)
    monkeypatch.chdir(tmp_path)
    return folder
