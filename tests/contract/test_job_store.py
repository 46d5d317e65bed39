"""What every background queue does, whatever it keeps its rows in."""

from datetime import UTC, datetime, timedelta

import pytest

from memory.entities import NewMessage, NewSession
from memory.errors import RoomClosed, SessionNotFound
from memory.jobs.queue import Job, JobState, Priority
from memory.storage.store import Store
from models.messages import Role
from tests.fakes.clock import FakeClock

LATER = datetime(2030, 1, 1, tzinfo=UTC)
"""After everything that the clock of a test says."""


async def claim(store: Store, at: datetime = LATER) -> Job:
    job = await store.jobs.claim(at)
    assert isinstance(job, Job)
    return job


async def test_a_job_has_what_it_was_given(store: Store) -> None:
    session, _ = await store.create_session(NewSession("t"), NewMessage(Role.USER, "x"))
    job = await store.jobs.add(
        "embed",
        "k",
        session_id=session.id,
        payload={"ids": ["a", "b"], "part": 2},
        priority=7,
        not_before=LATER,
    )
    assert (job.kind, job.key, job.session_id) == ("embed", "k", session.id)
    assert job.payload == {"ids": ["a", "b"], "part": 2}
    assert (job.priority, job.state, job.attempts, job.error) == (7, JobState.QUEUED, 0, None)
    assert job.not_before == LATER
    assert job.created_at == job.updated_at
    assert await store.jobs.list() == [job]


async def test_without_more_said_a_job_is_of_normal_priority_and_due(store: Store) -> None:
    job = await store.jobs.add("embed", "k")
    assert (job.priority, job.payload, job.session_id) == (Priority.NORMAL, {}, None)
    assert job.not_before == job.created_at
    assert (await claim(store, job.not_before)).id == job.id


async def test_a_payload_is_not_shown(store: Store) -> None:
    assert "secret" not in repr(await store.jobs.add("embed", "k", payload={"id": "secret"}))


async def test_a_session_that_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(SessionNotFound):
        await store.jobs.add("embed", "k", session_id="nobody")
    with pytest.raises(SessionNotFound):
        await store.jobs.keep_result("title", bytes(32), "x", "nobody")
    assert await store.jobs.list() == []


async def test_the_same_work_is_queued_once(store: Store) -> None:
    first = await store.jobs.add("embed", "k", payload={"n": 1}, not_before=LATER)
    again = await store.jobs.add("embed", "k", payload={"n": 2}, priority=Priority.HIGH)
    await store.jobs.add("title", "k")
    assert again.id == first.id
    assert again.created_at == first.created_at
    assert (again.payload, again.priority) == ({"n": 2}, Priority.HIGH)
    assert again.not_before < LATER
    calmer = await store.jobs.add("embed", "k", priority=Priority.LOW, not_before=LATER)
    assert (calmer.priority, calmer.not_before) == (Priority.HIGH, again.not_before)
    assert [(job.kind, job.key) for job in await store.jobs.list()] == [("embed", "k"), ("title", "k")]


async def test_the_most_urgent_and_then_the_oldest_is_claimed(store: Store) -> None:
    for key, priority in (("a", 50), ("b", 50), ("c", 25), ("d", 75)):
        await store.jobs.add("embed", key, priority=priority)
    assert [job.key for job in await store.jobs.list()] == ["c", "a", "b", "d"]
    claimed = [await claim(store) for _ in range(4)]
    assert [job.key for job in claimed] == ["c", "a", "b", "d"]
    assert {(job.state, job.attempts) for job in claimed} == {(JobState.RUNNING, 1)}
    assert await store.jobs.claim(LATER) is None


async def test_what_is_not_due_is_not_claimed(store: Store) -> None:
    await store.jobs.add("embed", "k", not_before=LATER)
    assert await store.jobs.claim(LATER - timedelta(microseconds=1)) == LATER
    assert await store.jobs.next_at() == LATER
    assert (await claim(store)).key == "k"
    assert await store.jobs.next_at() is None


