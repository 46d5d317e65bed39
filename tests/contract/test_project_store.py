"""Every store keeps projects, with what belongs to them."""

import pytest

from memory.entities import NewMessage, NewSession
from memory.errors import ProjectExists, ProjectNotFound
from memory.memories.entities import (
    MemoryFilter,
    MemoryKind,
    MemoryOrigin,
    MemoryState,
    MemoryTier,
    NewMemory,
)
from memory.organising import MarksPatch
from memory.storage.store import Store
from models.messages import Role


async def begun(store: Store, project: str | None = None) -> str:
    session, _ = await store.create_session(NewSession("t", project=project), NewMessage(Role.USER, "words"))
    return session.id


async def known(store: Store, project: str) -> str:
    new = NewMemory(
        kind=MemoryKind.DECISION,
        text="peas first",
        origin=MemoryOrigin.PERSON,
        tier=MemoryTier.EPISODIC,
        state=MemoryState.KEPT,
        project=project,
    )
    return (await store.memories.add(new)).id


async def test_projects_are_listed_with_what_they_hold(store: Store) -> None:
    attic = await store.projects.create("attic")
    session = await begun(store, "Garden")
    binned = await begun(store, "Garden")
    await store.bin_session(binned)
    await known(store, "Garden")
    found = await store.projects.list()
    assert [(p.name, p.sessions, p.messages, p.memories) for p in found] == [
        ("attic", 0, 0, 0),
        ("Garden", 1, 1, 1),
    ]
    assert found[1].used_at == (await store.get_session(session)).updated_at
    assert await store.projects.get("GARDEN") == found[1]
    assert await store.projects.get(attic.id[:-1]) == found[0] == attic
    with pytest.raises(ProjectNotFound):
        await store.projects.get("cellar")


async def test_a_name_is_taken_once(store: Store) -> None:
    await store.projects.create("attic")
    await store.projects.create("cellar")
    with pytest.raises(ProjectExists):
        await store.projects.create("ATTIC")
    with pytest.raises(ProjectExists):
        await store.projects.rename("cellar", "Attic")
    assert (await store.projects.rename("attic", "Attic")).name == "Attic"


async def test_a_renamed_project_keeps_what_it_holds(store: Store) -> None:
    session = await begun(store, "garden")
    memory = await known(store, "garden")
    renamed = await store.projects.rename("garden", "allotment")
    assert (renamed.name, renamed.sessions, renamed.memories) == ("allotment", 1, 1)
    assert (await store.get_session(session)).project == "allotment"
    assert (await store.memories.get(memory)).project == "allotment"


async def test_archived_ones_can_be_told_apart(store: Store) -> None:
    await store.projects.create("attic")
    await store.projects.create("cellar")
    first = await store.projects.archive("attic")
    assert first.archived_at is not None
    assert (await store.projects.archive("attic")).archived_at == first.archived_at
    assert [p.name for p in await store.projects.list(archived=True)] == ["attic"]
    assert [p.name for p in await store.projects.list(archived=False)] == ["cellar"]
    assert (await store.projects.reopen("attic")).archived_at is None


@pytest.mark.parametrize("with_sessions", [False, True])
async def test_what_a_deleted_project_held_stays_without_it(store: Store, with_sessions: bool) -> None:
    session = await begun(store, "garden")
    memory = await known(store, "garden")
    gone = await store.projects.delete("garden", with_sessions=with_sessions)
    assert (gone.project.name, gone.sessions, gone.memories, gone.binned) == (
        "garden",
        (session,),
        1,
        with_sessions,
    )
    left = await store.get_session(session)
    assert left.project is None
    assert (left.deleted_at is not None) == with_sessions
    assert (await store.memories.get(memory)).project is None
    assert await store.projects.list() == []


async def test_a_session_goes_into_a_project_and_out_again(store: Store) -> None:
    session = await begun(store)
    await store.projects.create("Garden")
    await store.organising.apply([session], MarksPatch(project="garden"))
    assert (await store.get_session(session)).project == "Garden"
    await store.organising.apply([session], MarksPatch(project="new one"))
    assert (await store.get_session(session)).project == "new one"
    await store.organising.apply([session], MarksPatch(project=""))
    assert (await store.get_session(session)).project is None
    assert await store.memories.select(MemoryFilter(project="Garden")) == []
