"""Secrets that are told to a room with all its services: nothing of them may be found in any file."""

from collections.abc import Sequence
from datetime import UTC, datetime

from memory.entities import NewMessage, SessionPatch
from memory.memories.entities import MemoryKind, MemoryOrigin, MemorySource, NewMemory
from memory.transfer import TravellingMessage, TravellingSession
from models.messages import Role
from tests.security.crash import Said, Say, Scenario
from tests.security.stage import Stage

NAMES = ("title", "tag", "speaker", "message", "preface", "memory", "prompt")


class Confiding(Scenario):
    """`given` are the secrets, one a line, in the order of `NAMES`."""

    name = "canaries"
    steps = 1
    moment_s = 0.02
    given = ""

    async def prepare(self) -> str:
        return self.given

    async def act(self, given: str, say: Say) -> None:
        told = dict(zip(NAMES, given.splitlines(), strict=True))
        moment = datetime(2025, 5, 5, tzinfo=UTC)
        stage = await Stage.open(self.place, create=True)
        session = TravellingSession(
            id="s",
            title=told["title"],
            created_at=moment,
            updated_at=moment,
            messages=(TravellingMessage("m", None, Role.USER, told["speaker"], "Hello.", moment),),
            tags=(told["tag"],),
            system_prompt=told["prompt"],
        )
        session_id = (await stage.store.transfer.take(session)).session_id
        await stage.store.update_session(session_id, SessionPatch(starred=True))
        said = await stage.store.append_message(session_id, NewMessage(Role.USER, told["preface"]))
        source = MemorySource(said.id, session_id, told["preface"])
        await stage.store.memories.add(
            NewMemory(MemoryKind.FACT, told["memory"], MemoryOrigin.PATTERN, (source,))
        )
        for n in range(10_000):
            # Words of every kind, so that no number of their vectors is zero.
            many = " ".join(f"{k:x}" for k in range(n, n + 300))
            await stage.turn(f"{told['message']} {many}", session_id)
            await stage.room.background.run()
            await stage.room.epochs.keep(session_id)
            say("told")

    async def look(self, said: Sequence[Said]) -> None:
        store = await self.place.open()
        assert (await store.verify()).problems == ()
        await store.close()
