"""A home with both rooms in it, quick to open."""

import asyncio
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from atlas_desktop.services.backup import BackupService, RepairService
from memory.entities import NewMessage, NewSession, RoomKind
from memory.storage.files import SqlRoomFiles
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.vault.keys import RoomKey
from memory.vault.vault import Keys, Vault, Vaults
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.unit.vault.conftest import CHEAP, PASSPHRASE, FakeKeyring


@dataclass
class Home:
    """`rooms` is the folder of the rooms. The passphrase is the tests' own."""

    folder: Path
    clock: FakeClock = field(default_factory=FakeClock)
    recovery_key: str = ""
    known: Keys | None = None
    keyring: FakeKeyring | None = None

    @property
    def rooms(self) -> Path:
        return self.folder / "rooms"

    def vaults(self, rooms: Path | None = None) -> Vaults:
        where = rooms or self.rooms
        return Vaults(
            Vault(where, RoomKind.OPEN, CHEAP, self.keyring, self.clock),
            Vault(where, RoomKind.PRIVATE, CHEAP, clock=self.clock),
            CHEAP,
            self.clock,
        )

    @property
    def keys(self) -> Keys:
        """Found once: forget `known` when they change."""
        if self.known is None:
            self.known = self.vaults().unlock_both(PASSPHRASE)
        return self.known

    def key(self, room: RoomKind = RoomKind.OPEN) -> RoomKey:
        keys = self.keys
        key = keys.open if room is RoomKind.OPEN else keys.private
        assert key is not None
        return key

    def backups(self) -> BackupService:
        folder, files = self.folder / "backups", SqlRoomFiles(self.clock)
        return BackupService(self.rooms, lambda: folder, self.vaults, files, self.clock, "t")

    def repairs(self) -> RepairService:
        files = SqlRoomFiles(self.clock)
        return RepairService(self.rooms, self.vaults, files, files, self.clock)

    async def open(self, room: RoomKind = RoomKind.OPEN, *, create: bool = False) -> Store:
        return await open_room(self.rooms / f"{room}.db", self.key(room), room, self.clock, create=create)

    async def say(self, *words: str, room: RoomKind = RoomKind.OPEN) -> str:
        """A new session with these messages; its id."""
        store = await self.open(room)
        session, _ = await store.create_session(NewSession(words[0]), NewMessage(Role.USER, words[0]))
        for text in words[1:]:
            await store.append_message(session.id, NewMessage(Role.USER, text))
        await store.close()
        return session.id

    async def said(self, room: RoomKind = RoomKind.OPEN) -> list[str]:
        """All that was said, sorted. The room must be sound."""
        store = await self.open(room)
        found = [m.content for s in await store.list_sessions() for m in await store.branch(s.id)]
        problems: Sequence[str] = (await store.verify()).problems
        await store.close()
        assert not problems
        return sorted(found)


@pytest.fixture
def place(tmp_path: Path) -> Home:
    """A home without a vault."""
    return Home(tmp_path)


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with a vault and two rooms, each with something in it: to be copied, not to be used."""
    home = Home(tmp_path_factory.mktemp("example"))

    async def make() -> None:
        home.known, home.recovery_key = home.vaults().create(PASSPHRASE)
        for room in (RoomKind.OPEN, RoomKind.PRIVATE):
            await (await home.open(room, create=True)).close()
        for vault in home.vaults().rooms:
            vault.mark_room_made()
        await home.say("tomatoes", "and beans")
        await home.say("a secret", room=RoomKind.PRIVATE)

    asyncio.run(make())
    return home


@pytest.fixture
def made(place: Home, example: Home) -> Home:
    """A copy of the example."""
    shutil.copytree(example.rooms, place.rooms)
    place.known, place.recovery_key = example.known, example.recovery_key
    return place
