"""A room on disk, and ways to look at its files from outside."""

import hashlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from memory.entities import RoomKind
from memory.storage.database import Database
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.vault.keys import RoomKey
from tests.fakes.clock import FakeClock


@dataclass
class Place:
    """Where a room is and what opens it."""

    path: Path
    key: RoomKey

    async def open(self, *, create: bool = False) -> Store:
        return await open_room(self.path, self.key, RoomKind.OPEN, FakeClock(), create=create)

    def digests(self) -> dict[str, str]:
        """SHA-256 of every file in the room's folder."""
        return {
            file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in self.path.parent.iterdir()
        }

    def flip_last_pages(self, count: int) -> None:
        pages = self.path.stat().st_size // 4096
        for page in range(pages - count, pages):
            self.flip(page * 4096 + 2000)

    def flip(self, offset: int) -> None:
        data = bytearray(self.path.read_bytes())
        data[offset] ^= 0xFF
        self.path.write_bytes(data)


def database_of(store: Store) -> Database:
    """The room's database, for what no store would ever be asked to do."""
    return store._database


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "rooms" / "open.db", RoomKey.generate())


@pytest.fixture
async def store(place: Place) -> AsyncIterator[Store]:
    opened = await place.open(create=True)
    yield opened
    await opened.close()


@pytest.fixture
def unchanged(place: Place) -> Callable[[], None]:
    """Call it to assert that no byte of the room's files has changed since the test first called it."""
    seen: list[dict[str, str]] = []

    def check() -> None:
        seen.append(place.digests())
        assert seen[-1] == seen[0]

    return check
