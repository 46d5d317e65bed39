"""Projects as a whole: instructions, defaults, isolation in conversations, and the end of a project."""

from datetime import datetime, timedelta

import pytest

from atlas_desktop.services.memories import Wish
from atlas_desktop.services.projects import LONGEST_INSTRUCTIONS, ProjectDefaults
from atlas_desktop.services.turns import TurnOptions
from memory.entities import MemoryMode
from memory.errors import PersonaNotFound
from memory.memories.entities import Memory, MemoryFilter, MemoryKind, MemoryTier
from memory.organising import MarksPatch, ProjectPatch
from memory.personas import NewPersona
from tests.unit.services.scene import Scene

BOAT, GARDEN = TurnOptions(project="Boat"), TurnOptions(project="Garden")


def head(scene: Scene) -> str:
    """The beginning of the newest prompt."""
    return scene.model.prompts[-1][0].content


def prompt(scene: Scene) -> str:
    return "\n".join(message.content for message in scene.model.prompts[-1])


async def episode(scene: Scene, text: str, *, pinned: bool = False) -> Memory:
    wish = Wish(MemoryKind.DECISION, project="Boat", tier=MemoryTier.EPISODIC, pinned=pinned)
    return await scene.room.knowledge.add(text, wish)


def days_until(scene: Scene, moment: datetime) -> int:
    return round((moment - scene.clock.now()) / timedelta(days=1))


# --- instructions and defaults ----------------------------------------------------------------------


async def test_instructions_are_in_the_head_of_every_session_of_the_project() -> None:
    scene = Scene({"chat": {"system_prompt": "You are Atlas."}})
    await scene.room.projects.create("Boat")
    await scene.room.projects.change("Boat", ProjectPatch("  Answer as a sailor.\x1b[31m "))
    first, _ = await scene.say("hello there", options=BOAT)
    assert head(scene).startswith("You are Atlas.\n\nAnswer as a sailor.")
    await scene.say("and again", first.session)
    assert head(scene).startswith("You are Atlas.\n\nAnswer as a sailor.")
    await scene.say("hello elsewhere")
    assert "sailor" not in head(scene)
    await scene.room.projects.change("Boat", ProjectPatch("Answer as a pilot."))
    await scene.say("once more", first.session)
    assert head(scene).startswith("You are Atlas.\n\nAnswer as a pilot.")
    await scene.room.organising.apply([first.session.id], MarksPatch(project=""))
    await scene.say("without a project", first.session)
    assert "pilot" not in head(scene)


async def test_what_a_session_says_itself_stays_before_the_instructions_of_its_project() -> None:
    scene = Scene()
    await scene.room.projects.create("Boat")
    await scene.room.projects.change("Boat", ProjectPatch("Answer as a sailor."))
    await scene.say("hello", options=TurnOptions(project="Boat", system="Be brief."))
    assert head(scene).startswith("Be brief.\n\nAnswer as a sailor.")


async def test_defaults_are_read_by_any_spelling_and_change_no_session() -> None:
    scene = Scene()
    await scene.room.projects.create("Boat")
    persona = await scene.room.personas.add(NewPersona("Sailor", "You sail."))
    begun, _ = await scene.say("hello", options=BOAT)
    patch = ProjectPatch(persona="sailor", model="tiny", memory_mode=MemoryMode.BLANK)
    await scene.room.projects.change("boat", patch)
    assert await scene.room.projects.defaults("BOAT") == ProjectDefaults(persona, "tiny", MemoryMode.BLANK)
    assert await scene.room.projects.defaults("Cellar") == ProjectDefaults()
    session = await scene.store.get_session(begun.session.id)
    assert (session.memory_mode, session.system_prompt) == (MemoryMode.NORMAL, None)
    with pytest.raises(PersonaNotFound):
        await scene.room.projects.change("Boat", ProjectPatch(persona="Cook"))
    with pytest.raises(ValueError, match="at most"):
        await scene.room.projects.change("Boat", ProjectPatch("x" * (LONGEST_INSTRUCTIONS + 1)))


# --- isolation --------------------------------------------------------------------------------------


async def test_nothing_passes_the_border_of_an_isolated_project() -> None:
    scene = Scene()
    await scene.say("The anchor costs ninety crowns.")
    await scene.say("The anchor is stowed under berth seven.", options=BOAT)
    await scene.room.knowledge.add("I like anchors of bronze.", Wish(MemoryKind.PREFERENCE))
    await scene.room.notes.new("Outside", "The anchor chain has forty links.")
    await scene.room.notes.new("Inside", "The anchor chain is painted yellow.", project="Boat")
    await scene.room.projects.change("Boat", ProjectPatch(isolated=True))
    await scene.say("Where is the anchor stowed, and what about the anchor chain?", options=BOAT)
    inside = prompt(scene)
    assert "berth seven" in inside
    assert "yellow" in inside
    assert not any(word in inside for word in ("ninety", "bronze", "forty"))
    for options in (GARDEN, TurnOptions()):
        await scene.say("What does the anchor cost, and what about the anchor chain?", options=options)
        outside = prompt(scene)
        assert all(word in outside for word in ("ninety", "bronze", "forty"))
        assert not any(word in outside for word in ("berth seven", "yellow"))


