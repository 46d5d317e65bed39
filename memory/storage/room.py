"""Opens rooms, and upgrades those of earlier schemas after making a checked copy."""

import struct
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlcipher3 import dbapi2 as sqlcipher

from memory.clock import Clock
from memory.entities import Freshness, RoomKind
from memory.errors import FutureSchema, NotARoom, RoomDamaged, StorageFull, UpgradeFailed
from memory.storage import changes, connection, migrations, verification
from memory.storage import jobs as jobs
from memory.storage.backup import remove_room_file
from memory.storage.connection import Connection, translated
from memory.storage.database import Database, Reader
from memory.storage.migrations import LATEST
from memory.storage.queries import sessions
from memory.storage.store import Store
from memory.vault.files import make_private_folder, sync_folder, translated_os
from memory.vault.keys import RoomKey
from memory.vault.status import CommitCounter, counter_path


def copy_of(path: Path) -> Path:
    """Returns the path of the copy during a migration."""
    return path.with_name(path.name + ".before")


def bring_up_to_date(conn: Connection, path: Path, key: RoomKey, now: datetime) -> bool:
    """Migrates the room if needed; returns whether that was necessary.

    Raises `UpgradeFailed` if the contents differ afterwards; the room is then restored. Raises `StorageFull`
    (the copy also needs space), `RoomDamaged`.
    """
    copy = copy_of(path)
    if migrations.version_of(conn) == LATEST:
        if copy.exists():
            # A previous run ended before the result was counted.
            _compare(conn, copy, key, _held(copy, key))
        return False
    _upgrade_remove(copy)
    try:
        counted = _copied(conn, copy, key)
        migrations.migrate(conn, now)
    except StorageFull:
        _upgrade_remove(copy)
        raise
    _compare(conn, copy, key, counted)
    give_back(conn)
    return True


def _held(copy: Path, key: RoomKey) -> tuple[int, int] | None:
    """Returns the counts of a copy left behind; None if it contains nothing that can be read."""
    try:
        read = connection.open_to_read(copy, key)
    except NotARoom:
        return None
    try:
        with translated():
            return verification.counts(read)
    except RoomDamaged:
        return None
    finally:
        read.close()


def _compare(conn: Connection, copy: Path, key: RoomKey, counted: tuple[int, int] | None) -> None:
    """Restores the room from the copy if their counts differ, then removes the copy."""
    found = verification.counts(conn)
    failed = counted is not None and counted != found
    if failed:
        _put_back(conn, copy, key)
    _upgrade_remove(copy)
    if failed:
        assert counted is not None
        raise UpgradeFailed(counted, found)


def _put_back(conn: Any, copy: Path, key: RoomKey) -> None:
    """Restores the room in one transaction: if killed in between, the copy is still there for the next
    opening."""
    source: Any = connection.open_to_read(copy, key)
    try:
        source.backup(conn)
    except sqlcipher.Error as error:
        raise StorageFull(str(error)) from error
    finally:
        source.close()


def _copied(conn: Any, copy: Path, key: RoomKey) -> tuple[int, int]:
    """Makes the copy and reads every page of it; returns how many sessions and messages it contains."""
    made: Any = connection.create_file(copy, key)
    try:
        conn.backup(made)
    except sqlcipher.Error as error:
        # The error has no code, and does not show which of the two is to blame.
        with translated():
            damaged = verification.pages(conn)
        raise (RoomDamaged(damaged[0]) if damaged else StorageFull(str(error))) from error
    finally:
        made.close()
    read = connection.open_to_read(copy, key)
    with translated():
        try:
            problems = verification.structure(read)
            counted = verification.counts(read)
        finally:
            read.close()
    if problems:
        raise RoomDamaged(problems[0])
    return counted


def _upgrade_remove(copy: Path) -> None:
    with translated_os():
        remove_room_file(copy)


_FREE_SHARE = 0.25
_FEWEST_PAGES = 256
_MOST_PAGES = 65_536
"""SQLite rebuilds the room in memory; in a larger one the free pages are left for later writes."""


def give_back(conn: Connection) -> bool:
    """Shrinks the file to its contents, if a good part of it is free; returns whether it did.

    If killed in between, or without the disk space for it, the file is unchanged.
    """
    pages = int(conn.execute("PRAGMA page_count").fetchone()[0])
    free = int(conn.execute("PRAGMA freelist_count").fetchone()[0])
    if not _FEWEST_PAGES <= pages <= _MOST_PAGES or free < pages * _FREE_SHARE:
        return False
    with suppress(StorageFull), translated():
        conn.execute("VACUUM")
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return True
    return False


_MARK = "commits"


