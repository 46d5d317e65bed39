"""The page of a project: its rows, its settings, its end, and where its items open."""

from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input

from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.dialogs.forms import TextEditScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen, PickScreen
from atlas_desktop.tui.documents.actions import AddScreen
from atlas_desktop.tui.documents.reader import ReaderScreen
from atlas_desktop.tui.history.actions import ProjectsScreen
from atlas_desktop.tui.memories.screen import MemoryScreen
from atlas_desktop.tui.projects.screen import ProjectScreen
from memory.entities import MemoryMode
from memory.memories.entities import MemoryKind, MemoryOrigin, MemoryState, MemoryTier, NewMemory
from memory.organising import MarksPatch, ProjectPatch
from memory.personas import NewPersona
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage, talk
from tests.tui.driving import assert_until, chat, on, say, settle, shown, type_text

Make = Callable[..., Stage]


async def boat() -> InMemoryStore:
    """A project with a conversation and two decisions."""
    store = InMemoryStore(FakeClock(NOW))
    session = await talk(store, "Berths", [("Which berth?", "Seven is free.")])
    await store.organising.apply([session.id], MarksPatch(project="Boat"))
    for text in ("We chose berth seven.", "We sail on Friday."):
        await store.memories.add(
            NewMemory(
                MemoryKind.DECISION,
                text,
                MemoryOrigin.PERSON,
                tier=MemoryTier.EPISODIC,
                state=MemoryState.KEPT,
                project="Boat",
            )
        )
    return store


async def page(pilot: Pilot[None], place: Stage) -> None:
    """Opens the page from the list of projects."""
    await settle(pilot)
    await say(pilot, "/project")
    await assert_until(pilot, lambda: on(place.app, ProjectsScreen) and "Boat" in shown(place))
    await pilot.press("o")
    await assert_until(pilot, lambda: on(place.app, ProjectScreen) and "Instructions" in shown(place))


async def test_the_page_shows_what_belongs_to_the_project(make: Make) -> None:
    place = make(store=await boat(), resume="last")
    async with place.app.run_test(size=(120, 30)) as pilot:
        await page(pilot, place)
        assert "Boat · 1 conversation, 2 memories" in shown(place)
        assert "Its episodic memories last as long as the project" in shown(place)
        await pilot.press("right")
        await assert_until(pilot, lambda: "2 messages" in shown(place))
        await pilot.press("right")
        await assert_until(pilot, lambda: "No documents." in shown(place))
        await pilot.press("right")
        await assert_until(pilot, lambda: "No notes." in shown(place))
        await pilot.press("right")
        await assert_until(pilot, lambda: "No tasks." in shown(place))
        await pilot.press("right")
        await assert_until(pilot, lambda: "We sail on Friday." in shown(place))
        await pilot.press("escape")
        assert on(place.app, ChatScreen)


async def test_settings_are_changed_on_the_page(make: Make) -> None:
    store = await boat()
    persona = await store.personas.add_persona(NewPersona("Sailor", "You sail."))
    place = make(store=store, resume="last")
    async with place.app.run_test(size=(120, 30)) as pilot:
        await page(pilot, place)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, TextEditScreen))
        await type_text(pilot, "Be brief.")
        await pilot.press("ctrl+s")
        await assert_until(pilot, lambda: on(place.app, ProjectScreen) and "Be brief." in shown(place))
        await pilot.press("down", "enter")
        await assert_until(pilot, lambda: on(place.app, PickScreen))
        await pilot.press("down", "enter")
        await assert_until(pilot, lambda: on(place.app, ProjectScreen) and "Sailor" in shown(place))
        await pilot.press("down", "down", "enter")
        await assert_until(pilot, lambda: on(place.app, PickScreen))
        await pilot.press("down", "down", "enter")
        await assert_until(pilot, lambda: "reads: uses memories, adds none" in shown(place))
        await pilot.press("down", "enter")
        await assert_until(pilot, lambda: "isolated" in shown(place).splitlines()[0])
    settings = (await store.projects.get("Boat")).settings
    assert (settings.instructions, settings.persona) == ("Be brief.", persona.id)
    assert (settings.memory_mode, settings.isolated) == (MemoryMode.READS, True)


async def test_archiving_shows_first_what_would_expire_and_reopening_brings_it_back(make: Make) -> None:
    store = await boat()
    place = make(store=store, resume="last")
    async with place.app.run_test(size=(100, 30)) as pilot:
        await page(pilot, place)
        await pilot.press("x")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        assert "2 episodic memories would expire on" in shown(place)
        assert "We chose berth seven." in shown(place)
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, ProjectScreen))
        assert (await store.projects.get("Boat")).archived_at is None
        await pilot.press("x")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.press("tab", "enter")
        await assert_until(pilot, lambda: "archived" in shown(place).splitlines()[0])
        await pilot.press("left")
        await assert_until(pilot, lambda: "We sail on Friday." in shown(place))
        assert "expires" in shown(place)
        await pilot.press("s")
        await assert_until(pilot, lambda: "Long-term" in shown(place))
        await pilot.press("x")
        await assert_until(pilot, lambda: "archived" not in shown(place).splitlines()[0])
    tiers = (await store.projects.contents("Boat")).tiers
    assert tiers == {"episodic": 1, "long_term": 1}


