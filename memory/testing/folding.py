"""A folder that stores one summary of what was left out, without a model."""

from collections.abc import Sequence

from memory.context.budget import Limits
from memory.context.engine import Folded, Room
from memory.context.entities import NewSummary
from memory.context.epochs import verbatim_start
from memory.entities import Message
from memory.ports import SessionStore


class CountingFolder:
    """`memory.context.engine.Folder`: one summary says how many messages came before."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self.quick: list[bool] = []

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
        self.quick.append(quick)
        start = verbatim_start(
            branch,
            sizes,
            tokens=room.recent,
            turns=limits.immediate_turns,
            least=limits.recent_messages_min,
        )
        if start == 0:
            return Folded(0)
        older = await self._store.context.summaries(session_id)
        new = NewSummary(
            f"{start} messages",
            tuple(m.id for m in branch[:start]),
            level=len(older),
            replaces=tuple(s.id for s in older[-1:]),
        )
        return Folded(start, (await self._store.context.add_summary(session_id, new),))
