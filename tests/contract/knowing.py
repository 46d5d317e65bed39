"""Memories to be stored, and a reply for which one stood in the prompt."""

from memory.context.entities import NewEpoch, TierUse, TurnRecord
from memory.entities import Message, MessagePatch, Session
from memory.memories.entities import Memory, MemoryKind, MemoryOrigin, MemorySource, MemoryState, NewMemory
from memory.storage.store import Store
from memory.vectors.entities import Embedded
from memory.vectors.indexing import packed
from tests.contract.talk import talk

MODEL = "f1"


def fact(text: str = "Works in Oslo", *said: Message, subject: str = "") -> NewMemory:
    return NewMemory(
        MemoryKind.FACT,
        text,
        MemoryOrigin.PATTERN,
        sources=tuple(quoted(one) for one in said),
        subject=subject,
    )


def quoted(message: Message) -> MemorySource:
    return MemorySource(message.id, message.session_id, message.content)


def own(text: str) -> NewMemory:
    return NewMemory(MemoryKind.FACT, text, MemoryOrigin.PERSON, state=MemoryState.KEPT)


async def asked_with(store: Store, memory: Memory, tier: str = "recall") -> tuple[Session, str]:
    """A session, and its reply for which a memory stood in the prompt."""
    session, said = await talk(store, 2)
    await store.update_message(said[0].id, MessagePatch(preface="what is known"))
    parts = (TierUse(tier, 3, (memory.id,)),)
    epoch = await store.context.add_epoch(NewEpoch(session.id, "m", "head", parts, said[0].id))
    await store.context.record_turn(TurnRecord(said[1].id, session.id, epoch.id, "m", "ab", 7, parts))
    return session, said[1].id


async def embed_all(store: Store) -> None:
    made = [Embedded(one, (packed([1.0, 0.0]),)) for one in await store.vectors.unembedded(MODEL)]
    await store.vectors.put(MODEL, made)
