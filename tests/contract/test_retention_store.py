"""Every store knows how long its conversations are kept, and what keeps one for ever."""

import pytest

from memory.entities import MessagePatch, NewMessage, NewSession, SessionPatch
from memory.errors import ProjectNotFound
from memory.ports import SessionStore
from models.messages import Role


async def begun(store: SessionStore, title: str, project: str | None = None) -> str:
    session, _ = await store.create_session(NewSession(title, project=project), NewMessage(Role.USER, title))
    return session.id


async def test_candidates_tell_what_keeps_them(store: SessionStore) -> None:
    plain = await begun(store, "plain", "garden")
    starred, important, marked, binned = [await begun(store, title) for title in "abcd"]
    await store.update_session(starred, SessionPatch(starred=True))
    await store.update_session(important, SessionPatch(important=True))
    await store.update_message((await store.branch(marked))[0].id, MessagePatch(important=True))
    await store.bin_session(binned)
    found = {one.session_id: one for one in await store.retention.candidates()}
    assert {name for name, one in found.items() if one.exempt} == {starred, important, marked}
    assert {name for name, one in found.items() if one.binned_at is not None} == {binned}
    one = found[plain]
    session = await store.get_session(plain)
    assert (one.title, one.project, one.messages, one.used_at) == ("plain", "garden", 1, session.updated_at)


async def test_a_project_can_have_days_of_its_own(store: SessionStore) -> None:
    await begun(store, "a", "garden")
    await begun(store, "b", "attic")
    await store.retention.set_project("garden", 7)
    await store.retention.set_project("attic", 0)
    assert await store.retention.projects() == {"attic": 0, "garden": 7}
    await store.retention.set_project("garden", None)
    assert await store.retention.projects() == {"attic": 0}
    with pytest.raises(ProjectNotFound):
        await store.retention.set_project("kitchen", 7)
