"""Which remembered things stand in a turn's prompt: written down so that forgetting finds them."""

from collections.abc import Mapping, Sequence

from memory.context.considering import Considered
from memory.context.entities import TOLD, TierUse, TurnRecord
from memory.ports import SessionStore
from memory.recall.entities import Hit


async def trace(
    store: SessionStore,
    session_id: str,
    reply_id: str,
    model: str,
    recalled: Sequence[Hit],
    read: Sequence[str] = (),
) -> None:
    """Says what a preface holds (hits, and ids of attachments that are `read`), before it is stored: the
    reply may never come, and its record with it."""
    parts = [TierUse("recall", 0, tuple(hit.id for hit in recalled))] if recalled else []
    parts += [TierUse("document", 0, tuple(read))] if read else []
    await store.context.record_turn(TurnRecord(reply_id, session_id, None, model, "", 0, tuple(parts)))


async def traced(store: SessionStore, reply_id: str) -> Mapping[str, TierUse]:
    """What was told, by tier, when the message that `reply_id` answers was answered before."""
    for earlier in await store.variants(reply_id):
        record = await store.context.turn(earlier.id)
        told = {part.tier: part for part in record.parts if part.tier in TOLD} if record is not None else {}
        if any(part.ids for part in told.values()):
            return told
    return {}


async def considered_before(store: SessionStore, reply_id: str) -> tuple[Considered, ...]:
    """What was looked at when the message that `reply_id` answers was answered before: its preface stays as
    it was made then, and so do the reasons for it."""
    for earlier in await store.variants(reply_id):
        if found := await store.context.considered(earlier.id):
            return tuple(found)
    return ()
