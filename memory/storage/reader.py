"""A second, read-only connection to a room on a separate thread, so that writes never wait for a search."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from traceback import clear_frames
from typing import Any, TypeVar

from memory.errors import RoomClosed
from memory.storage.connection import Connection, translated

T = TypeVar("T")
_STEPS = 50_000
"""Steps of SQLite's virtual machine after which a search checks whether it was cancelled: some
milliseconds."""


class GivenUp(Exception):
    """Nobody waits for this search any more."""


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
                # An interrupt just before a function begins has no effect, so this check is needed too.
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
                # An interrupt lasts until no statement is active any more. Those whose rows were not all read
                # stay active in the frames of the error, and would end the next function.
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
