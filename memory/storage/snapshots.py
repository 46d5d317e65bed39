"""Stores the model's states in a separate encrypted file, next to the room's and with its key.

States are large and can be made again. Kept apart, they delay no message, and the room's file and its copies
stay small.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from memory.context.entities import SnapshotInfo
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
from memory.storage.connection import APPLICATION_ID, Connection, pack_tokens, translated, unpack_tokens
from memory.storage.database import Database
from memory.vault.files import make_private_folder, translated_os
from memory.vault.keys import RoomKey
from models.messages import ModelState

DEFAULT_LIMIT = 512 * 1024 * 1024
# No room's schema will ever have this number: any other file of this name belongs to something else.
SCHEMA_VERSION = 1001
# Large pages suit large values, and processors compute this authenticator in hardware: together they more
# than halve the time to read a state.
_FORM = ("cipher_page_size = 65536", "cipher_hmac_algorithm = HMAC_SHA256")
_SIDE_FILES = ("-wal", "-shm", "-journal")
T = TypeVar("T")


async def open_snapshots(path: Path, key: RoomKey, *, limit: int = DEFAULT_LIMIT) -> "SnapshotStore":
    """Opens the store at `path`, or makes a new one when none can be used; `limit` is in bytes of states.

    Never fails: if no file can be made, nothing is stored.
    """
    store = SnapshotStore(path, key, limit)
    await store.open()
    return store


class SnapshotStore:
    """States by session and model: a cache, of which any entry may be missing at any time.

    With a full disk, a damaged file or a closed store, nothing is stored or found, without an error. Rooms
    that must not persist have no such store.
    """

    def __init__(self, path: Path, key: RoomKey, limit: int) -> None:
        self._path = path
        self._key = key
        self._limit = limit
        self._database: Database | None = None
        self._renewed = False
        # When states were used; written at the next change, so that a read costs no write.
        self._used: list[tuple[str, str]] = []

    @property
    def renewed(self) -> bool:
        """Whether the existing store could not be used, and was replaced."""
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
        """Stores a state in place of the session's older one for this model; returns True when it is stored.

        A stored state that already continues these tokens stays. The least recently used states make room.
        """
        if state.size > self._limit:
            return False
        used, self._used = self._used, []

        def work(conn: Connection) -> bool:
            for pair in used:
                touch(conn, *pair)
            put(conn, session_id, state, self._limit)
            return True

        return await self._attempt(lambda database: database.write(work), otherwise=False)

    async def find(self, session_id: str, model: str) -> SnapshotInfo | None:
        """Returns the session's state for a model fingerprint."""
        return await self._attempt(
            lambda database: database.read(lambda conn: find(conn, session_id, model)), otherwise=None
        )

    async def load(self, info: SnapshotInfo) -> ModelState | None:
        """Returns the state itself; None when it no longer exists."""
        self._used.append((info.session_id, info.model))
        return await self._attempt(
            lambda database: database.read(lambda conn: load(conn, info)), otherwise=None
        )

    async def drop_session(self, session_id: str) -> int:
        """Removes all states of a session; when this returns they are no longer on disk. Returns how many."""
        return await self._drop("session_id = ?", session_id)

    async def drop_other_models(self, model: str) -> int:
        """Removes the states of every model but this one."""
        return await self._drop("model <> ?", model)

    async def drop_all(self) -> int:
        return await self._drop("TRUE")

    async def verify(self) -> tuple[str, ...]:
        """Returns the faults of the file; none if it is sound. Reads everything."""
        return await self._attempt(lambda database: database.read(problems), otherwise=())

    async def _drop(self, condition: str, *values: str) -> int:
        """Removes states, if need be with the whole file.

        A file that would become empty is replaced: that takes no time, while emptying it does.
        """
        gone = 0
        if self._database is not None:
            try:
                gone, left = await self._database.write(lambda conn: drop(conn, condition, values))
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
            # A cache that cannot be written or read counts as empty.
            pass
        return otherwise

    async def _renew(self) -> None:
        self._renewed = True
        with suppress(StorageFull):
            await self._replace()

    async def _replace(self) -> None:
        """Replaces the file by a new, empty one. Raises `StorageFull` when the old one cannot be removed."""
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
    # A commit lost in a power failure costs one state; a torn page is found by its checksum.
    conn.execute("PRAGMA synchronous = NORMAL")
    return conn


def _create(conn: Connection) -> None:
    conn.execute("PRAGMA auto_vacuum = INCREMENTAL")
    conn.execute("BEGIN IMMEDIATE")
    for statement in SCHEMA:
        conn.execute(statement)
    conn.execute(f"PRAGMA user_version = {SCHEMA_VERSION:d}")
    conn.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
    conn.execute("COMMIT")


