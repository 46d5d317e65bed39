"""Folds a branch for a new epoch: plans, has the summaries made, and says what stands for what."""

import asyncio
from collections.abc import Sequence

from memory.context.budget import Limits
from memory.context.folding import Folded, Room
from memory.entities import Message
from memory.gently import Gently
from memory.lifecycle.compaction import Compactor
from memory.lifecycle.planning import PlanLimits, foldables, plan
from memory.lifecycle.standing import standing
from memory.ports import SessionStore


class SummaryFolder:
    """`memory.context.folding.Folder` by summaries."""

    def __init__(self, store: SessionStore, compactor: Compactor) -> None:
        self._store = store
        self._compactor = compactor

    async def fold(
        self,
        session_id: str,
        branch: Sequence[Message],
        sizes: Sequence[int],
        room: Room,
        limits: Limits,
        *,
        quick: bool,
    ) -> Folded:
        known = await self._store.context.summaries(session_id)
        messages = await asyncio.to_thread(foldables, Gently(branch), sizes, known)
        made = plan(messages, known, plan_limits(room, limits))
        await self._compactor.carry_out(session_id, branch, made, quick=quick)
        summaries = await self._store.context.summaries(session_id)
        found = standing([m.id for m in branch[: made.start]], summaries)
        kept = set(made.pinned)
        return Folded(
            made.start,
            tuple(stretch.summary for stretch in found if stretch.summary is not None),
            tuple(message for message in branch if message.id in kept),
        )


def plan_limits(room: Room, limits: Limits) -> PlanLimits:
    """The plan's limits from the settings and the budget."""
    return PlanLimits(
        target_tokens=room.recent,
        pinned_tokens=room.pinned,
        summary_tokens=room.summary,
        immediate_turns=limits.immediate_turns,
        summary_turns=limits.summary_turns,
        max_summaries=limits.max_summaries,
        recent_messages_min=limits.recent_messages_min,
        relevance_decay=limits.relevance_decay,
    )
