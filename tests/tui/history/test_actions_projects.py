"""Projects: chosen, made, renamed, archived and removed."""

from collections.abc import Callable

from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.dialogs.forms import FieldsScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.history.actions import ProjectsScreen
from memory.organising import ProjectPatch
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage, talk
from tests.tui.driving import assert_until, chat, on, say, settle, shown, type_text

Make = Callable[..., Stage]


async def test_a_conversation_is_put_into_a_project_by_name_and_taken_out(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await say(pilot, "/project  The gardn")
        await assert_until(pilot, lambda: "There is no project called “The gardn” yet." in shown(place))
        await pilot.press("escape")
        await settle(pilot)
        assert not await place.store.projects.list()
        await say(pilot, "/project  The garden")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.press("tab", "enter")
        await settle(pilot)
        assert "The garden" in shown(place).splitlines()[0]
        await say(pilot, "Peas or beans?")
        await settle(pilot)
        assert (await place.store.list_sessions())[0].project == "The garden"
        await say(pilot, "/project none")
        await settle(pilot)
        session = (await place.store.list_sessions())[0]
        assert session.project is None
        assert chat(place.app).current.session == session
        assert "The garden" not in shown(place).splitlines()[0]


async def test_projects_are_looked_after_in_their_dialog(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    session = await talk(store, "Peas", [("Peas or beans?", "Peas first.")])
    await store.projects.create("Attic")
    place = make(store=store, resume="last")
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await say(pilot, "/project")
        await assert_until(pilot, lambda: on(place.app, ProjectsScreen) and "Attic" in shown(place))
        assert "0 conversations · 0 memories" in shown(place)
        await pilot.press("a")
        await assert_until(pilot, lambda: on(place.app, FieldsScreen))
        await type_text(pilot, "Garden")
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ProjectsScreen) and "Garden" in shown(place))
        await pilot.press("x")
        await assert_until(pilot, lambda: "archived" in shown(place).replace("x archives", ""))
        await pilot.press("home", "e")
        await assert_until(pilot, lambda: on(place.app, FieldsScreen))
        await type_text(pilot, "Loft")
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ProjectsScreen) and "Loft" in shown(place))
        await pilot.press("end", "d")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.press("tab", "enter")
        await settle(pilot, but="project")
        assert [one.name for one in await store.projects.list()] == ["Loft"]
        await pilot.press("enter")
        await settle(pilot)
        assert on(place.app, ChatScreen)
        assert (await store.get_session(session.id)).project == "Loft"
        await say(pilot, "/project")
        await assert_until(
            pilot, lambda: on(place.app, ProjectsScreen) and "this conversation · 1" in shown(place)
        )
        await pilot.press("n")
        await settle(pilot)
        assert (await store.get_session(session.id)).project is None


async def test_the_dialog_begins_at_the_project_that_is_in_use_and_says_what_is_left_of_one(
    make: Make,
) -> None:
    store = InMemoryStore(FakeClock(NOW))
    await talk(store, "Peas", [("Peas or beans?", "Peas first.")])
    for name in ("Attic", "Garden", "Sea"):
        await store.projects.create(name)
    place = make(store=store, resume="last")
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await say(pilot, "/project Garden")
        await settle(pilot)
        await say(pilot, "/project")
        await assert_until(
            pilot, lambda: on(place.app, ProjectsScreen) and "this conversation · 1" in shown(place)
        )
        await pilot.press("d")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        assert "“Garden” will be removed permanently." in shown(place)
        assert "Its conversations and memories stay, without a project." in shown(place)
        assert "It is isolated." not in shown(place)
        await pilot.press("escape")
        await store.projects.change("Sea", ProjectPatch(isolated=True))
        await pilot.press("end", "d")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen) and "“Sea”" in shown(place))
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, ProjectsScreen))
        await pilot.press("escape")
        await settle(pilot)
        await say(pilot, "/project")
        await assert_until(pilot, lambda: on(place.app, ProjectsScreen) and "isolated" in shown(place))
        await pilot.press("end", "d")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        assert "are recalled like all others" in " ".join(shown(place).replace("│", " ").split())
