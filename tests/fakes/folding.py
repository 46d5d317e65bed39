"""A folder that stores one summary of what is left out, without a model."""

from collections.abc import Sequence

from memory.context.entities import CompactedHistory, Limits, NewSummary, TokenAllowance
from memory.entities import Message
from memory.storage.store import Store
from memory.summaries.planning import active_summaries
from models.messages import Role


class CountingFolder:
    """`memory.context.entities.HistoryCompactor`: one summary says how many messages came before."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.quick: list[bool] = []

    async def fold(
        self,
        session_id: str,
        branch: Sequence[Message],
        sizes: Sequence[int],
        room: TokenAllowance,
        limits: Limits,
        *,
        quick: bool,
    ) -> CompactedHistory:
        self.quick.append(quick)
        known = await self._store.context.summaries(session_id)
        found = active_summaries([m.id for m in branch], known, keep=limits.recent_messages_min)
        if found and sum(sizes[found[-1].end :]) <= room.recent:
            return CompactedHistory(found[-1].end, tuple(s.summary for s in found if s.summary is not None))
        latest = len(branch) - limits.recent_messages_min
        begins = [i for i, m in enumerate(branch) if m.role is Role.USER and 0 < i <= latest]
        fitting = [i for i in begins if sum(sizes[i:]) <= room.recent]
        if not begins:
            return CompactedHistory(0)
        start = fitting[0] if fitting else begins[-1]
        new = NewSummary(f"{start} messages", tuple(m.id for m in branch[:start]))
        return CompactedHistory(start, (await self._store.context.add_summary(session_id, new),))
