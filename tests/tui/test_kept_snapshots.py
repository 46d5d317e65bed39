"""How the windows over things that are kept by name look: personas, templates, projects, saved searches."""

from pathlib import Path

from textual.pilot import Pilot

from atlas_desktop.tui.chat.personas import PersonasScreen, TemplatesScreen
from atlas_desktop.tui.dialogs.forms import FieldsScreen, NamedTextScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.history.actions import ProjectsScreen, SavedScreen
from memory.organising import MarksPatch
from memory.personas import NewPersona, NewTemplate
from tests.fakes.clock import FakeClock
from tests.tui.desk import NOW, TIDES, Stage, stage, talk
from tests.tui.driving import assert_until, on, say, settle, shown, type_text
from tests.tui.test_snapshots import SIZES, THEMES, Snap, still, taken, unwritten

__all__ = ["still", "unwritten"]
HOME = Path("/home/ada/.local/share/atlas-desktop")
EDITOR = (
    "You are a careful editor. Mark what is unclear, say why, and offer a shorter wording; never praise. "
    "Keep the writer's own words wherever they carry the meaning."
)
LETTER = "Write a letter to {whom} about {what}. It should be {tone}, and no longer than a page."


def desk(theme: str) -> Stage:
    return stage(HOME, theme=theme, clock=FakeClock(NOW))


async def furnish(place: Stage) -> None:
    """Three personas, one of them in use, and three templates."""
    personas = place.store.personas
    for name, text in (
        ("Editor", EDITOR),
        ("Norwegian teacher", "You teach Norwegian to a beginner: short sentences, then their translation."),
        ("Cook", "You cook with what is in the house. Ask what there is before you suggest anything."),
    ):
        await personas.add_persona(NewPersona(name, text))
    for name, text in (
        ("Letter", LETTER),
        ("Explain", "Explain {what} to somebody who is {age} years old."),
        ("Proofread", "Correct the spelling of this, and change nothing else:"),
    ):
        await personas.add_template(NewTemplate(name, text))


@SIZES
@THEMES
def test_personas(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await furnish(place)
        await say(pilot, "/persona Norwegian teacher")
        await settle(pilot, but="turns")
        place.app.clear_notifications()
        await say(pilot, "/persona")
        await assert_until(pilot, lambda: on(place.app, PersonasScreen) and "in use" in shown(place))

    assert taken(snap_compare, desk(theme), size, steps, alone=True)


@SIZES
@THEMES
def test_no_templates(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await say(pilot, "/template")
        await assert_until(
            pilot, lambda: on(place.app, TemplatesScreen) and "No templates yet" in shown(place)
        )

    assert taken(snap_compare, desk(theme), size, steps, alone=True)


@SIZES
@THEMES
def test_a_template_is_written(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await furnish(place)
        await say(pilot, "/template")
        await assert_until(pilot, lambda: on(place.app, TemplatesScreen) and "Proofread" in shown(place))
        await pilot.press("down", "e")
        await assert_until(pilot, lambda: on(place.app, NamedTextScreen))
        await pilot.press("backspace", *["backspace"] * 5, "ctrl+s")
        await assert_until(pilot, lambda: "Enter a name and a text." in shown(place))

    assert taken(snap_compare, desk(theme), size, steps, alone=True)


@SIZES
@THEMES
def test_a_template_is_filled_in(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await furnish(place)
        await say(pilot, "/template Letter")
        await assert_until(pilot, lambda: on(place.app, FieldsScreen))
        await type_text(pilot, "the housing office")
        await pilot.press("enter")

    assert taken(snap_compare, desk(theme), size, steps, alone=True)


@SIZES
@THEMES
def test_projects(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        session = await talk(place.store, "Tides, and why twice a day", TIDES)
        for name in ("Attic", "Garden", "The sea"):
            await place.store.projects.create(name)
        await place.store.organising.apply([session.id], MarksPatch(project="The sea"))
        await place.store.projects.archive("Attic")
        place.app.chat.open_session(session.id)  # type: ignore[union-attr]
        await settle(pilot, but="turns")
        await say(pilot, "/project")
        await assert_until(
            pilot, lambda: on(place.app, ProjectsScreen) and "this conversation" in shown(place)
        )

    assert taken(snap_compare, desk(theme), size, steps, alone=True)


@SIZES
@THEMES
def test_a_project_is_removed(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await place.store.projects.create("Garden")
        await say(pilot, "/project")
        await assert_until(pilot, lambda: on(place.app, ProjectsScreen) and "Garden" in shown(place))
        await pilot.press("d")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))

    assert taken(snap_compare, desk(theme), size, steps, alone=True)


@SIZES
@THEMES
def test_saved_searches(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await talk(place.store, "Tides, and why twice a day", TIDES)
        for name, query in (
            ("bread", "sourdough or rye after:2026-01-01"),
            ("to do", "is:important -tag:done"),
        ):
            await place.store.find.save(name, query)
        await pilot.press("f2")
        await assert_until(pilot, lambda: "1 conversation" in shown(place))
        await type_text(pilot, "moon")
        await settle(pilot, but="turns")
        await pilot.press("ctrl+s")
        await assert_until(pilot, lambda: on(place.app, SavedScreen) and "bread" in shown(place))

    assert taken(snap_compare, desk(theme), size, steps, alone=True)