async def test_the_profile_of_a_conversation_changes_sides_with_its_project() -> None:
    scene = Scene()
    await scene.say("Remember that I like granite.", options=BOAT)
    await scene.say("Remember that I like marble.")
    inside, _ = await scene.say("good morning", options=BOAT)
    outside, _ = await scene.say("good morning")
    assert ("granite" in head(scene), "marble" in head(scene)) == (True, True)
    await scene.room.projects.change("Boat", ProjectPatch(isolated=True))
    await scene.say("good evening", inside.session)
    assert ("granite" in head(scene), "marble" in head(scene)) == (True, False)
    await scene.say("good evening", outside.session)
    assert ("granite" in head(scene), "marble" in head(scene)) == (False, True)


async def test_a_conversation_that_enters_or_leaves_an_isolated_project_gets_the_profile_of_its_side() -> (
    None
):
    scene = Scene()
    await scene.room.projects.create("Boat")
    await scene.room.projects.change("Boat", ProjectPatch(isolated=True))
    await scene.say("Remember that I like marble.")
    moved, _ = await scene.say("good morning")
    assert "marble" in head(scene)
    await scene.room.organising.apply([moved.session.id], MarksPatch(project="Boat"))
    await scene.say("good evening", moved.session)
    assert "marble" not in head(scene)
    await scene.room.organising.apply([moved.session.id], MarksPatch(project=""))
    await scene.say("good night", moved.session)
    assert "marble" in head(scene)


async def test_notes_of_the_project_come_before_others() -> None:
    scene = Scene()
    await scene.room.notes.new("Other", "The anchor chain has forty links.")
    await scene.room.notes.new("Own", "The anchor chain is painted yellow.", project="Boat")
    await scene.say("What about the anchor chain?", options=BOAT)
    found = prompt(scene)
    assert found.index("yellow") < found.index("forty")


async def test_what_is_learned_in_an_isolated_project_changes_nothing_outside() -> None:
    scene = Scene()
    await scene.say("Remember that I live in Linz.")
    await scene.room.projects.create("Boat")
    await scene.room.projects.change("Boat", ProjectPatch(isolated=True))
    await scene.say("Remember that I live in Graz.", options=BOAT)
    known = {one.text: one.project for one in await scene.store.memories.select(MemoryFilter())}
    assert sorted(known.values(), key=str) == ["Boat", None]
    (outside,) = [text for text, project in known.items() if project is None]
    assert "Linz" in outside
    await scene.say("Remember that I live in Wels.")
    found = [one.text for one in await scene.store.memories.select(MemoryFilter()) if one.project is None]
    assert len(found) == 1
    assert "Wels" in found[0]


# --- the end of a project ---------------------------------------------------------------------------


async def test_a_preview_says_what_would_expire_and_changes_nothing() -> None:
    scene = Scene()
    await scene.room.projects.create("Boat")
    berth = await episode(scene, "We chose berth seven.")
    await episode(scene, "We sail on Friday.", pinned=True)
    await scene.room.knowledge.add("It is a ketch.", Wish(MemoryKind.FACT, project="Boat"))
    page = await scene.room.projects.preview_archive("boat")
    end = page.lifetime.ends_at
    assert end is not None
    assert days_until(scene, end) == scene.settings.memory.episodic_days
    assert [(one.memory.id, one.at) for one in page.lifetime.ending] == [(berth.id, end)]
    assert page.project.archived_at is None
    assert (await scene.room.projects.page("Boat")).lifetime.ending == ()


async def test_an_archived_project_shows_what_ends_and_what_comes_back() -> None:
    scene = Scene()
    await scene.room.projects.create("Boat")
    gone, saved = await episode(scene, "We chose berth seven."), await episode(scene, "We sail on Friday.")
    archived = await scene.room.projects.archive("Boat")
    assert archived.archived_at is not None
    page = await scene.room.projects.page("Boat")
    assert {one.memory.id for one in page.lifetime.ending} == {gone.id, saved.id}
    await scene.room.knowledge.rescue([saved.id])
    scene.clock.advance(timedelta(days=31))
    await scene.room.upkeep.collect()
    page = await scene.room.projects.page("Boat")
    assert page.lifetime.ending == ()
    assert [one.id for one in page.lifetime.returning] == [gone.id]
    assert page.contents.archived_memories == 1
    await scene.room.projects.reopen("Boat")
    page = await scene.room.projects.page("Boat")
    assert (page.lifetime.ends_at, page.lifetime.returning) == (None, ())
    assert page.contents.tiers == {"episodic": 1, "long_term": 1}


async def test_what_is_added_to_an_archived_project_has_an_end_too() -> None:
    scene = Scene()
    await scene.room.projects.create("Boat")
    await scene.room.projects.archive("Boat")
    scene.clock.advance(timedelta(days=90))
    added = await episode(scene, "We chose berth seven.")
    remembered = await scene.room.learning.remember("We decided to sail on Friday.", project="Boat")
    for one in (added, remembered):
        assert one.tier is MemoryTier.EPISODIC
        assert one.expires_at is not None
        assert days_until(scene, one.expires_at) == scene.settings.memory.episodic_days
