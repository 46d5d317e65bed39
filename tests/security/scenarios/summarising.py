"""Summaries of a session that grows: none is lost or made twice, and it goes on from where it was."""

from collections.abc import Sequence

from memory.context.entities import SummaryState
from memory.entities import NewMessage, NewSession
from memory.storage.store import Store
from memory.summaries.compaction import Compactor
from memory.summaries.planning import PlanLimits, active_summaries
from memory.summaries.summarise import Summariser
from models.messages import Role
from tests.fakes.models import ScriptedChatModel, WordCounter
from tests.security.crash import Said, Say, Scenario
from tests.storage.conftest import Place

LIMITS = PlanLimits(target_tokens=100_000)
TOLD = "They speak of the garden."


def compactor_of(store: Store) -> Compactor:
    summariser = Summariser(ScriptedChatModel([TOLD]), WordCounter(), results=store.jobs)
    return Compactor(store, summariser, WordCounter())


class Summarising(Scenario):
    name = "summaries"
    steps = 6

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.promised: set[str] = set()

    async def act(self, given: str, say: Say) -> None:
        store = await self.place.open(create=True)
        compactor = compactor_of(store)
        known = await store.list_sessions()
        if known:
            session_id = known[0].id
        else:
            session, _ = await store.create_session(NewSession("t"), NewMessage(Role.USER, "It begins."))
            session_id = session.id
        for number in range(10_000):
            text = f"Part {number} is about the garden and the way there."
            await store.append_message(session_id, NewMessage(Role.USER, text))
            await store.append_message(session_id, NewMessage(Role.ASSISTANT, "The garden is a fine place."))
            if number % 6 == 5:
                for summary in (await compactor.compact(session_id, LIMITS)).made:
                    say(summary.id)

    async def look(self, said: Sequence[Said]) -> None:
        self.promised |= {ref for (ref,) in said}
        store = await self.place.open()
        (session,) = await store.list_sessions()
        branch = await store.branch(session.id)
        summaries = await store.context.summaries(session.id)
        assert self.promised <= {summary.id for summary in summaries}
        # Each stretch of the talk was summarised once, and what was merged says into what.
        assert len({summary.covers for summary in summaries}) == len(summaries)
        merged = {summary.id for summary in summaries if summary.state is SummaryState.MERGED}
        assert merged == {summary.id for summary in summaries if summary.merged_into is not None}
        before = {summary.id for summary in summaries}
        compactor = compactor_of(store)
        await compactor.compact(session.id, LIMITS)
        after = await store.context.summaries(session.id)
        assert before <= {summary.id for summary in after}
        assert (await compactor.plan(session.id, LIMITS)).empty
        stretches = active_summaries([message.id for message in branch], after)
        assert all(stretch.summary for stretch in stretches)
        assert len(stretches) <= LIMITS.max_summaries
        assert (await store.verify()).problems == ()
        await store.close()