def _remove(path: Path) -> None:
    for suffix in ("", *_SIDE_FILES):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


SCHEMA = (
    """CREATE TABLE snapshots (
        id INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL,
        model TEXT NOT NULL,
        prefix_hash TEXT NOT NULL,
        tokens BLOB NOT NULL,
        size INTEGER NOT NULL,
        sha256 TEXT NOT NULL,
        used INTEGER NOT NULL,
        UNIQUE (session_id, model)
    ) STRICT""",
    """CREATE TABLE chunks (
        snapshot_id INTEGER NOT NULL REFERENCES snapshots (id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (snapshot_id, number)
    ) STRICT""",
)


def touch(conn: Connection, session_id: str, model: str) -> None:
    conn.execute(
        "UPDATE snapshots SET used = (SELECT max(used) + 1 FROM snapshots)"
        " WHERE session_id = ? AND model = ?",
        (session_id, model),
    )


def find(conn: Connection, session_id: str, model: str) -> SnapshotInfo | None:
    row = conn.execute(
        "SELECT prefix_hash, size, tokens FROM snapshots WHERE session_id = ? AND model = ?",
        (session_id, model),
    ).fetchone()
    if row is None:
        return None
    tokens = unpack_tokens(row[2])
    return SnapshotInfo(session_id, model, row[0], len(tokens), row[1], tokens)


def load(conn: Connection, info: SnapshotInfo) -> ModelState | None:
    row = conn.execute(
        "SELECT id, sha256 FROM snapshots WHERE session_id = ? AND model = ? AND prefix_hash = ?",
        (info.session_id, info.model, info.prefix_hash),
    ).fetchone()
    if row is None:
        return None
    chunks = conn.execute("SELECT data FROM chunks WHERE snapshot_id = ? ORDER BY number", (row[0],))
    return ModelState(info.model, info.tokens, tuple(data for (data,) in chunks), row[1])


def put(conn: Connection, session_id: str, state: ModelState, limit: int) -> None:
    stored = find(conn, session_id, state.model)
    if stored is not None and stored.tokens[: len(state.tokens)] == state.tokens:
        touch(conn, session_id, state.model)
        return
    conn.execute("DELETE FROM snapshots WHERE session_id = ? AND model = ?", (session_id, state.model))
    total = conn.execute("SELECT coalesce(sum(size), 0) FROM snapshots").fetchone()[0] + state.size
    for number, size in conn.execute("SELECT id, size FROM snapshots ORDER BY used").fetchall():
        if total <= limit:
            break
        conn.execute("DELETE FROM snapshots WHERE id = ?", (number,))
        total -= size
    (number,) = conn.execute(
        "INSERT INTO snapshots (session_id, model, prefix_hash, tokens, size, sha256, used)"
        " VALUES (?, ?, ?, ?, ?, ?, (SELECT coalesce(max(used), 0) + 1 FROM snapshots)) RETURNING id",
        (
            session_id,
            state.model,
            state.prefix_hash,
            pack_tokens(state.tokens),
            state.size,
            state.sha256,
        ),
    ).fetchone()
    conn.executemany(
        "INSERT INTO chunks (snapshot_id, number, data) VALUES (?, ?, ?)",
        ((number, n, chunk) for n, chunk in enumerate(state.chunks)),
    )
    _shrink(conn)


def drop(conn: Connection, condition: str, values: tuple[str, ...]) -> tuple[int, int]:
    """Deletes states unless that would be all of them; returns how many match, and how many others there
    are."""
    total = conn.execute("SELECT count(*) FROM snapshots").fetchone()[0]
    where = f"FROM snapshots WHERE {condition}"  # a constant of this module
    gone = conn.execute(f"SELECT count(*) {where}", values).fetchone()[0]
    if 0 < gone < total:
        conn.execute(f"DELETE {where}", values)
        _shrink(conn)
    return gone, total - gone


def _shrink(conn: Connection) -> None:
    """Returns unused space of the file to the disk."""
    conn.execute("PRAGMA incremental_vacuum").fetchall()


def problems(conn: Connection) -> tuple[str, ...]:
    found = [f"page check: {row[0]}" for row in conn.execute("PRAGMA cipher_integrity_check")]
    found += [str(row[0]) for row in conn.execute("PRAGMA integrity_check") if row[0] != "ok"]
    odd = conn.execute(
        "SELECT count(*) FROM snapshots AS s WHERE size <>"
        " (SELECT coalesce(sum(length(data)), 0) FROM chunks WHERE snapshot_id = s.id)"
    ).fetchone()[0]
    return (*found, *([f"{odd} incomplete states"] if odd else []))
