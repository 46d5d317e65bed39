"""Which remembered things stand in a turn's prompt: written down so that forgetting finds them."""

from collections.abc import Sequence

from memory.context.entities import TierUse, TurnRecord
from memory.ports import SessionStore
from memory.recall.entities import Hit


async def trace(
    store: SessionStore, session_id: str, reply_id: str, model: str, recalled: Sequence[Hit]
) -> None:
    """Says what a preface holds, before it is stored: the reply may never come, and its record with it."""
    part = TierUse("recall", 0, tuple(hit.id for hit in recalled))
    await store.context.record_turn(TurnRecord(reply_id, session_id, None, model, "", 0, (part,)))


async def traced(store: SessionStore, reply_id: str) -> tuple[str, ...]:
    """What was recalled when the message that `reply_id` answers was answered before."""
    for earlier in await store.variants(reply_id):
        record = await store.context.turn(earlier.id)
        for part in record.parts if record is not None else ():
            if part.tier == "recall" and part.ids:
                return part.ids
    return ()
