"""Devices of a test: a real store each, and one folder between them."""

from dataclasses import dataclass, field
from pathlib import Path

from memory.sync import folder as sync_folder
from memory.sync.entities import KeySet, SyncReport
from memory.sync.exchange import Exchange
from memory.sync.folder import SyncFolder
from memory.transfer import TravellingSession
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore


@dataclass
class TestDevice:
    """One device. Its clock is its own."""

    __test__ = False
    name: str
    folder: SyncFolder
    store: InMemoryStore
    clock: FakeClock

    async def sync(self) -> SyncReport:
        return await Exchange(self.store.sync, self.folder, self.clock).run()

    async def exported(self) -> list[TravellingSession]:
        """All sessions, as an export contains them."""
        return [await self.store.transfer.give(one) for one in await self.store.transfer.all_ids()]


@dataclass
class TestFolder:
    """A folder, and the devices that sync through it."""

    __test__ = False
    path: Path
    keys: KeySet = field(default_factory=sync_folder.new_keys)

    async def device(
        self, name: str, store: InMemoryStore | None = None, clock: FakeClock | None = None
    ) -> TestDevice:
        own = clock or FakeClock()
        made = TestDevice(name, SyncFolder(self.path), store or InMemoryStore(own), own)
        await self.join(made)
        return made

    async def join(self, device: TestDevice) -> None:
        await device.store.sync.begin(
            str(self.path),
            device.name,
            device.folder.make_place(),
            self.keys,
            sync_folder.signing_pair(),
            sync_folder.sealing_pair(),
            device_id=sync_folder.new_device_id(),
        )


async def settle(*devices: TestDevice, rounds: int = 3) -> None:
    for _ in range(rounds):
        for one in devices:
            await one.sync()
