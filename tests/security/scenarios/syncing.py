"""Sync: killed while it writes and reads, both rooms come to the same, and what was stored is in both."""

import random
from collections.abc import Sequence
from pathlib import Path

from memory.clock import SystemClock
from memory.entities import NewMessage, NewSession, Target
from memory.storage.store import Store
from memory.sync import folder
from memory.sync.exchange import Exchange
from memory.sync.folder import SyncFolder
from models.messages import Role
from tests.security.crash import Said, Say, Scenario
from tests.storage.conftest import Place
from tests.stores import InMemoryStore


class Syncing(Scenario):
    """The process writes, forgets and syncs; the test has a second room that syncs through its folder."""

    name = "sync"
    steps = 12
    moment_s = 0.03
    soak_rounds = 300

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.other: InMemoryStore | None = None
        self.stored: set[str] = set()
        self.forgotten: set[str] = set()

    @property
    def folder(self) -> SyncFolder:
        path = Path(self.place.path).with_name("between")
        path.mkdir(exist_ok=True)
        return SyncFolder(path)

    async def prepare(self) -> str:
        if self.other is not None:
            return ""
        store = await self.place.open(create=True)
        self.other = InMemoryStore(SystemClock())
        stream = folder.new_keys()
        for name, one in (("one", store), ("other", self.other)):
            pairs = folder.signing_pair(), folder.sealing_pair()
            place = self.folder.make_place()
            await one.sync.begin(str(self.folder.path), name, place, stream, *pairs, device_id=name)
        await store.close()
        return ""

    async def sync(self, store: Store) -> None:
        await Exchange(store.sync, self.folder, SystemClock()).run()

    async def act(self, given: str, say: Say) -> None:
        store = await self.place.open()
        rnd = random.Random()
        say("open")
        while True:
            new = NewSession(title="Talk")
            session, _ = await store.create_session(new, NewMessage(Role.USER, "About ropes " * 20))
            say("stored", session.id)
            await self.sync(store)
            say("synced")
            if rnd.random() < 0.3:
                known = await store.list_sessions()
                gone = rnd.choice(known).id
                await store.forget(Target(sessions=(gone,)))
                say("forgotten", gone)

    async def look(self, said: Sequence[Said]) -> None:
        assert self.other is not None
        self.stored |= {words[1] for words in said if words[0] == "stored"}
        self.forgotten |= {words[1] for words in said if words[0] == "forgotten"}
        store = await self.place.open()
        for _ in range(2):
            await self.sync(store)
            await self.sync(self.other)
        here = {session.id for session in await store.list_sessions()}
        there = {session.id for session in await self.other.list_sessions()}
        assert here == there
        # The last thing forgotten may have been so without being acknowledged.
        assert len(self.stored - self.forgotten - here) <= 1
        self.forgotten |= self.stored - here
        assert not here & self.forgotten
        assert (await store.verify()).problems == ()
        report = await Exchange(self.other.sync, self.folder, SystemClock()).run()
        assert report.problems == []
        await store.close()
