"""Which memories count as having been of use in a reply."""

from atlas_desktop.services.events import Replied
from atlas_desktop.services.recall import UsefulnessService
from memory.entities import NewMessage, NewSession
from memory.memories.entities import MemoryKind, MemoryOrigin, NewMemory
from memory.recall.engine import RecallEngine
from memory.recall.entities import RecallQuery
from models.messages import Completion, Role, StopReason, Timings
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore

DONE = Completion("", (), StopReason.STOP, Timings())


async def test_brought_back_cited_and_confirmed_are_told_apart() -> None:
    store = InMemoryStore(FakeClock())
    made = [
        await store.memories.add(NewMemory(MemoryKind.FACT, text, MemoryOrigin.PERSON))
        for text in ("The boat lies in the harbour of Brest.", "The boat was painted green.")
    ]
    session, _ = await store.create_session(NewSession("a"), NewMessage(Role.USER, "Where is my boat?"))
    service = UsefulnessService(store)
    engine = RecallEngine(store.evidence, FakeClock())

    async def replied(text: str, *, recalls: bool) -> str:
        reply = await store.append_message(session.id, NewMessage(Role.ASSISTANT, text))
        hits = await engine.recall(RecallQuery("boat", kinds=["memory"])) if recalls else []
        await service.after_reply(Replied(session, reply, DONE, (), tuple(hits)))
        return reply.id

    first = await replied("In the harbour of Brest.", recalls=True)
    await store.append_message(session.id, NewMessage(Role.USER, "Exactly, thank you."))
    await replied("You are welcome.", recalls=False)
    uses = [[(use.reply_id, use.how) for use in await store.memories.uses(one.id)] for one in made]
    assert sorted(uses[0]) == [(first, "cited"), (first, "confirmed"), (first, "recalled")]
    assert uses[1] == [(first, "recalled")]
    # Once a reply, and not for having been brought back.
    assert [one.uses for one in await store.memories.get_many([one.id for one in made])] == [1, 0]
