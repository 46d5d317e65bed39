"""The sample conversations, and what is known from them."""

from datetime import UTC, datetime, timedelta

from atlas_desktop.services.demo import fill, sample_conversations
from memory.clock import Clock
from memory.memories.entities import MemoryFilter, MemoryKind, MemoryState
from memory.storage.store import Store
from tests.stores import InMemoryStore

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


class LastingStore(InMemoryStore):
    """Can be looked at when it has been closed."""

    async def close(self) -> None:
        pass


async def test_there_is_something_to_see_in_every_place() -> None:
    made: list[LastingStore] = []

    async def opened(clock: Clock) -> Store:
        made.append(LastingStore(clock))
        return made[0]

    count = await fill(opened, NOW)
    (store,) = made
    assert count == len(sample_conversations()) == len(await store.list_sessions())
    known = await store.memories.select(MemoryFilter(), limit=100)
    kinds = {one.kind for one in known}
    assert {MemoryKind.FACT, MemoryKind.PREFERENCE, MemoryKind.DECISION} <= kinds
    states = {one.state for one in known}
    assert states == {MemoryState.INBOX, MemoryState.KEPT}
    for one in known:
        (source,) = await store.memories.sources(one.id)
        branch = await store.branch(source.session_id, source.message_id)
        message = branch[-1]
        assert source.quote in message.content
        assert abs(one.created_at - message.created_at) < timedelta(hours=1)
        assert one.created_at <= NOW


async def test_there_are_documents_to_search_and_ask() -> None:
    made: list[LastingStore] = []

    async def opened(clock: Clock) -> Store:
        made.append(LastingStore(clock))
        return made[0]

    await fill(opened, NOW)
    documents = await made[0].documents.list()
    assert [(one.title, one.state) for one in documents] == [
        ("Lofoten without a car", "indexed"),
        ("The rowing boat: a short manual", "indexed"),
        ("trip-expenses.csv", "indexed"),
    ]
    assert all(one.chunks and one.added_at == documents[0].added_at for one in documents)
