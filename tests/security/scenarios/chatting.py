"""Turns of a chat: what the person said, and every reply that was shown as finished, stays."""

from collections.abc import Sequence

from atlas_desktop.services.events import Accepted, Replied
from memory.entities import Freshness, MessageStatus
from tests.security.crash import Said, Say, Scenario
from tests.security.stage import Stage
from tests.storage.conftest import Place


class Chatting(Scenario):
    name = "chat"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.promised: dict[str, tuple[str, str]] = {}

    async def act(self, given: str, say: Say) -> None:
        stage = await Stage.open(self.place, create=True)
        session: str | None = None

        def heard(event: Accepted | Replied) -> None:
            what = "said" if isinstance(event, Accepted) else "replied"
            say(what, event.message.id, event.message.content)

        for n in range(10_000):
            text = f"turn {n} " + "word " * (n % 60)
            accepted, _ = await stage.turn(text, session, heard)
            session = accepted.session.id

    async def look(self, said: Sequence[Said]) -> None:
        self.promised |= {ref: (what, text) for what, ref, text in said}
        store = await self.place.open()
        stored = {
            message.id: message
            for session in await store.list_sessions()
            for message in await store.branch(session.id)
        }
        report = await store.verify()
        await store.close()
        assert report.problems == ()
        # Dying is no loss: what was never finished was never promised.
        assert report.freshness is Freshness.CURRENT
        for ref, (what, text) in self.promised.items():
            assert stored[ref].content == text
            assert what == "said" or stored[ref].status is MessageStatus.COMPLETE
        assert all(message.status is not MessageStatus.STREAMING for message in stored.values())
