"""Forgetting while several rooms are open."""

from pathlib import Path

import pytest

from memory.entities import NewMessage, NewSession, Session, Target
from memory.errors import AmbiguousId, MemoryNotFound, ProjectNotFound
from memory.storage.store import Store
from models.messages import Role
from tests.unit.services.two_rooms import TwoRooms


async def said(store: Store, text: str) -> Session:
    session, _ = await store.create_session(NewSession("A talk"), NewMessage(Role.USER, text))
    return session


async def test_what_fits_goes_from_every_open_room(tmp_path: Path) -> None:
    two = TwoRooms(tmp_path)
    opened, private = await two.both()
    first, second = await said(opened.store, "the red kayak"), await said(private.store, "a kayak, too")
    kept = await said(opened.store, "a paddle")
    plan = await two.rooms.forgetting.preview(Target(about="kayak"))
    assert (plan.affected.erased.messages, plan.affected.whole_sessions) == (2, 2)
    assert {one.id for one in plan.affected.sessions} == {first.id, second.id}
    receipt = await two.rooms.forgetting.forget(plan)
    assert (receipt.erased.messages, receipt.verified) == (2, True)
    assert [one.id for one in await opened.store.list_sessions()] == [kept.id]
    assert await private.store.list_sessions() == []


async def test_what_is_named_is_forgotten_where_it_is(tmp_path: Path) -> None:
    two = TwoRooms(tmp_path)
    opened, private = await two.both()
    here, there = await said(opened.store, "one"), await said(private.store, "two")
    plan = await two.rooms.forgetting.preview(Target(ids=(there.id,)))
    assert [share.room.store.room for share in plan.shares] == [private.store.room]
    both = await two.rooms.forgetting.preview(Target(sessions=(here.id, there.id)))
    assert both.affected.whole_sessions == 2
    assert here.id[0] == there.id[0]
    with pytest.raises(AmbiguousId):
        await two.rooms.forgetting.preview(Target(ids=(here.id[0],)))
    with pytest.raises(MemoryNotFound):
        await two.rooms.forgetting.preview(Target(ids=("0" * 36,)))
    await two.rooms.leave_private()
    with pytest.raises(MemoryNotFound):
        await two.rooms.forgetting.preview(Target(ids=(there.id,)))


async def test_a_project_is_meant_in_any_capitals_and_has_to_be_there(tmp_path: Path) -> None:
    two = TwoRooms(tmp_path)
    opened, private = await two.both()
    await opened.store.create_session(NewSession("A talk", project="Work"), NewMessage(Role.USER, "one"))
    await private.store.create_session(NewSession("A talk", project="WORK"), NewMessage(Role.USER, "two"))
    await private.store.create_session(NewSession("A talk", project="Home"), NewMessage(Role.USER, "three"))
    plan = await two.rooms.forgetting.preview(Target(project="work"))
    assert [share.target.project for share in plan.shares] == ["Work", "WORK"]
    assert plan.affected.whole_sessions == 2
    assert (await two.rooms.forgetting.preview(Target(project="home"))).affected.whole_sessions == 1
    with pytest.raises(ProjectNotFound):
        await two.rooms.forgetting.preview(Target(project="Hom"))
    await two.rooms.leave_private()
    with pytest.raises(ProjectNotFound):
        await two.rooms.forgetting.preview(Target(project="Home"))
