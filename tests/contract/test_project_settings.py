"""What a project adds to its sessions: instructions, defaults and isolation, kept by every store."""

from datetime import timedelta

import pytest

from memory.entities import MemoryMode, NewMessage, NewSession, Place, Target
from memory.errors import ProjectNotFound
from memory.memories.entities import (
    MemoryFilter,
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemorySource,
    MemoryState,
    MemoryTier,
    NewMemory,
)
from memory.organising import MarksPatch, ProjectPatch, ProjectSettings
from memory.personas import NewPersona
from memory.storage.store import Store
from models.messages import Role


async def begun(store: Store, project: str | None = None, text: str = "words") -> tuple[str, str]:
    session, message = await store.create_session(
        NewSession("t", project=project), NewMessage(Role.USER, text)
    )
    return session.id, message.id


async def learned(
    store: Store,
    text: str,
    *sources: tuple[str, str],
    kind: MemoryKind = MemoryKind.FACT,
    project: str | None = None,
) -> str:
    known = tuple(MemorySource(message, session, text) for session, message in sources)
    return (await store.memories.add(NewMemory(kind, text, MemoryOrigin.PATTERN, known, project=project))).id


async def projects_of(store: Store) -> dict[str, str | None]:
    return {one.text: one.project for one in await store.memories.select(MemoryFilter(states=None))}


async def test_settings_change_one_by_one_and_a_removed_persona_is_no_default(store: Store) -> None:
    await store.projects.create("Boat")
    assert (await store.projects.get("Boat")).settings == ProjectSettings()
    persona = await store.personas.add_persona(NewPersona("Sailor", "You sail."))
    patch = ProjectPatch("Be brief.", persona.id, "tiny", MemoryMode.READS, isolated=True)
    changed = await store.projects.change("boat", patch)
    wanted = ProjectSettings("Be brief.", persona.id, "Sailor", "tiny", MemoryMode.READS, isolated=True)
    assert changed.settings == wanted
    changed = await store.projects.change("Boat", ProjectPatch(model=None, isolated=False))
    assert (changed.settings.model, changed.settings.instructions) == (None, "Be brief.")
    assert await store.projects.isolated() == frozenset()
    await store.personas.remove_persona("Sailor")
    assert (await store.projects.get("Boat")).settings == ProjectSettings(
        "Be brief.", memory_mode=MemoryMode.READS
    )
    assert await store.projects.instructions("Boat") == "Be brief."
    assert await store.projects.instructions("Cellar") == ""
    with pytest.raises(ProjectNotFound):
        await store.projects.change("Cellar", ProjectPatch("x"))


async def test_contents_count_what_is_in_use(store: Store) -> None:
    session, _ = await begun(store, "Boat")
    await store.append_message(session, NewMessage(Role.ASSISTANT, "Aye."))
    archived, _ = await begun(store, "Boat")
    await store.organising.apply([archived], MarksPatch(archived=True))
    binned, _ = await begun(store, "Boat")
    await store.bin_session(binned)
    await begun(store)
    for text, tier, state in (
        ("a", MemoryTier.EPISODIC, MemoryState.KEPT),
        ("b", MemoryTier.EPISODIC, MemoryState.ARCHIVED),
        ("c", MemoryTier.LONG_TERM, MemoryState.INBOX),
    ):
        one = await learned(store, text, project="Boat")
        await store.memories.change(one, MemoryPatch(tier=tier, state=state))
    found = await store.projects.contents("Boat")
    assert (found.sessions, found.archived_sessions, found.messages) == (2, 1, 3)
    assert (found.documents, found.notes) == (0, 0)
    assert (found.tiers, found.archived_memories) == ({"episodic": 1, "long_term": 1}, 1)
    assert found.used_at == (await store.projects.get("Boat")).used_at


async def test_an_isolated_project_takes_what_was_learned_only_in_it_and_releases_it(store: Store) -> None:
    inside, outside = await begun(store, "Boat"), await begun(store)
    await learned(store, "inside", inside)
    await learned(store, "outside", outside)
    await learned(store, "both", inside, outside)
    await learned(store, "by hand")
    await learned(store, "decided", inside, kind=MemoryKind.DECISION, project="Boat")
    await store.projects.change("Boat", ProjectPatch(isolated=True))
    assert await projects_of(store) == {
        "inside": "Boat",
        "outside": None,
        "both": None,
        "by hand": None,
        "decided": "Boat",
    }
    await store.projects.change("Boat", ProjectPatch(isolated=False))
    assert await projects_of(store) == {
        "inside": None,
        "outside": None,
        "both": None,
        "by hand": None,
        "decided": "Boat",
    }


async def test_a_session_that_enters_or_leaves_an_isolated_project_brings_its_memories(store: Store) -> None:
    session = await begun(store)
    await begun(store, "Boat")
    await store.projects.change("Boat", ProjectPatch(isolated=True))
    await learned(store, "fact", session)
    await learned(store, "decision", session, kind=MemoryKind.DECISION)
    await store.organising.apply([session[0]], MarksPatch(project="Boat"))
    assert await projects_of(store) == {"fact": "Boat", "decision": "Boat"}
    await store.organising.apply([session[0]], MarksPatch(project="Garden"))
    assert await projects_of(store) == {"fact": None, "decision": "Garden"}


async def test_forgetting_by_words_empties_instructions(store: Store) -> None:
    await store.projects.create("Boat")
    await store.projects.create("Garden")
    await store.projects.change("Boat", ProjectPatch("Ask Zara first."))
    await store.projects.change("Garden", ProjectPatch("Be brief."))
    affected = await store.forget(Target(about="Zara"))
    assert affected.erased.verified
    assert affected.erased.places == (Place("instructions", "Boat"),)
    found = {one.name: one.settings.instructions for one in await store.projects.list()}
    assert found == {"Boat": "", "Garden": "Be brief."}


async def test_an_archived_project_keeps_its_settings(store: Store) -> None:
    await store.projects.create("Boat")
    await store.projects.change("Boat", ProjectPatch("Be brief."))
    archived = await store.projects.archive("Boat")
    assert archived.archived_at is not None
    assert archived.archived_at - archived.created_at >= timedelta(0)
    assert (await store.projects.reopen("Boat")).settings.instructions == "Be brief."