async def test_only_wanted_kinds_are_claimed(store: Store) -> None:
    await store.jobs.add("embed", "k")
    await store.jobs.add("title", "k", not_before=LATER)
    assert await store.jobs.claim(LATER, kinds=()) is None
    assert await store.jobs.next_at(kinds=("title", "tune")) == LATER
    title = await store.jobs.claim(LATER, kinds=("title", "tune"))
    assert isinstance(title, Job)
    assert title.kind == "title"
    assert await store.jobs.claim(LATER, kinds=("title",)) is None
    assert await store.jobs.next_at(kinds=("title",)) is None


async def test_a_finished_job_is_gone_and_can_come_again(store: Store) -> None:
    await store.jobs.add("embed", "k")
    job = await claim(store)
    await store.jobs.finish(job)
    assert await store.jobs.list() == []
    await store.jobs.finish(job)
    assert (await store.jobs.add("embed", "k")).attempts == 0


async def test_the_end_of_a_job_tells_when_the_next_is_due(store: Store) -> None:
    await store.jobs.add("embed", "a", not_before=LATER - timedelta(days=2))
    await store.jobs.add("title", "b", not_before=LATER - timedelta(days=1))
    first = await claim(store, LATER - timedelta(days=2))
    assert await store.jobs.finish(first, kinds=("embed",)) is None
    assert await store.jobs.finish(first) == LATER - timedelta(days=1)
    await store.jobs.finish(await claim(store))
    assert await store.jobs.claim(LATER) is None


async def test_a_job_that_is_tried_again_waits(store: Store) -> None:
    await store.jobs.add("embed", "k")
    await store.jobs.retry(await claim(store), "NoModel", LATER)
    assert await store.jobs.claim(LATER - timedelta(seconds=1)) == LATER
    (waiting,) = await store.jobs.list()
    assert (waiting.state, waiting.attempts, waiting.error) == (JobState.QUEUED, 1, "NoModel")
    wanted = await store.jobs.add("embed", "k")
    assert (wanted.not_before, wanted.attempts) == (LATER, 1)
    assert (await claim(store)).attempts == 2


async def test_a_failed_job_stays_to_be_seen_until_it_is_added_again(store: Store) -> None:
    await store.jobs.add("embed", "k", payload={"n": 1})
    job = await claim(store)
    await store.jobs.fail(job, "Timeout seconds=30")
    (failed,) = await store.jobs.list()
    assert (failed.state, failed.attempts, failed.error) == (JobState.FAILED, 1, "Timeout seconds=30")
    assert await store.jobs.claim(LATER) is None
    assert await store.jobs.next_at() is None
    anew = await store.jobs.add("embed", "k", payload={"n": 2})
    assert (anew.state, anew.attempts, anew.error, anew.payload) == (JobState.QUEUED, 0, None, {"n": 2})
    assert (await claim(store)).attempts == 1


async def test_work_that_is_wanted_while_it_runs_is_done_once_more(store: Store) -> None:
    await store.jobs.add("embed", "k", payload={"n": 1})
    running = await claim(store)
    for _ in range(2):
        added = await store.jobs.add("embed", "k", payload={"n": 2}, priority=Priority.HIGH)
        assert (added.id, added.state) == (running.id, JobState.RUNNING)
    assert await store.jobs.claim(LATER) is None
    await store.jobs.finish(running)
    again = await claim(store)
    assert (again.payload, again.priority, again.attempts) == ({"n": 2}, Priority.HIGH, 1)
    await store.jobs.finish(again)
    assert await store.jobs.list() == []


async def test_what_comes_again_goes_behind_its_equals(store: Store) -> None:
    await store.jobs.add("embed", "a")
    await store.jobs.add("embed", "b")
    first = await claim(store)
    await store.jobs.add("embed", "a")
    await store.jobs.finish(first)
    assert [job.key for job in await store.jobs.list()] == ["b", "a"]


async def test_a_wish_survives_the_failure_of_the_run_under_way(store: Store) -> None:
    await store.jobs.add("embed", "k")
    running = await claim(store)
    await store.jobs.add("embed", "k", payload={"n": 2})
    await store.jobs.fail(running, "NoModel")
    again = await claim(store)
    assert (again.attempts, again.payload) == (1, {"n": 2})
    await store.jobs.fail(again, "NoModel")
    assert [job.state for job in await store.jobs.list()] == [JobState.FAILED]