async def test_items_open_where_they_live(make: Make) -> None:
    store = await boat()
    place = make(store=store)
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        note = await place.app.room.notes.new("Berths", "Seven is free.", project="Boat")
        await page(pilot, place)
        await pilot.press("left")
        await assert_until(pilot, lambda: "We chose berth seven." in shown(place))
        await pilot.press("end", "enter")
        await assert_until(pilot, lambda: on(place.app, MemoryScreen) and "berth seven" in shown(place))
        await pilot.press("escape")
        await page(pilot, place)
        await pilot.press("left", "left", "left")
        await assert_until(pilot, lambda: note.title in shown(place) and "Seven is free." in shown(place))
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ReaderScreen) and "Seven is free." in shown(place))
        await pilot.press("escape")
        await page(pilot, place)
        await pilot.press("right")
        await assert_until(pilot, lambda: "2 messages" in shown(place))
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ChatScreen) and chat(place.app).current.id)
        assert "Seven is free." in shown(place)


async def test_documents_are_added_to_the_project_on_its_page(make: Make, tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()
    for name in ("moon", "tide"):
        (tmp_path / f"shelf/{name}.md").write_text(f"# {name}\n\nIt rises twice a day.\n")
    store = await boat()
    place = make(store=store, resume="last")
    async with place.app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await place.app.room.documents.add([tmp_path / "shelf/tide.md"])
        await page(pilot, place)
        # Only where they are listed.
        await pilot.press("a")
        await settle(pilot)
        assert on(place.app, ProjectScreen)
        await pilot.press("right", "right")
        await assert_until(pilot, lambda: "Press a to add a file or a folder" in shown(place))
        await pilot.press("a")
        await assert_until(pilot, lambda: on(place.app, AddScreen))
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, ProjectScreen))
        await pilot.press("a")
        await assert_until(pilot, lambda: on(place.app, AddScreen))
        place.app.screen.query_one("#path", Input).value = f"{tmp_path}/shelf"
        await pilot.press("enter")
        # The name of the file may be anywhere in a long path, and broken.
        await assert_until(pilot, lambda: on(place.app, ProjectScreen) and "1 document," in shown(place))
        said = "1 added, 1 unchanged. What was in the library already stays where it is."
        await assert_until(pilot, lambda: any(said == one.message for one in place.app._notifications))
        assert "moon" in shown(place)
        assert "tide" not in shown(place).replace(str(tmp_path), "")
    projects = {one.path.rpartition("/")[2]: one.project for one in await store.documents.list()}
    assert projects == {"moon.md": "Boat", "tide.md": None}


async def test_a_new_conversation_begins_with_the_defaults_and_says_so_before(make: Make) -> None:
    store = await boat()
    persona = await store.personas.add_persona(NewPersona("Sailor", "You sail."))
    patch = ProjectPatch(persona=persona.id, memory_mode=MemoryMode.READS)
    await store.projects.change("Boat", patch)
    place = make(store=store)
    async with place.app.run_test(size=(120, 30)) as pilot:
        await page(pilot, place)
        await pilot.press("n")
        await assert_until(pilot, lambda: on(place.app, ChatScreen) and chat(place.app).current.project)
        await assert_until(pilot, lambda: chat(place.app).current.mode is MemoryMode.READS)
        assert any("persona Sailor, memory reads" in one.message for one in place.app._notifications)
        await say(pilot, "/project none")
        await settle(pilot)
        fresh = chat(place.app).current
        assert (fresh.mode, fresh.system, fresh.project) == (None, None, None)
        await say(pilot, "/project boat")
        await settle(pilot)
        await say(pilot, "Where do we sail?")
        await settle(pilot)
        session = chat(place.app).current.session
        assert session is not None
        assert (session.project, session.memory_mode, session.system_prompt) == (
            "Boat",
            MemoryMode.READS,
            "You sail.",
        )


async def test_a_conversation_that_moves_into_a_project_keeps_what_it_has(make: Make) -> None:
    store = await boat()
    session = await talk(store, "Peas", [("Peas or beans?", "Peas first.")])
    await store.projects.change("Boat", ProjectPatch(memory_mode=MemoryMode.BLANK))
    place = make(store=store, resume=session.id)
    async with place.app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await say(pilot, "/project boat")
        await settle(pilot)
        moved = await store.get_session(session.id)
        assert (moved.project, moved.memory_mode) == ("Boat", MemoryMode.NORMAL)


async def test_the_page_is_a_key_away_in_the_list_of_conversations(make: Make) -> None:
    place = make(store=await boat(), resume="last")
    async with place.app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+o", "down")
        await assert_until(pilot, lambda: chat(place.app).sidebar.sessions.has_focus)
        await pilot.press("p")
        await assert_until(pilot, lambda: on(place.app, ProjectScreen) and "Boat ·" in shown(place))
