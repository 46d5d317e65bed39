"""Asynchronous database connections, each owned by a thread: one that writes, one that only reads."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from traceback import clear_frames
from typing import Any, Self, TypeVar

from memory.errors import MemoryFault, RoomClosed, RoomDamaged, RoomMoved, StorageFull
from memory.storage.connection import Connection, translated

T = TypeVar("T")
REST_EVERY_S = 60.0


class Database:
    """Runs plain functions of a connection, one after another, on the thread that owns it.

    A call that has returned is durable. Cancelling the await of a call does not cancel the call, which runs
    to its end: the waiting user cannot tell half a write from a lost one.
    """

    def __init__(
        self,
        connection: Connection,
        executor: Executor,
        at_rest: Callable[[Connection], None] | None = None,
        reopen: Callable[[], Connection] | None = None,
        closed: Callable[[], None] | None = None,
    ) -> None:
        self._when_closed = closed
        self._connection = connection
        self._reopen = reopen
        self._prepared: list[Callable[[Connection], object]] = []
        self._executor = executor
        self._at_rest = at_rest
        self._rested = time.monotonic()
        self._lock = threading.Lock()
        self._closed = False
        self._damaged = False
        self._erasures = 0
        self._files: dict[Path, tuple[int, int]] = {}

    @classmethod
    async def open(
        cls,
        connect: Callable[[], Connection],
        at_rest: Callable[[Connection], None] | None = None,
        *,
        to_read: Callable[[], Connection] | None = None,
        closed: Callable[[], None] | None = None,
    ) -> Self:
        """Opens the database. `connect` runs on the database's own thread; its errors are raised here.

        Where it raises `StorageFull` and `to_read` succeeds, the database is read-only until a write finds
        that `connect` works again.

        `at_rest` is called on that thread before the connection closes, and at most once a minute after a
        write has returned, so no caller waits for it. `closed` is called when the connection is closed.
        """
        executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="room")
        try:
            connection, reopen = await _settled(executor.submit(_connected, connect, to_read))
        except BaseException:
            executor.shutdown(wait=False)
            raise
        return cls(connection, executor, at_rest, reopen, closed)

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def read_only(self) -> bool:
        """Whether the room was opened where nothing can be written, and nothing has been written since."""
        return self._reopen is not None

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Returns the result of `work(connection)`, which sees one state of the database and must not change
        it: changes are rolled back and raise `RuntimeError`.

        Raises `RoomClosed`, `RoomDamaged`, `StorageBusy` and the errors of `work`.
        """
        return await self._run(lambda: self._reading(work))

    async def prepare(self, work: Callable[[Connection], object]) -> None:
        """Runs `work` once on the connection to add state of the connection, such as temporary tables; also
        works in a read-only database. A connection that replaces it is prepared in the same way."""
        await self._run(lambda: self._preparing(work))

    async def forget_prepared(self, work: Callable[[Connection], object]) -> None:
        """A connection that replaces the present one is no longer prepared with `work`."""
        await self._run(lambda: self._prepared.remove(work) if work in self._prepared else None)

    async def connected(self, work: Callable[[Connection], T]) -> T:
        """Returns the result of `work(connection)`, which changes only state of the connection."""

        def call() -> T:
            with self._faults():
                return work(self._connection)

        return await self._run(call)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Returns the result of `work(connection)`, after its changes are committed and durable.

        An exception in `work` rolls all of them back. Raises `RoomClosed`, `RoomMoved`, `RoomDamaged`,
        `StorageFull`, `StorageBusy` and the errors of `work`.
        """
        return await self._run(lambda: self._writing(work))

    async def erase(self, work: Callable[[Connection], T]) -> T:
        """Like `write`, for content that must be gone afterwards: also empties the write-ahead log, which
        contains older versions of the pages. An active reader keeps it; it is then emptied when the room
        closes."""
        self._erasures += 1
        try:
            return await self._run(lambda: self._erasing(work))
        finally:
            # Counted twice, so that what is read meanwhile counts as read before.
            self._erasures += 1

    @property
    def erasures(self) -> int:
        """A number that changes with each call of `erase`."""
        return self._erasures

    async def fold(self) -> None:
        """Moves the write-ahead log into the file and empties it, where space and other readers allow."""
        await self._run(self._folding)

    async def close(self) -> None:
        """Finishes the calls in progress, then closes. Later calls raise `RoomClosed`."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            pending = self._executor.submit(self._close)
        try:
            with translated():
                await _settled(pending)
        finally:
            self._executor.shutdown(wait=False)

    def _close(self) -> None:
        self._rest()
        self._connection.close()
        if self._when_closed is not None:
            self._when_closed()

    def _rest(self) -> None:
        self._rested = time.monotonic()
        if self._at_rest is not None:
            # A room that cannot be written, or is damaged, is closed all the same.
            with suppress(MemoryFault):
                self._at_rest(self._connection)

    def _rest_soon(self) -> None:
        if self._at_rest is None or time.monotonic() - self._rested < REST_EVERY_S:
            return
        with self._lock:
            if not self._closed:
                self._rested = time.monotonic()
                self._executor.submit(self._rest)

    async def _run(self, call: Callable[[], T]) -> T:
        with self._lock:
            if self._closed:
                raise RoomClosed
            pending = self._executor.submit(call)
        return await _settled(pending)

    def _reading(self, work: Callable[[Connection], T]) -> T:
        conn = self._connection
        with self._faults():
            before = conn.total_changes
            conn.execute("BEGIN")
            try:
                result = work(conn)
                # Not `PRAGMA query_only`: with it SQLite would prepare every statement again after each read.
                if conn.total_changes != before:
                    raise RuntimeError("a read has written")
                return result
            finally:
                if conn.in_transaction:
                    conn.execute("ROLLBACK")

    def _preparing(self, work: Callable[[Connection], object]) -> None:
        if work not in self._prepared:
            with self._faults():
                work(self._connection)
            self._prepared.append(work)

    def _writing(self, work: Callable[[Connection], T]) -> T:
        if self._reopen is not None:
            old, self._connection = self._connection, self._reopen()
            self._reopen = None
            old.close()
            for prepare in self._prepared:
                prepare(self._connection)
        conn = self._connection
        self._look_at_files()
        with self._faults():
            conn.execute("BEGIN IMMEDIATE")
            try:
                result = work(conn)
                conn.execute("COMMIT")
            except BaseException:
                # A full disk has already rolled the transaction back.
                if conn.in_transaction:
                    conn.execute("ROLLBACK")
                raise
        if not self._files:
            self._files = _files_of(conn)
        self._rest_soon()
        return result

    def _look_at_files(self) -> None:
        """Raises `RoomMoved` if the files were moved or removed: SQLite would continue to write to them
        silently.
        """
        for path, known in self._files.items():
            try:
                found = path.stat()
            except OSError as error:
                raise RoomMoved from error
            if (found.st_dev, found.st_ino) != known:
                raise RoomMoved

    def _erasing(self, work: Callable[[Connection], T]) -> T:
        result = self._writing(work)
        # The change has been made; a disk too full to move the log must not make it look undone.
        self._folding()
        return result

    def _folding(self) -> None:
        with suppress(MemoryFault), self._faults():
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            with translated():
                yield
        except RoomDamaged:
            self._damaged = True
            raise
        except StorageFull as fault:
            # After a failed page check SQLCipher refuses every write, so the disk is not to blame.
            if self._damaged:
                raise RoomDamaged(fault.detail) from fault
            raise


