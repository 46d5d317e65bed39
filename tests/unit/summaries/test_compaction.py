from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memory.context.entities import NewSummary, Summary, SummaryState
from memory.entities import Message, MessagePatch, MessageStatus, NewMessage, NewSession
from memory.jobs.queue import Job, JobState
from memory.summaries.compaction import IMPROVE, SUMMARISE, Compactor, Handler, register_summaries
from memory.summaries.planning import PlanLimits, active_summaries
from memory.summaries.summarise import Summariser
from models.messages import ChatMessage, ModelInfo, Role
from tests.fakes.models import HashEmbedder, ScriptedChatModel, WordCounter
from tests.stores import InMemoryStore

LIMITS = PlanLimits(target_tokens=100_000)
FAITHFUL = "They speak of the garden and of the harbour."


class Room:
    """A store with one long session, and what works on it."""

    def __init__(self, model: ScriptedChatModel) -> None:
        self.store = InMemoryStore()
        self.model = model
        self.session = ""

    def compactor(self, model: ScriptedChatModel | None = None) -> Compactor:
        asked = model or self.model
        summariser = Summariser(asked, WordCounter(), HashEmbedder(), results=self.store.jobs)
        return Compactor(self.store, summariser, WordCounter())

    async def talk(self, turns: int) -> None:
        """Adds turns to the session."""
        for _ in range(turns):
            number = len(await self.store.branch(self.session)) // 2 if self.session else 0
            text = f"My neighbour in house {number} works in the garden near the harbour on most of the days."
            if not self.session:
                session, _ = await self.store.create_session(NewSession("t"), NewMessage(Role.USER, text))
                self.session = session.id
            else:
                await self.store.append_message(self.session, NewMessage(Role.USER, text))
            answer = f"The garden of house {number} is near the harbour, and it is a fine place to work in."
            await self.store.append_message(self.session, NewMessage(Role.ASSISTANT, answer))

    async def summaries(self) -> list[Summary]:
        return await self.store.context.summaries(self.session)

    async def active_summaries(self) -> list[Summary]:
        ids = [m.id for m in await self.store.branch(self.session)]
        return [s.summary for s in active_summaries(ids, await self.summaries()) if s.summary]


@pytest.fixture
async def room() -> Room:
    made = Room(ScriptedChatModel([FAITHFUL]))
    await made.talk(16)
    return made


async def test_the_oldest_turns_are_summarised_and_stored(room: Room) -> None:
    done = await room.compactor().compact(room.session, LIMITS)
    branch = await room.store.branch(room.session)
    summaries = await room.summaries()
    assert [s.covers for s in summaries] == [
        tuple(m.id for m in branch[:10]),
        tuple(m.id for m in branch[10:20]),
    ]
    assert all(s.text.startswith(FAITHFUL) and s.model == "5c" and not s.fallback for s in summaries)
    assert done.made == tuple(summaries)
    whole = sum(len(m.content.split()) for m in branch)
    assert done.before == whole
    assert done.after < 0.65 * whole
    # Nothing is left to do.
    again = await room.compactor().compact(room.session, LIMITS)
    assert (again.before, again.after, again.made) == (done.after, done.after, ())
    assert await room.summaries() == summaries


async def test_at_most_so_many_stand_however_long_the_talk(room: Room) -> None:
    compactor = room.compactor()
    for _ in range(6):
        await compactor.compact(room.session, LIMITS)
        await room.talk(5)
    await compactor.compact(room.session, LIMITS)
    found = await room.active_summaries()
    assert len(found) == 3
    assert max(s.level for s in found) >= 1
    assert all(s.state is SummaryState.CURRENT for s in found)
    branch = await room.store.branch(room.session)
    covered = [id_ for s in found for id_ in s.covers]
    assert covered == [m.id for m in branch[: len(covered)]]
    merged = [s for s in await room.summaries() if s.state is SummaryState.MERGED]
    assert merged
    assert all(s.merged_into for s in merged)


async def test_force_leaves_only_the_last_messages(room: Room) -> None:
    done = await room.compactor().force(room.session, LIMITS)
    covered = [id_ for s in await room.active_summaries() for id_ in s.covers]
    assert len(covered) == 32 - 4
    assert done.after < done.before


async def test_the_room_for_summaries_is_kept(room: Room) -> None:
    limits = PlanLimits(target_tokens=100_000, summary_tokens=60)
    await room.compactor(ScriptedChatModel(["They go to Oslo."])).force(room.session, limits)
    assert all(len(s.text.split()) <= 20 for s in await room.active_summaries())


async def test_at_once_and_improved_later(room: Room) -> None:
    await room.compactor().compact(room.session, LIMITS, quick=True)
    assert room.model.prompts == []
    assert all(s.fallback and s.model is None for s in await room.summaries())
    better = await room.compactor().improve()
    assert [s.id for s in better] == [s.id for s in await room.summaries()]
    assert all(not s.fallback and s.text.startswith(FAITHFUL) for s in better)
    assert await room.compactor().improve() == []


async def test_a_fallback_is_improved_once_for_each_model(room: Room) -> None:
    poor = ScriptedChatModel(["They go to Oslo."])
    await room.compactor(poor).compact(room.session, LIMITS)
    assert all(s.fallback and s.model == "5c" for s in await room.summaries())
    asked = len(poor.prompts)
    assert await room.compactor(poor).improve() == []
    assert len(poor.prompts) == asked
    better = ScriptedChatModel([FAITHFUL])
    better._info = replace(better._info, fingerprint="77")
    assert len(await room.compactor(better).improve()) == 2
    assert all(s.model == "77" and not s.fallback for s in await room.summaries())


