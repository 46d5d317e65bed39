"""What a home holds, read with its key and without the program."""

import asyncio
import struct

from atlas_desktop.paths import Paths
from memory.clock import SystemClock
from memory.entities import RoomKind
from memory.storage.connection import Connection
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.vault.keys import RoomKey
from memory.vault.vault import Vault
from tests.storage.conftest import database_of


def key_of(paths: Paths, passphrase: str, room: RoomKind = RoomKind.OPEN) -> RoomKey:
    return Vault(paths.rooms, room).unlock(passphrase)


def counts_of(paths: Paths, key: RoomKey) -> dict[str, int]:
    """How many rows each table has, those beneath the full-text indices included."""

    def work(conn: Connection) -> dict[str, int]:
        names = conn.execute("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type <> 'view'")
        # The room notes how often it was used.
        tables = [name for (name,) in names.fetchall() if name != "meta"]
        return {name: conn.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables}

    async def read() -> dict[str, int]:
        store = await _open(paths, key)
        try:
            return await database_of(store).read(work)
        finally:
            await store.close()

    return asyncio.run(read())


def vectors_of(paths: Paths, key: RoomKey) -> list[tuple[float, ...]]:
    """Every vector that is stored."""

    async def read() -> list[tuple[float, ...]]:
        store = await _open(paths, key)
        try:
            found = []
            for model in (await store.vectors.counts()).by_model:
                found += [one.data for one in (await store.vectors.scan(model)).rows()]
            return [struct.unpack(f"<{len(data) // 4}f", data) for data in found]
        finally:
            await store.close()

    return asyncio.run(read())


async def _open(paths: Paths, key: RoomKey) -> Store:
    return await open_room(paths.rooms / "open.db", key, RoomKind.OPEN, SystemClock())
