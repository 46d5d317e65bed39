"""Conversations are named in the background, where nothing that fails is anybody's business."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from atlas_desktop.services.summaries import KIND
from atlas_desktop.tui.chat.screen import ChatScreen
from memory.entities import TitleSource
from memory.jobs.queue import JobState
from models.errors import ModelsError, NoModel, WorkerCrashed
from models.messages import ChatMessage, GenerationParams, Lane
from tests.fakes.models import ScriptedGeneration
from tests.tui.desk import NamedModel, Stage
from tests.tui.driving import assert_until, on, say, settle, shown

Make = Callable[..., Stage]


class NameslessModel(NamedModel):
    """Answers people, and fails when it is asked for a title."""

    def __init__(self, failure: ModelsError) -> None:
        super().__init__(self._answer)
        self.refusal = failure

    def _answer(self, prompt: Sequence[ChatMessage]) -> str:
        if prompt[-1].content.startswith("Name the topic"):
            raise self.refusal
        return "An answer."


@pytest.mark.parametrize("failure", [WorkerCrashed(-9), NoModel("chat")], ids=["crash", "no model"])
async def test_a_title_that_cannot_be_made_is_given_up_in_silence(make: Make, failure: ModelsError) -> None:
    model = NameslessModel(failure)
    place = make(model=model, titles=True)
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "First")
        await assert_until(
            pilot, lambda: Lane.TASK in model.lanes and place.app.room.background.running is None
        )
        await say(pilot, "Second")
        await settle(pilot)
        assert on(place.app, ChatScreen)
        assert model.lanes == [Lane.CHAT, Lane.TASK, Lane.CHAT]
        assert (await place.store.get_session("last")).title_source is TitleSource.FIRST_WORDS
        (job,) = await place.store.jobs.list()
        assert (job.state, job.attempts) == (JobState.QUEUED, 1)


async def test_a_turn_that_failed_is_not_followed_by_naming(make: Make) -> None:
    model = NamedModel(["One two three."], failure=WorkerCrashed(-11), fail_after=2)
    place = make(model=model, titles=True)
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "Count")
        await settle(pilot)
        assert model.lanes == [Lane.CHAT]
        assert await place.store.jobs.list() == []


async def test_a_reply_that_was_stopped_is_not_followed_by_naming(make: Make) -> None:
    model = NamedModel(["One two three."], gate=asyncio.Event())
    place = make(model=model, titles=True)
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "Count")
        await assert_until(pilot, lambda: "Writing" in shown(place))
        await pilot.press("escape")
        await settle(pilot)
        assert model.lanes == [Lane.CHAT]
        assert await place.store.jobs.list() == []


class SlowNamer(NamedModel):
    """Answers people at once and does not come to an end with titles."""

    def generate(
        self, messages: Sequence[ChatMessage], params: GenerationParams, lane: Lane = Lane.CHAT
    ) -> ScriptedGeneration:
        self.gate = asyncio.Event() if lane is Lane.TASK else None
        return super().generate(messages, params, lane)


async def test_naming_is_told_of_and_is_queued_again_when_the_program_is_left(make: Make) -> None:
    place = make(model=SlowNamer(["An answer."]), titles=True)
    kept: list[JobState] = []
    close = place.store.close

    async def note_and_close() -> None:
        kept.extend(job.state for job in await place.store.jobs.list() if job.kind == KIND)
        await close()

    place.store.close = note_and_close  # type: ignore[method-assign]
    async with place.app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await say(pilot, "Hello")
        await assert_until(pilot, lambda: "naming conversations" in shown(place))
        await pilot.press("ctrl+q")
        await assert_until(pilot, lambda: kept)
    assert kept == [JobState.QUEUED]
