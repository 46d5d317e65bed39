"""How the notes look."""

import asyncio
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import OptionList

from atlas_desktop.services.notes.notebook import read_note
from atlas_desktop.tui.notes.adding import AddToNoteScreen, VersionsScreen
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage, stage, talk
from tests.tui.driving import assert_until, on, settle, shown, type_text
from tests.tui.notes.test_screen import browser
from tests.tui.test_snapshots import SIZES, THEMES, Snap, still, taken, unwritten

__all__ = ["still", "unwritten"]
HOME = Path("/home/ada/.local/share/atlas-desktop")
TEXTS = {
    "Harbours": "# Harbours\n\nBodø in the north, Moskenes on the islands.\n\n#travel",
    "Tides": "Twice a day the water rises. At spring tide the ferry is late.\n\n#sea",
    "Ferries": (
        "# Ferries\n\nThe ferry leaves from [[Harbours|the harbour]] at **eight**; in winter at ten. "
        "The tides matter: see [[Tides]].\n\n"
        "- Bodø to Moskenes: three hours\n- back in the *evening*\n\n"
        "> In strong wind it stays in the harbour.\n\nAsk about [[Whales]].\n\n#travel #sea"
    ),
    "Summer on the islands": (
        "First [[Ferries|the ferry]], then the huts. Tides are low in July.\n\n#plans #travel"
    ),
}


async def notebook() -> tuple[InMemoryStore, dict[str, str]]:
    """A store with four notes that link to each other, and their ids by title."""
    store, ids = InMemoryStore(FakeClock(NOW)), {}
    for title, text in TEXTS.items():
        (ids[title],) = await store.notes.put([read_note(title, text)])
    return store, ids


async def opened(pilot: Pilot[None], place: Stage, note_id: str) -> None:
    """Opens the notes, moves the cursor to one, and waits for what it could be linked with."""
    await settle(pilot)
    await pilot.press("f8")
    await assert_until(pilot, lambda: "4 notes" in shown(place))
    listing = browser(place).query_one("#notes", OptionList)
    listing.highlighted = listing.get_option_index(f"note {note_id}")
    await settle(pilot)

    def proposed() -> bool:
        shown_now = browser(place).visit
        rows = browser(place)._links.rows
        return shown_now is not None and shown_now.note == note_id and any(row.can_link for row in rows)

    await assert_until(pilot, proposed)
    await assert_until(pilot, lambda: not place.app.notes.waiting)
    await settle(pilot)


@SIZES
@THEMES
def test_notes(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    store, ids = asyncio.run(notebook())

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await opened(pilot, place, ids["Ferries"])

    assert taken(snap_compare, stage(HOME, theme=theme, store=store), size, steps)


@THEMES
def test_notes_on_a_wide_screen(snap_compare: Snap, theme: str) -> None:
    store, ids = asyncio.run(notebook())

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await opened(pilot, place, ids["Ferries"])
        await pilot.press("enter")
        await settle(pilot)

    assert taken(snap_compare, stage(HOME, theme=theme, store=store), (200, 60), steps)


@SIZES
@THEMES
def test_preview_of_a_note(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    store, ids = asyncio.run(notebook())

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await opened(pilot, place, ids["Ferries"])
        await pilot.press("enter", "ctrl+r")
        await assert_until(pilot, lambda: "• Bodø to Moskenes" in shown(place))
        await settle(pilot)

    assert taken(snap_compare, stage(HOME, theme=theme, store=store), size, steps)


@SIZES
def test_connections_of_a_note(snap_compare: Snap, size: tuple[int, int]) -> None:
    store, ids = asyncio.run(notebook())

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await opened(pilot, place, ids["Tides"])
        await pilot.press("enter", "ctrl+g")
        await settle(pilot)

    assert taken(snap_compare, stage(HOME, store=store), size, steps)


@SIZES
def test_names_are_completed(snap_compare: Snap, size: tuple[int, int]) -> None:
    store, ids = asyncio.run(notebook())

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await opened(pilot, place, ids["Tides"])
        await pilot.press("enter", "[", "[")
        await type_text(pilot, "r")
        # What is typed is saved a moment later, which the bar above the text says.
        await assert_until(pilot, lambda: browser(place)._menu.is_open and "saved" in shown(place))
        await settle(pilot)

    assert taken(snap_compare, stage(HOME, store=store), size, steps)


@SIZES
@THEMES
def test_no_notes(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f8")
        await assert_until(pilot, lambda: "No notes yet." in shown(place))

    assert taken(snap_compare, stage(HOME, theme=theme, clock=FakeClock(NOW)), size, steps)


@SIZES
def test_earlier_versions_of_a_note(snap_compare: Snap, size: tuple[int, int]) -> None:
    store, ids = asyncio.run(notebook())
    asyncio.run(rewrite(store, ids["Tides"]))

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await opened(pilot, place, ids["Tides"])
        await pilot.press("v")
        await assert_until(pilot, lambda: on(place.app, VersionsScreen) and "2 words" in shown(place))

    assert taken(snap_compare, stage(HOME, store=store), size, steps, alone=True)


async def rewrite(store: InMemoryStore, note_id: str) -> None:
    for text in ("High water.", "Low water at noon."):
        await store.notes.put([read_note("Tides", text, note=note_id)])


@SIZES
def test_a_note_of_a_message(snap_compare: Snap, size: tuple[int, int]) -> None:
    store, _ids = asyncio.run(notebook())
    session = asyncio.run(talk(store, "The bread", [("How long?", "An hour at 220 degrees.")]))

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await assert_until(pilot, lambda: "An hour at 220" in shown(place))
        await pilot.press("alt+up", "n")
        await assert_until(pilot, lambda: on(place.app, AddToNoteScreen) and "Added at" in shown(place))
        await settle(pilot, but="notes-change")

    assert taken(snap_compare, stage(HOME, store=store, resume=session.id), size, steps)
