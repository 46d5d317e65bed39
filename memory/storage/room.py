"""Opens rooms: returns a store for a file and a key, or for a room in memory."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from memory.clock import Clock
from memory.entities import Freshness, RoomKind
from memory.errors import FutureSchema, NotARoom, StorageFull
from memory.storage import connection, migrations, sync_capture
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.faults import translated
from memory.storage.freshness import CommitCount
from memory.storage.migrations import LATEST
from memory.storage.queries import jobs, messages
from memory.storage.reader import Reader
from memory.storage.store import Store
from memory.storage.upgrade import bring_up_to_date
from memory.vault.counter import counter_path
from memory.vault.files import make_private_folder, sync_folder, translated_os
from memory.vault.keys import RoomKey

_SIDE_FILES = ("-wal", "-shm", "-journal")


async def open_room(path: Path, key: RoomKey, room: RoomKind, clock: Clock, *, create: bool = False) -> Store:
    """Opens the room at `path` and migrates it; with `create`, makes it first when there is no file.

    Where nothing can be written it is opened read-only, if its schema is current, until there is space again.

    Raises `RoomMissing`, `NotARoom`, `FutureSchema` (all with no byte changed), `StorageFull`, `StorageBusy`.
    """
    count = CommitCount(path, room, key, clock)
    space = connection.IndexSpace(path)
    reader = Reader(
        lambda: (connection.open_alone if database.read_only else connection.open_file)(path, key)
    )

    def connect() -> Connection:
        if create and not path.exists():
            make_room_file(path, key, clock.now())
        found = connection.probe(path, key)
        if found > LATEST:
            raise FutureSchema(found, LATEST)
        if not connection.has_room_to_map(path):
            raise StorageFull("no room for the index of the log")
        conn = connection.open_file(path, key)
        try:
            space.take()
            with translated():
                _prepare(conn, count, lambda: bring_up_to_date(conn, path, key, clock.now()), clock)
        except BaseException:
            conn.close()
            space.release()
            raise
        # The reader's present connection does not see what is written from now on.
        reader.renew()
        return conn

    def connect_to_read() -> Connection:
        if connection.probe(path, key) != LATEST:
            raise StorageFull("no space to bring the room up to date")
        return connection.open_alone(path, key)

    database = await Database.open(connect, count.mark, to_read=connect_to_read, closed=space.release)
    freshness = Freshness.READ_ONLY if database.read_only else count.freshness
    return Store(database, room, clock, freshness=freshness, reader=reader)


async def open_off_record(clock: Clock) -> Store:
    """Opens a room in memory: nothing is ever written to disk, and closing it ends it."""

    def connect() -> Connection:
        conn = connection.open_memory()
        with translated():
            _prepare(conn, None, lambda: migrations.migrate(conn, clock.now()), clock)
        return conn

    return Store(await Database.open(connect), RoomKind.OFF_RECORD, clock)


def _prepare(
    conn: Connection, count: CommitCount | None, migrate: Callable[[], object], clock: Clock
) -> None:
    try:
        if count is not None:
            count.look_at_log(conn)
        migrate()
        if count is not None:
            count.look(conn)
        # What is written from here on has to be noted, if the room is synced.
        sync_capture.install(conn, clock)
        messages.settle_interrupted(conn)
        jobs.recover(conn)
    except BaseException:
        conn.close()
        raise


def make_room_file(path: Path, key: RoomKey, now: datetime) -> None:
    """Makes the file under another name and renames it, so that a crash leaves no half-made room behind.

    Raises `StorageFull`; then there is no room, and it can be made later.
    """
    draft = path.with_name(path.name + ".new")
    make_private_folder(path.parent)
    with translated_os():
        # A log or a counter without its database must never be taken for the new one's.
        _remove(*_side_files(path), draft, *_side_files(draft), counter_path(path))
        try:
            _fill(draft, key, now)
            draft.replace(path)
        except BaseException:
            _remove(draft, *_side_files(draft))
            raise
    sync_folder(path.parent)


def _fill(draft: Path, key: RoomKey, now: datetime) -> None:
    conn = connection.create_file(draft, key)
    with translated():
        try:
            migrations.migrate(conn, now)
        finally:
            conn.close()
    left = [file.name for file in _side_files(draft) if file.exists()]
    if left:
        raise StorageFull(f"{', '.join(left)} was left")
    try:
        found = connection.probe(draft, key)
    except NotARoom as fault:
        raise StorageFull(fault.detail) from fault
    if found != LATEST:
        raise StorageFull(f"schema {found} was kept, not {LATEST}")


def _side_files(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in _SIDE_FILES]


def _remove(*files: Path) -> None:
    for file in files:
        file.unlink(missing_ok=True)