def _files_of(conn: Connection) -> dict[Path, tuple[int, int]]:
    """Returns the files that a connection writes to, with what identifies each; none for a database in
    memory."""
    name = next(file for _, schema, file in conn.execute("PRAGMA database_list") if schema == "main")
    paths = [Path(name), Path(f"{name}-wal")] if name else []
    found = [(path, path.stat()) for path in paths if path.exists()]
    return {path: (stat.st_dev, stat.st_ino) for path, stat in found}


def _connected(
    connect: Callable[[], Connection], to_read: Callable[[], Connection] | None
) -> tuple[Connection, Callable[[], Connection] | None]:
    try:
        return connect(), None
    except StorageFull as full:
        if to_read is None:
            raise
        try:
            return to_read(), connect
        except MemoryFault:
            raise full from None


async def _settled(pending: Future[T]) -> T:
    """Returns the result of `pending`, which runs to its end even when the caller is cancelled."""
    if pending.done():
        return pending.result()
    waiting = asyncio.wrap_future(pending)
    waiting.add_done_callback(_look_at)
    return await asyncio.shield(waiting)


def _look_at(done: "asyncio.Future[T]") -> None:
    """Marks an error as retrieved: after a cancellation nobody is left to receive it."""
    if not done.cancelled():
        done.exception()