class CommitCount:
    """The count of one open room. Called on the thread that owns its connection."""

    def __init__(self, path: Path, room: RoomKind, key: RoomKey, clock: Clock) -> None:
        self._path = path
        self._counter = CommitCounter(path, room, key)
        self._clock = clock
        self._changes = 0
        self.freshness = Freshness.CURRENT

    def look_at_log(self, conn: Connection) -> None:
        """Looks for lost commits in the log. Call it before anything is written."""
        if lost_commits(conn, self._path):
            self.freshness = Freshness.ROLLED_BACK

    def look(self, conn: Connection) -> None:
        """Compares the room with its counter; an older room is reported once and then accepted."""
        inside, outside = _mark_of(conn), self._counter.read()
        if outside.count is not None and outside.count > inside:
            self.freshness = Freshness.ROLLED_BACK
        elif self.freshness is Freshness.CURRENT and outside.count is None and (inside or outside.present):
            self.freshness = Freshness.UNKNOWN
        if self.freshness is not Freshness.CURRENT:
            try:
                self._write(conn, max(inside, outside.count or 0) + 1, notice=True)
            except StorageFull:
                # Reported again next time, once there is space to record that it was reported.
                return
        self._changes = conn.total_changes

    def mark(self, conn: Connection) -> None:
        """Increases the count, if anything was written since. Raises `StorageFull`."""
        if conn.total_changes != self._changes:
            self._write(conn, max(_mark_of(conn), self._counter.read().count or 0) + 1)
            self._changes = conn.total_changes

    def _write(self, conn: Connection, count: int, *, notice: bool = False) -> None:
        with translated():
            conn.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (_MARK, str(count)))
        self._counter.write(count, noticed_at=self._clock.now() if notice else None)


def start_counting(conn: Connection, path: Path, room: RoomKind, key: RoomKey) -> None:
    """Sets the counter to the room's count, after an older room was put in place on purpose."""
    CommitCounter(path, room, key).write(_mark_of(conn))


def _mark_of(conn: Connection) -> int:
    with translated():
        row = conn.execute("SELECT value FROM meta WHERE key = ?", (_MARK,)).fetchone()
    return int(row[0]) if row is not None and str(row[0]).isdigit() else 0


_HEAD = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_MAGIC = 0x377F0682


def lost_commits(conn: Connection, path: Path) -> bool:
    """Returns whether finished commits in the log of the database at `path` cannot be reached.

    Use a connection that has not written yet. Frames of an earlier use of the log do not count.
    """
    with translated(path):
        used = int(conn.execute("PRAGMA wal_checkpoint(NOOP)").fetchone()[1])
        page = int(conn.execute("PRAGMA page_size").fetchone()[0])
    try:
        with path.with_name(path.name + "-wal").open("rb") as log:
            head = log.read(_HEAD.size)
            if len(head) < _HEAD.size:
                return False
            at = _HEAD.size + max(used, 0) * (_FRAME.size + page)
            log.seek(at)
            while len(frame := log.read(_FRAME.size)) == _FRAME.size:
                if _is_commit(frame, head):
                    return len(log.read(page)) == page
                log.seek(page, 1)
    except FileNotFoundError:
        return False
    return False


def _is_commit(frame: bytes, head: bytes) -> bool:
    """Returns whether a frame ends a commit of the present use of the log."""
    _, size, *salts, _, _ = _FRAME.unpack(frame)
    present = _HEAD.unpack(head)[4:6]
    # One of the two salts may be damaged. If the head is, there is no evidence against a frame.
    return size != 0 and (any(a == b for a, b in zip(salts, present, strict=True)) or not _is_sound(head))


def _is_sound(head: bytes) -> bool:
    magic, *_, first, second = _HEAD.unpack(head)
    words = struct.unpack("<6I" if magic == _MAGIC else ">6I", head[:24])
    one = two = 0
    for a, b in zip(words[::2], words[1::2], strict=True):
        one = (one + a + two) & 0xFFFFFFFF
        two = (two + b + one) & 0xFFFFFFFF
    return (one, two) == (first, second)


_SIDE_FILES = ("-wal", "-shm", "-journal")


async def open_room(path: Path, key: RoomKey, room: RoomKind, clock: Clock, *, create: bool = False) -> Store:
    """Opens the room at `path` and migrates it; with `create`, makes it first when there is no file.

    Where nothing can be written it is opened read-only, if its schema is current, until there is space again.

    Raises `RoomMissing`, `NotARoom`, `FutureSchema` (all with no byte changed), `StorageFull`, `StorageBusy`.
    """
    count = CommitCount(path, room, key, clock)
    space = connection.IndexSpace(path)
    interrupted: list[str] = []
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
                found_open = _prepare(
                    conn, count, lambda: bring_up_to_date(conn, path, key, clock.now()), clock
                )
                if found_open is not None:
                    interrupted.append(found_open)
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
    return Store(
        database,
        room,
        clock,
        freshness=freshness,
        reader=reader,
        interrupted=interrupted[0] if interrupted else None,
    )


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
) -> str | None:
    """Returns the session of the newest reply that a crash cut off."""
    try:
        if count is not None:
            count.look_at_log(conn)
        migrate()
        if count is not None:
            count.look(conn)
        # Later changes have to be recorded, if the room is synced.
        changes.install(conn, clock)
        interrupted = sessions.settle_interrupted(conn)
        jobs.recover(conn)
    except BaseException:
        conn.close()
        raise
    return interrupted


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