async def test_a_job_put_back_is_as_if_it_had_not_been_tried(store: Store) -> None:
    added = await store.jobs.add("embed", "k")
    await store.jobs.put_back(await claim(store))
    (back,) = await store.jobs.list()
    assert (back.state, back.attempts, back.not_before) == (JobState.QUEUED, 0, added.not_before)
    await store.jobs.put_back(await claim(store), LATER)
    (back,) = await store.jobs.list()
    assert (back.attempts, back.not_before) == (0, LATER)


async def test_the_end_of_a_run_that_is_over_changes_nothing(store: Store) -> None:
    await store.jobs.add("embed", "k")
    job = await claim(store)
    await store.jobs.put_back(job)
    before = await store.jobs.list()
    await store.jobs.finish(job)
    await store.jobs.retry(job, "NoModel", LATER)
    await store.jobs.fail(job, "NoModel")
    await store.jobs.put_back(job, LATER)
    assert await store.jobs.list() == before


async def test_what_a_dead_process_was_running_is_queued_again(store: Store) -> None:
    for key in "abc":
        await store.jobs.add("embed", key)
    await claim(store)
    failed = await claim(store)
    await store.jobs.fail(failed, "NoModel")
    assert await store.jobs.recover() == 1
    assert await store.jobs.recover() == 0
    states = {job.key: (job.state, job.attempts) for job in await store.jobs.list()}
    assert states == {"a": (JobState.QUEUED, 1), "b": (JobState.FAILED, 1), "c": (JobState.QUEUED, 0)}


async def test_the_pause_is_kept(store: Store) -> None:
    assert not await store.jobs.paused()
    for wanted in (True, True, False, False):
        await store.jobs.set_paused(wanted)
        assert await store.jobs.paused() is wanted


async def test_results_are_found_by_kind_and_hash(store: Store) -> None:
    session, _ = await store.create_session(NewSession("t"), NewMessage(Role.USER, "x"))
    one, two = bytes(32), bytes(31) + b"\x01"
    assert await store.jobs.result("title", one) is None
    await store.jobs.keep_result("title", one, "Tides \ud800", session.id)
    await store.jobs.keep_result("summary", one, "A summary", None)
    assert await store.jobs.result("title", one) == "Tides \ufffd"
    assert await store.jobs.result("title", two) is None
    assert await store.jobs.result("summary", one) == "A summary"
    await store.jobs.keep_result("title", one, "Moon", None)
    assert await store.jobs.result("title", one) == "Moon"


async def test_duties_have_the_time_they_were_last_done(store: Store) -> None:
    assert await store.jobs.duty_done("weekly") is None
    await store.jobs.mark_duty("weekly", LATER)
    assert await store.jobs.duty_done("weekly") == LATER
    await store.jobs.mark_duty("weekly", LATER + timedelta(days=7))
    assert await store.jobs.duty_done("weekly") == LATER + timedelta(days=7)
    assert await store.jobs.duty_done("daily") is None


async def test_a_closed_room_has_no_queue(store: Store) -> None:
    job = await store.jobs.add("embed", "k")
    await store.close()
    with pytest.raises(RoomClosed):
        await store.jobs.add("embed", "k")
    with pytest.raises(RoomClosed):
        await store.jobs.claim(LATER)
    with pytest.raises(RoomClosed):
        await store.jobs.finish(job)
    with pytest.raises(RoomClosed):
        await store.jobs.list()


async def test_what_was_queued_by_a_clock_that_was_ahead_does_not_wait_for_years(
    store: Store, clock: FakeClock
) -> None:
    clock.advance(timedelta(days=3650))
    await store.jobs.add("embed", "k")
    await store.jobs.add("embed", "tried")
    await store.jobs.retry(
        await claim(store, LATER + timedelta(days=7300)), "E", clock.now() + timedelta(days=9)
    )
    clock.advance(-timedelta(days=3650))
    at = await store.jobs.next_at()
    assert at is not None
    assert at <= clock.now()
    assert {(await claim(store, clock.now())).key for _ in range(2)} == {"k", "tried"}


async def test_a_wait_that_the_clock_knows_of_is_kept(store: Store, clock: FakeClock) -> None:
    later = clock.now() + timedelta(minutes=30)
    await store.jobs.add("embed", "k", not_before=later)
    clock.advance(-timedelta(minutes=5))
    assert await store.jobs.next_at() == later
    assert await store.jobs.claim(clock.now()) == later
