"""The background work of a room: turns go first, hooks follow replies, and it ends when it is told to."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import timedelta

import pytest

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.events import Accepted, Replied
from atlas_desktop.services.turns import Turn
from atlas_desktop.settings.schema import JobSettings
from memory.clock import SystemClock
from memory.entities import MessageStatus
from memory.errors import RoomDamaged
from memory.jobs.foreground_gate import ForegroundGate
from memory.jobs.queue import Job, JobState
from memory.jobs.runner import Duty, Held, Stage
from models.errors import ModelsError
from tests.fakes.models import ScriptedChatModel
from tests.stores import InMemoryStore
from tests.unit.services.test_turns import service


class OnBattery:
    def on_battery(self) -> bool:
        return True


class Place:
    """A room with a handler `note` that keeps the keys it was given."""

    def __init__(self, settings: JobSettings | None = None, power: OnBattery | None = None) -> None:
        self.gate = ForegroundGate()
        self.store = InMemoryStore(SystemClock())
        self.model = ScriptedChatModel(["Yes."])
        self.background = BackgroundService(
            self.store, SystemClock(), self.gate, settings or JobSettings(), power=power
        )
        self.done: list[str] = []
        self.faults: list[BaseException] = []
        self.background.register("note", self.note)

    async def note(self, job: Job) -> None:
        self.done.append(job.key)

    def start(self) -> None:
        self.background.start(self.faults.append)

    def busy(self) -> bool:
        return self.background.running is not None

    def turn(self) -> Turn:
        return service(self.store, self.model, self.background).turn("x")


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    made = Place()
    yield made
    await made.background.stop()


async def quiet() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


async def test_what_is_added_is_done_in_the_background(place: Place) -> None:
    seen: list[tuple[str, Stage]] = []
    place.background.listen(lambda job, stage: seen.append((job.key, stage)))
    place.start()
    await quiet()
    await place.background.add("note", "k")
    await quiet()
    assert place.done == ["k"]
    assert seen == [("k", Stage.STARTED), ("k", Stage.DONE)]
    assert place.background.running is None


async def test_during_a_turn_nothing_is_begun_and_hooks_follow_the_reply(place: Place) -> None:
    replies: list[Replied] = []

    async def hook(replied: Replied) -> None:
        replies.append(replied)
        await place.background.add("note", "after")

    place.background.register_hook(hook)
    place.start()
    seen: list[str] = []
    async for event in place.turn():
        seen.append(type(event).__name__)
        await place.background.add("note", "during")
        await quiet()
        assert place.done == []
        assert replies == []
    assert seen == ["Accepted", "Delta", "Replied"]
    assert len(replies) == 1
    await quiet()
    assert place.done == ["during", "after"]


async def test_a_turn_that_fails_opens_the_gate_and_has_no_hooks(place: Place) -> None:
    async def hook(_replied: Replied) -> None:
        raise AssertionError

    place.background.register_hook(hook)
    place.model = ScriptedChatModel(["Yes."], fail_after=0, failure=ModelsError("boom"))
    with pytest.raises(ModelsError, match="boom"):
        _ = [event async for event in place.turn()]
    assert not place.gate.busy


async def test_a_turn_that_is_left_is_closed(place: Place) -> None:
    async with aclosing(aiter(place.turn())) as events:
        accepted = await anext(events)
    assert not place.gate.busy
    assert isinstance(accepted, Accepted)
    reply = (await place.store.branch(accepted.session.id))[-1]
    assert reply.status is MessageStatus.FAILED


async def test_stopping_queues_the_job_under_way_again(place: Place) -> None:
    async def wait(_job: Job) -> None:
        await asyncio.Event().wait()

    place.background.register("wait", wait)
    place.start()
    await place.background.add("wait", "k")
    await quiet()
    assert place.busy()
    async with place.background.stopped():
        (job,) = await place.store.jobs.list()
        assert (job.state, job.attempts) == (JobState.QUEUED, 0)
        assert not place.busy()
    await quiet()
    assert place.busy()
    await place.background.stop()
    await place.background.stop()
    async with place.background.stopped():
        await quiet()
    assert not place.busy()
    assert place.faults == []


async def test_settings_and_battery_decide_whether_it_runs() -> None:
    off = Place(JobSettings(enabled=False))
    off.start()
    await off.background.add("note", "k")
    await quiet()
    assert off.done == []
    assert (await off.background.run()).done == 1
    low = Place(power=OnBattery())
    await low.background.add("note", "k")
    assert (await low.background.run()).held is Held.BATTERY
    allowed = Place(JobSettings(on_battery=True), power=OnBattery())
    await allowed.background.add("note", "k")
    assert (await allowed.background.run()).done == 1


async def test_a_pause_is_kept_in_the_room(place: Place) -> None:
    await place.background.pause()
    place.start()
    await place.background.add("note", "k")
    await quiet()
    assert place.done == []
    assert (await place.background.overview()).paused
    await place.background.resume()
    await quiet()
    assert place.done == ["k"]
    assert not (await place.background.overview()).paused


async def test_a_room_that_breaks_ends_it_and_says_so(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async def damaged() -> bool:
        raise RoomDamaged("page 3")

    monkeypatch.setattr(place.store.jobs, "paused", damaged)
    place.start()
    await quiet()
    assert [type(fault) for fault in place.faults] == [RoomDamaged]


async def test_the_overview_tells_of_jobs_and_duties(place: Place) -> None:
    place.background.register_duty(Duty("tidy", timedelta(days=7), "note"))
    await place.background.add("other", "k")
    before = await place.background.overview()
    assert [job.kind for job in before.jobs] == ["other"]
    assert [(state.duty.name, state.done_at, state.due) for state in before.duties] == [("tidy", None, True)]
    await place.background.run()
    (state,) = (await place.background.overview()).duties
    assert state.done_at is not None
    assert not state.due


async def test_what_was_given_up_can_be_queued_again(place: Place) -> None:
    job = await place.background.add("note", "k", payload={"n": 1}, priority=3)
    claimed = await place.store.jobs.claim(job.not_before)
    assert isinstance(claimed, Job)
    await place.store.jobs.fail(claimed, "NoModel")
    assert await place.background.queue_failed() == 1
    (again,) = await place.store.jobs.list()
    assert (again.state, again.payload, again.priority) == (JobState.QUEUED, {"n": 1}, 3)
    assert await place.background.queue_failed() == 0


async def test_a_kind_has_one_handler(place: Place) -> None:
    with pytest.raises(ValueError, match="note"):
        place.background.register("note", place.note)
