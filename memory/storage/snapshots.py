"""The model's states in an encrypted file of their own, beside the room and with its key.

They are large and can be made again: kept apart, they delay no message, and the room's file and its copies
stay small.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from memory.context.snapshots import SnapshotInfo
from memory.errors import (
    MemoryFault,
    NotARoom,
    RoomClosed,
    RoomDamaged,
    RoomMissing,
    StorageBusy,
    StorageFull,
)
from memory.storage import connection
from memory.storage.connection import APPLICATION_ID, Connection
from memory.storage.database import Database
from memory.storage.faults import translated
from memory.storage.queries import snapshots as queries
from memory.vault.files import make_private_folder, translated_os
from memory.vault.keys import RoomKey
from models.messages import ModelState

DEFAULT_LIMIT = 512 * 1024 * 1024
# No room's schema will ever have this number: whatever else is found under the name is not ours to read.
SCHEMA_VERSION = 1001
# Large pages suit large values, and this authenticator is the one that processors compute by themselves:
# together they more than halve the time that a state takes to be read.
_FORM = ("cipher_page_size = 65536", "cipher_hmac_algorithm = HMAC_SHA256")
_SIDE_FILES = ("-wal", "-shm", "-journal")
T = TypeVar("T")


async def open_snapshots(path: Path, key: RoomKey, *, limit: int = DEFAULT_LIMIT) -> "SqlSnapshotStore":
    """The store at `path`, made when there is none that can be used; at most `limit` bytes of states.

    Never fails: where no file can be made, nothing is stored.
    """
    store = SqlSnapshotStore(path, key, limit)
    await store.open()
    return store


class SqlSnapshotStore:
    """A `SnapshotStore` whose file is made anew when it is damaged, foreign or of another version."""

    def __init__(self, path: Path, key: RoomKey, limit: int) -> None:
        self._path = path
        self._key = key
        self._limit = limit
        self._database: Database | None = None
        self._renewed = False
        # When states were used, written down at the next change: a read shall cost no write.
        self._used: list[tuple[str, str]] = []

    @property
    def renewed(self) -> bool:
        return self._renewed

    async def open(self) -> None:
        try:
            self._database = await Database.open(self._connect)
        except MemoryFault:
            self._database = None

    async def close(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            await database.close()

    async def put(self, session_id: str, state: ModelState) -> bool:
        if state.size > self._limit:
            return False
        used, self._used = self._used, []

        def work(conn: Connection) -> bool:
            for pair in used:
                queries.touch(conn, *pair)
            queries.put(conn, session_id, state, self._limit)
            return True

        return await self._attempt(lambda database: database.write(work), otherwise=False)

    async def find(self, session_id: str, model: str) -> SnapshotInfo | None:
        return await self._attempt(
            lambda database: database.read(lambda conn: queries.find(conn, session_id, model)), otherwise=None
        )

    async def load(self, info: SnapshotInfo) -> ModelState | None:
        self._used.append((info.session_id, info.model))
        return await self._attempt(
            lambda database: database.read(lambda conn: queries.load(conn, info)), otherwise=None
        )

    async def drop_session(self, session_id: str) -> int:
        return await self._drop("session_id = ?", session_id)

    async def drop_other_models(self, model: str) -> int:
        return await self._drop("model <> ?", model)

    async def drop_all(self) -> int:
        return await self._drop("TRUE")

    async def verify(self) -> tuple[str, ...]:
        return await self._attempt(lambda database: database.read(queries.problems), otherwise=())

    async def _drop(self, condition: str, *values: str) -> int:
        """What has to go goes, if need be with the whole file.

        A file that would hold nothing any more is made anew: that takes no time, emptying it does.
        """
        gone = 0
        if self._database is not None:
            try:
                gone, left = await self._database.write(lambda conn: queries.drop(conn, condition, values))
            except MemoryFault:
                self._renewed = True
            else:
                if left:
                    return gone
                if not gone:
                    return 0
        await self._replace()
        return gone

    async def _attempt(self, call: Callable[[Database], Awaitable[T]], *, otherwise: T) -> T:
        if self._database is None:
            return otherwise
        try:
            return await call(self._database)
        except RoomDamaged:
            await self._renew()
        except (StorageFull, StorageBusy, RoomClosed):
            # A cache that cannot be written or read is empty.
            pass
        return otherwise

    async def _renew(self) -> None:
        self._renewed = True
        with suppress(StorageFull):
            await self._replace()

    async def _replace(self) -> None:
        """A new, empty file in place of the old one. Raises `StorageFull` when that cannot be removed."""
        await self.close()
        with translated_os():
            _remove(self._path)
        await self.open()

    def _connect(self) -> Connection:
        try:
            if connection.probe(self._path, self._key, form=_FORM) == SCHEMA_VERSION:
                return _settled(connection.open_file(self._path, self._key, journal="DELETE", form=_FORM))
            self._renewed = True
        except RoomMissing:
            pass
        except NotARoom:
            self._renewed = True
        make_private_folder(self._path.parent)
        with translated_os():
            _remove(self._path)
            conn = _settled(connection.create_file(self._path, self._key, form=_FORM))
        try:
            with translated(self._path):
                _create(conn)
        except BaseException:
            conn.close()
            raise
        return conn


def _settled(conn: Connection) -> Connection:
    # A commit that a loss of power undoes is one state less; a torn page is found by its checksum.
    conn.execute("PRAGMA synchronous = NORMAL")
    return conn


def _create(conn: Connection) -> None:
    conn.execute("PRAGMA auto_vacuum = INCREMENTAL")
    conn.execute("BEGIN IMMEDIATE")
    for statement in queries.SCHEMA:
        conn.execute(statement)
    conn.execute(f"PRAGMA user_version = {SCHEMA_VERSION:d}")
    conn.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
    conn.execute("COMMIT")


def _remove(path: Path) -> None:
    for suffix in ("", *_SIDE_FILES):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
