"""States of the model beside the room: whole ones only, and the newest that was promised among them."""

from collections.abc import Sequence
from itertools import count

from memory.storage.snapshots import SnapshotStore, open_snapshots
from models.messages import ModelState
from tests.fakes.models import sealed_state
from tests.security.crash import Said, Say, Scenario

MIB = 1024 * 1024


async def loaded(store: SnapshotStore, session: str) -> ModelState | None:
    info = await store.find(session, "m")
    return None if info is None else await store.load(info)


class KeepingStates(Scenario):
    name = "states of the model"
    steps = 5
    moment_s = 0.02

    async def act(self, given: str, say: Say) -> None:
        store = await open_snapshots(self.place.path, self.place.key, limit=8 * MIB)
        for n in count():
            state = sealed_state("m", range(n, n + 300), [bytes([n % 256]) * MIB] * 3)
            if await store.put(f"s{n % 3}", state):
                say(str(n))

    async def look(self, said: Sequence[Said]) -> None:
        store = await open_snapshots(self.place.path, self.place.key)
        assert not store.renewed
        assert await store.verify() == ()
        found = [s for n in range(3) if (s := await loaded(store, f"s{n}")) is not None]
        assert all(s == sealed_state("m", s.tokens, s.chunks) and s.size == 3 * MIB for s in found)
        assert any(s.tokens[0] >= int(said[-1][0]) for s in found)
        await store.close()