_STEPS = 50_000
"""Steps of SQLite's virtual machine after which a search checks whether it was cancelled: some
milliseconds."""


class GivenUp(Exception):
    """Nobody is waiting for this search any longer."""


class Reader:
    """Runs functions that read, one after another. The connection is opened when first needed.

    When the await of one is cancelled, the function is interrupted and the next one begins.
    """

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="search")
        self._connection: Connection | None = None
        self._prepared: list[Callable[[Connection], object]] = []
        self._lock = threading.Lock()
        self._running: _Reading | None = None
        self._closed = False

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Returns the result of `work(connection)`, which sees one state of the database. Raises
        `RoomClosed`, `RoomDamaged`, `StorageBusy` and the errors of `work`."""
        reading = _Reading()
        with self._lock:
            if self._closed:
                raise RoomClosed
            pending = self._executor.submit(self._run, reading, work)
        try:
            return await asyncio.wrap_future(pending)
        except asyncio.CancelledError:
            self._give_up(reading)
            raise
        except GivenUp:
            raise RoomClosed from None

    async def prepare(self, work: Callable[[Connection], object]) -> None:
        """Runs `work` once on each connection before it is read from, to add state of the connection."""
        with self._lock:
            if self._closed:
                raise RoomClosed
            if work in self._prepared:
                return
            self._prepared.append(work)
            pending = self._executor.submit(self._close)
        await asyncio.shield(asyncio.wrap_future(pending))

    def renew(self) -> None:
        """Waits for calls in progress; later calls use a new connection. Call it from another thread."""
        with self._lock:
            if self._closed:
                return
            pending = self._executor.submit(self._close)
        pending.result()

    async def close(self) -> None:
        """Interrupts calls in progress. Later calls raise `RoomClosed`."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            running = self._running
            pending = self._executor.submit(self._close)
        if running is not None:
            self._give_up(running)
        await asyncio.shield(asyncio.wrap_future(pending))
        self._executor.shutdown(wait=False)

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _give_up(self, reading: "_Reading") -> None:
        with self._lock:
            reading.given_up = True
            # A late interrupt would end the next function.
            if self._running is reading and self._connection is not None:
                self._connection.interrupt()

    def _is_given_up(self) -> bool:
        return self._running is not None and self._running.given_up

    def _run(self, reading: "_Reading", work: Callable[[Connection], T]) -> T:
        with translated():
            if self._connection is None:
                self._connection = self._connect()
                for prepare in self._prepared:
                    prepare(self._connection)
                self._connection.execute("PRAGMA query_only = ON")
                # An interrupt just before a function begins has no effect, so this check is also needed.
                self._connection.set_progress_handler(self._is_given_up, _STEPS)
            conn = self._connection
            with self._lock:
                self._running = reading
            try:
                return self._reading(conn, reading, work)
            finally:
                with self._lock:
                    self._running = None
                # Not before: an interrupt of this function would leave the transaction open.
                if conn.in_transaction:
                    conn.execute("COMMIT")

    def _reading(self, conn: Connection, reading: "_Reading", work: Callable[[Connection], T]) -> T:
        watched = _Watched(conn, reading)
        watched.execute("BEGIN")
        try:
            return work(watched)
        except Exception as error:
            if reading.given_up:
                # An interrupt lasts until no statement is active. Those whose rows were not all read stay
                # active in the frames of the error, and would end the next function.
                clear_frames(error.__traceback__)
                raise GivenUp from None
            raise


class _Reading:
    """One function in progress."""

    given_up = False


class _Watched:
    """A connection that raises `GivenUp` once its caller no longer waits."""

    def __init__(self, conn: Connection, reading: _Reading) -> None:
        self._conn = conn
        self._reading = reading

    @property
    def in_transaction(self) -> bool:
        return self._conn.in_transaction

    @property
    def total_changes(self) -> int:
        return self._conn.total_changes

    def execute(self, sql: str, parameters: Any = (), /) -> Any:
        if self._reading.given_up:
            raise GivenUp
        return self._conn.execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> Any:
        return self._conn.executemany(sql, parameters)

    def create_function(self, name: str, narg: int, func: Any, /, *, deterministic: bool) -> None:
        self._conn.create_function(name, narg, func, deterministic=deterministic)

    def interrupt(self) -> None:
        self._conn.interrupt()

    def set_progress_handler(self, handler: Callable[[], bool] | None, n: int, /) -> None:
        self._conn.set_progress_handler(handler, n)

    def close(self) -> None:
        self._conn.close()
