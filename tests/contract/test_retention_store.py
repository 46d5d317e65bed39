"""Every store knows how long its conversations are kept, and what keeps one for ever."""

from datetime import timedelta

import pytest

from memory.clock import Seen
from memory.entities import MessagePatch, NewMessage, NewSession, SessionPatch
from memory.errors import ProjectNotFound
from memory.storage.store import Store
from models.messages import Role
from tests.fakes.clock import FakeClock


async def begun(store: Store, title: str, project: str | None = None) -> str:
    session, _ = await store.create_session(NewSession(title, project=project), NewMessage(Role.USER, title))
    return session.id


async def test_candidates_tell_what_keeps_them(store: Store) -> None:
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


async def test_a_project_can_have_days_of_its_own(store: Store) -> None:
    await begun(store, "a", "garden")
    await begun(store, "b", "attic")
    await store.retention.set_project("garden", 7)
    await store.retention.set_project("attic", 0)
    assert await store.retention.projects() == {"attic": 0, "garden": 7}
    await store.retention.set_project("garden", None)
    assert await store.retention.projects() == {"attic": 0}
    with pytest.raises(ProjectNotFound):
        await store.retention.set_project("kitchen", 7)


YEAR = timedelta(days=365)


async def test_a_clock_that_jumps_is_not_believed_until_somebody_says_so(store: Store) -> None:
    retention, now = store.retention, FakeClock().now()
    assert await retention.look_at_clock(now) == Seen(now, now)
    ahead = await retention.look_at_clock(now + YEAR)
    assert (ahead.at, ahead.ahead) == (now + YEAR, YEAR - timedelta(days=7))
    assert (await retention.look_at_clock(now + YEAR)).ahead == ahead.ahead
    assert not (await retention.look_at_clock(now + YEAR, believe=True)).ahead
    assert not (await retention.look_at_clock(now + YEAR + timedelta(minutes=1))).ahead


@pytest.mark.parametrize("wrong", [YEAR, -11 * YEAR], ids=["ahead", "behind"])
async def test_what_was_put_into_the_bin_by_a_wrong_clock_counts_as_put_there_when_it_is_right_again(
    store: Store, clock: FakeClock, wrong: timedelta
) -> None:
    async def look_after(time: timedelta) -> None:
        clock.advance(time)
        await store.retention.look_at_clock(clock.now())

    hours = timedelta(hours=2)
    before = await begun(store, "before")
    await store.bin_session(before)
    binned_at = clock.now()
    await look_after(hours)
    await look_after(wrong)
    meanwhile = await begun(store, "meanwhile")
    await store.bin_session(meanwhile)
    await look_after(hours)
    await look_after(hours - wrong)
    found = {one.session_id: one.binned_at for one in await store.retention.candidates()}
    assert (found[before] or clock.now()) <= binned_at
    moved = found[meanwhile]
    assert moved is not None
    assert abs(clock.now() - moved) < timedelta(days=1)