async def test_cut_off_in_the_midst_it_loses_nothing_and_repeats_nothing(room: Room) -> None:
    class Fails(ScriptedChatModel):
        def _reply(self, messages: Sequence[ChatMessage]) -> str:
            if len(self.prompts) == 2:
                raise ConnectionResetError
            return FAITHFUL

    failing = Fails()
    with pytest.raises(ConnectionResetError):
        await room.compactor(failing).compact(room.session, LIMITS)
    (kept,) = await room.summaries()
    done = await room.compactor().compact(room.session, LIMITS)
    first, second = await room.summaries()
    assert first == kept
    assert done.made == (second,)
    assert len(room.model.prompts) == 1


async def test_what_a_person_wrote_is_not_overwritten(room: Room) -> None:
    await room.compactor().compact(room.session, LIMITS, quick=True)
    first = (await room.summaries())[0]
    await room.store.context.rewrite_summary(first.id, "My own words.", edited=True)
    await room.compactor().improve()
    assert (await room.store.context.summary(first.id)).text == "My own words."
    await room.store.context.age_summaries(first.covers[:1])
    (kept,) = await room.compactor().refresh(room.session)
    assert (kept.text, kept.edited, kept.state) == ("My own words.", True, SummaryState.CURRENT)


async def test_what_was_forgotten_is_in_no_summary_made_anew(room: Room) -> None:
    await room.compactor(ScriptedChatModel(["They go to Oslo."])).compact(room.session, LIMITS)
    first = (await room.summaries())[0]
    await room.store.context.rewrite_summary(first.id, "House 0 and house 3, in my own words.", edited=True)
    await room.store.forget_message(first.covers[0])
    assert (await room.summaries())[0].state is SummaryState.STALE
    done = await room.compactor(ScriptedChatModel(["They go to Oslo."])).compact(room.session, LIMITS)
    made = (await room.summaries())[0]
    assert [s.id for s in done.made] == [made.id]
    assert made.state is SummaryState.CURRENT
    assert not made.edited
    assert "in my own words" not in made.text
    assert "My neighbour in house 0" not in made.text
    assert "house 1" in made.text


async def test_a_summary_that_was_emptied_grows_no_longer_than_the_others() -> None:
    room = Room(ScriptedChatModel(["They go to Oslo."]))
    await room.talk(60)
    branch = await room.store.branch(room.session)
    covers = tuple(message.id for message in branch[:100])
    made = await room.store.context.add_summary(room.session, NewSummary("Short.", covers, 0, (), True, None))
    await room.store.forget_message(covers[0])
    (anew,) = await room.compactor().refresh(room.session, quick=True)
    assert anew.id == made.id
    (size,) = await WordCounter().count([anew.text])
    assert 100 < size <= 240


async def test_what_is_forgotten_while_it_is_summarised_makes_the_summary_stale(room: Room) -> None:
    first = (await room.store.branch(room.session))[0]

    class Forgets(ScriptedChatModel):
        async def info(self) -> ModelInfo:
            await room.store.forget_message(first.id)
            return await super().info()

    await room.compactor(Forgets([FAITHFUL])).compact(room.session, LIMITS)
    summaries = await room.summaries()
    assert summaries[0].state is SummaryState.STALE
    assert summaries[1].state is SummaryState.CURRENT
    await room.compactor().compact(room.session, LIMITS)
    assert (await room.summaries())[0].state is SummaryState.CURRENT


async def test_a_merged_summary_is_made_anew_from_its_parts_made_anew(room: Room) -> None:
    compactor = room.compactor()
    limits = PlanLimits(target_tokens=100_000, max_summaries=1)
    await compactor.compact(room.session, limits, quick=True)
    await room.talk(5)
    await compactor.compact(room.session, limits, quick=True)
    (wide,) = await room.active_summaries()
    assert wide.level == 1
    await room.store.forget_message(wide.covers[0])
    stale = [s for s in await room.summaries() if s.state is SummaryState.STALE]
    assert len(stale) == 2
    made = await compactor.refresh(room.session)
    assert [s.level for s in made] == [0, 1]
    assert all(s.state is not SummaryState.STALE for s in await room.summaries())
    assert all("My neighbour in house 0 works" not in s.text for s in await room.summaries())


async def test_failed_replies_are_covered_but_not_told(room: Room) -> None:
    branch = await room.store.branch(room.session)
    await room.store.update_message(
        branch[1].id, MessagePatch(content="Zanzibar", status=MessageStatus.FAILED)
    )
    await room.compactor().compact(room.session, LIMITS)
    assert branch[1].id in (await room.summaries())[0].covers
    assert all("Zanzibar" not in prompt[0].content for prompt in room.model.prompts)


async def test_a_fork_uses_the_summaries_of_what_it_shares(room: Room) -> None:
    await room.compactor().compact(room.session, LIMITS)
    branch = await room.store.branch(room.session)
    fork: Message = await room.store.append_message(
        room.session, NewMessage(Role.USER, "Another way."), parent_id=branch[15].id
    )
    plan = await room.compactor().plan(room.session, LIMITS, fork.id)
    assert (plan.start, plan.empty) == (10, True)


async def test_jobs_do_the_same(room: Room) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)

    def job(kind: str, session_id: str | None) -> Job:
        return Job("j", kind, "k", session_id, {}, 50, JobState.RUNNING, 1, now, None, now, now)

    async def limits(session_id: str) -> PlanLimits:
        assert session_id == room.session
        return LIMITS

    handlers: dict[str, Handler] = {}
    register_summaries(handlers, room.compactor(), limits)
    await handlers[SUMMARISE](job(SUMMARISE, room.session))
    summaries = await room.summaries()
    assert len(summaries) == 2
    await room.store.context.age_summaries(summaries[0].covers)
    await handlers[IMPROVE](job(IMPROVE, None))
    assert all(s.state is SummaryState.CURRENT for s in await room.summaries())
