"""Watches folders and reports changed files in batches."""

import asyncio
import logging
import os
import stat
import sys
import threading
import time
import warnings
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

import psutil
from watchdog import events
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch
from watchdog.observers.polling import PollingObserverVFS

from atlas_desktop.services.documents.reading import facts_of
from atlas_desktop.services.documents.scanning import IGNORE_FILES
from memory.documents.entities import FileFacts
from memory.jobs.foreground_gate import Power

Changes = frozenset[Path] | None
"""Paths of files and folders that changed, or None: scan everything."""

SETTLED_AFTER_S: Final = 1.0
_POLL_S: Final = 5.0
_STOP_S: Final = 10.0
_CHECK_ROOTS_S: Final = 2.0
_MOST_PATHS: Final = 20_000
# File systems on which changes by other computers cause no events on this one.
_NETWORK: Final = frozenset({"9p", "afpfs", "afs", "ceph", "cifs", "davfs", "drvfs", "glusterfs", "lustre"})
_NETWORK_STARTS: Final = ("nfs", "smb", "fuse.", "webdav")
# Excludes the events that reading a file causes; otherwise each read would cause the next.
_EVENTS: Final[list[type[events.FileSystemEvent]]] = [
    events.FileCreatedEvent,
    events.FileModifiedEvent,
    events.FileMovedEvent,
    events.FileDeletedEvent,
    events.FileClosedEvent,
    events.DirCreatedEvent,
    events.DirMovedEvent,
    events.DirDeletedEvent,
]


def settled(before: FileFacts | None, after: FileFacts, now_ns: int) -> bool:
    """Whether a file is complete: not written for a second, or unchanged between two looks.

    `before` are its facts at the look before, None at the first one; `now_ns` is the time of `after`. A file
    whose time lies in the future needs two looks.
    """
    if before is not None and (before.size, before.modified_ns) == (after.size, after.modified_ns):
        return True
    return after.modified_ns <= now_ns - int(SETTLED_AFTER_S * 1e9)


def has_events(path: Path) -> bool:
    """Whether the system reports all changes in a folder. It does not for network folders."""
    try:
        mounts = {Path(part.mountpoint): part.fstype.lower() for part in psutil.disk_partitions(all=True)}
    except OSError:
        return True
    kind = next((mounts[parent] for parent in (path, *path.parents) if parent in mounts), "")
    return kind not in _NETWORK and not kind.startswith(_NETWORK_STARTS)


class FolderWatcher:
    """Calls `on_change` in the event loop with what changed below `roots`.

    A batch is delivered when nothing has happened for `quiet` seconds, or at the latest `longest` seconds
    after its first change. Files that are still being written come in a later batch. None means that anything
    may have changed: at the start, when events were lost, when a root vanished or came back, and every
    `full_every` seconds. Hidden files are left out, but a changed ignore file is reported as its folder. A
    folder in a batch means that anything in it may have changed.

    Where the system does not report changes, the folders are scanned every few seconds.
    """

    def __init__(
        self,
        roots: Iterable[Path],
        on_change: Callable[[Changes], None],
        *,
        quiet: float = 0.5,
        longest: float = 3.0,
        full_every: float = 300.0,
    ) -> None:
        self._roots = tuple(root.absolute() for root in roots)
        self._on_change = on_change
        self._full_every = full_every
        self._batch = _Batch(quiet, longest)
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()

    async def start(self) -> None:
        """Starts to watch. No change from then on is missed. A missing root raises nothing."""
        loop = asyncio.get_running_loop()
        self._ended.clear()
        watches = _Watches(self._roots, self._batch)
        try:
            await asyncio.to_thread(watches.check)
        except BaseException:
            watches.stop()
            raise
        self._batch.add_everything()
        self._thread = threading.Thread(
            target=self._run, args=(watches, loop), name="folder-watcher", daemon=True
        )
        self._thread.start()

    async def stop(self) -> None:
        """Stops watching. When it returns, no more changes are reported and all threads have ended.

        A thread that waits for a disk that does not answer is left behind after some seconds.
        """
        thread, self._thread = self._thread, None
        self._ended.set()
        if thread is not None:
            self._batch.wake()
            await asyncio.to_thread(thread.join, _STOP_S)

    def _run(self, watches: "_Watches", loop: asyncio.AbstractEventLoop) -> None:
        try:
            next_full = time.monotonic() + self._full_every
            while True:
                changes = self._batch.take(min(_CHECK_ROOTS_S, self._full_every))
                if self._ended.is_set() or loop.is_closed():
                    break
                if changes is None or changes:
                    loop.call_soon_threadsafe(self._deliver, changes)
                watches.check()
                if time.monotonic() >= next_full:
                    next_full = time.monotonic() + self._full_every
                    self._batch.add_everything()
        finally:
            watches.stop()

    def _deliver(self, changes: Changes) -> None:
        if not self._ended.is_set():
            self._on_change(changes)


class _Batch:
    """Changes that wait to be reported, filled by the threads of watchdog."""

    def __init__(self, quiet: float, longest: float) -> None:
        self._quiet = quiet
        self._longest = longest
        self._changed = threading.Condition()
        # Each path with its facts at the last look.
        self._paths: dict[Path, FileFacts | None] = {}
        self._everything = False
        self._first = self._last = 0.0
        self._woken = False

    def add(self, path: Path) -> None:
        """Adds a changed path."""
        with self._changed:
            self._arrived()
            if not self._everything:
                self._paths.setdefault(path, None)
                if len(self._paths) > _MOST_PATHS:
                    self._all()

    def add_everything(self) -> None:
        """Records that anything may have changed."""
        with self._changed:
            self._arrived()
            self._all()

    def wake(self) -> None:
        """Ends the current or the next `take`."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def take(self, patience: float) -> Changes:
        """Waits for a batch, for up to `patience` seconds; empty if none came. Only for one thread at a
        time."""
        end = time.monotonic() + patience
        with self._changed:
            while not self._woken and (now := time.monotonic()) < (until := min(self._due(), end)):
                self._changed.wait(until - now)
            if self._woken or time.monotonic() < self._due():
                self._woken = False
                return frozenset()
            if self._everything:
                self._everything = False
                return None
            looks, self._paths = self._paths, {}
        return self._settled(looks)

    def _due(self) -> float:
        """When the batch is complete; never, if it is empty."""
        if not self._waiting:
            return float("inf")
        return min(self._last + self._quiet, self._first + self._longest)

    def _settled(self, looks: dict[Path, FileFacts | None]) -> frozenset[Path]:
        done, growing = set(), {}
        for path, before in looks.items():
            facts = _facts(path)
            if facts is None or settled(before, facts, time.time_ns()):
                done.add(path)
            else:
                growing[path] = facts
        with self._changed:
            if growing and not self._everything:
                self._arrived()
                self._paths = {path: growing.get(path) for path in (*self._paths, *growing)}
        return frozenset(done)

    @property
    def _waiting(self) -> bool:
        return self._everything or bool(self._paths)

    def _all(self) -> None:
        self._everything = True
        self._paths.clear()

    def _arrived(self) -> None:
        self._last = time.monotonic()
        if not self._waiting:
            self._first = self._last
        self._changed.notify_all()


def _facts(path: Path) -> FileFacts | None:
    """The facts of a regular file; None if the change can be reported at once, because the file is gone or is
    not a regular file."""
    try:
        state = path.lstat()
    except (OSError, ValueError):
        return None
    return facts_of(str(path), state) if stat.S_ISREG(state.st_mode) else None


class _Watches:
    """The watches of all roots. Used by one thread at a time."""

    def __init__(self, roots: tuple[Path, ...], batch: _Batch) -> None:
        self._roots = roots
        self._batch = batch
        self._native: BaseObserver | None = None
        self._polling: BaseObserver | None = None
        # An observer's own threads. Without them it is silent.
        self._threads: dict[BaseObserver, list[threading.Thread]] = {}
        # For each watched root: its folder (device and inode), its observer and its watch.
        self._watched: dict[Path, tuple[tuple[int, int], BaseObserver, ObservedWatch]] = {}
        # Watchdog reports lost events only in its log (seen in version 7.1). The listener also keeps these
        # messages, which have paths in them, off the terminal.
        self._log = _LogListener(batch.add_everything)
        logging.getLogger("watchdog").addHandler(self._log)
        # When a folder that was just created is moved, it logs a harmless warning with all watched paths.
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="watchdog")

    def check(self) -> None:
        """Watches new roots, and drops those that have gone or are a different folder now."""
        for observer, threads in list(self._threads.items()):
            if not all(thread.is_alive() for thread in threads):
                self._discard(observer)
                self._batch.add_everything()
        for root in self._roots:
            identity = _identity(root)
            if root in self._watched and not self._still_watched(root, identity):
                _, observer, watch = self._watched.pop(root)
                observer.unschedule(watch)
                self._batch.add_everything()
            if root not in self._watched and identity is not None and self._watch(root, identity):
                self._batch.add_everything()

    def stop(self) -> None:
        """Ends all threads."""
        logging.getLogger("watchdog").removeHandler(self._log)
        for observer in list(self._threads):
            self._discard(observer)

    def _discard(self, observer: BaseObserver) -> None:
        """Ends an observer and forgets what it watched."""
        self._watched = {
            root: watched for root, watched in self._watched.items() if watched[1] is not observer
        }
        del self._threads[observer]
        if observer is self._native:
            self._native = None
        else:
            self._polling = None
        observer.stop()
        observer.join()

    def _still_watched(self, root: Path, identity: tuple[int, int] | None) -> bool:
        before, observer, watch = self._watched[root]
        # A deleted folder ends its emitter. A new one in its place can have the same inode.
        alive = any(emitter.watch == watch and emitter.is_alive() for emitter in observer.emitters)
        return alive and before == identity

    def _watch(self, root: Path, identity: tuple[int, int]) -> bool:
        observers = (self._native_observer, self._polling_observer)
        for observer_of in observers if has_events(root.resolve()) else observers[1:]:
            try:
                observer = observer_of()
                watch = self._schedule(observer, root)
            except OSError:
                # A limit of the system is reached, or the folder vanished: then the next check tries again.
                continue
            self._watched[root] = identity, observer, watch
            return True
        return False

    def _native_observer(self) -> BaseObserver:
        if self._native is None:
            self._native = self._started(Observer)
        return self._native

    def _polling_observer(self) -> BaseObserver:
        if self._polling is None:
            # lstat, so that links are not followed.
            self._polling = self._started(
                lambda: PollingObserverVFS(os.lstat, os.scandir, polling_interval=_POLL_S)
            )
        return self._polling

    def _started(self, make: Callable[[], BaseObserver]) -> BaseObserver:
        before = set(threading.enumerate())
        observer = make()
        observer.start()
        self._threads[observer] = [
            thread
            for thread in threading.enumerate()
            if thread not in before and type(thread).__module__.startswith("watchdog.")
        ]
        return observer

    def _schedule(self, observer: BaseObserver, root: Path) -> ObservedWatch:
        # Links are not followed, but the root may be one.
        real = root.resolve()
        handler = _Handler(root, real, self._batch.add)
        watch = observer.schedule(handler, str(real), recursive=True, event_filter=_EVENTS)
        if observer is self._native and sys.platform == "linux" and not _has_room(observer):
            observer.unschedule(watch)
            raise OSError("the limit of watches is reached")
        return watch


def _has_room(observer: BaseObserver) -> bool:
    """Whether the system lets one more folder be watched.

    When its limit is reached within a root, watchdog silently watches only a part. (When it is reached later,
    by new folders, the next full scan finds their changes.)
    """
    try:
        probe = observer.schedule(
            events.FileSystemEventHandler(), os.sep, recursive=False, event_filter=[events.DirDeletedEvent]
        )
    except OSError:
        return False
    observer.unschedule(probe)
    return True


class _Handler(events.FileSystemEventHandler):
    """Passes on the paths of events, with `root` in place of `real`, the folder that it is."""

    def __init__(self, root: Path, real: Path, add: Callable[[Path], None]) -> None:
        self._root = root
        self._real = real
        self._add = add

    def on_any_event(self, event: events.FileSystemEvent) -> None:
        for given in (event.src_path, event.dest_path):
            changed = Path(os.fsdecode(given))
            if given and changed.is_relative_to(self._real):
                path = _told_as(changed.relative_to(self._real))
                if path is not None:
                    self._add(self._root / path)


def _told_as(path: Path) -> Path | None:
    """The path to report for a changed path below a root: None for hidden files, the folder for ignore
    files."""
    if path.name in IGNORE_FILES:
        path = path.parent
    return None if any(part.startswith(".") for part in path.parts) else path


def _identity(root: Path) -> tuple[int, int] | None:
    try:
        state = root.stat()
    except OSError:
        return None
    return (state.st_dev, state.st_ino) if stat.S_ISDIR(state.st_mode) else None


class _LogListener(logging.Handler):
    """Calls a function at each warning."""

    def __init__(self, warned: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._warned = warned

    def emit(self, _record: logging.LogRecord) -> None:
        self._warned()


_LOOK_S: Final = 5.0
"""Seconds between two looks at single files."""
_LOOK_REST: Final = 50
"""After a look, a pause of at least so many times its duration: many files are looked at less often."""


class FileFollower:
    """Calls `look` every few seconds, for files in folders that are not watched. On battery it waits.

    `look` returns None if nothing has changed. If that takes long, because there are many files, it is called
    less often.
    """

    def __init__(self, look: Callable[[], Awaitable[object]], power: Power | None) -> None:
        self._look = look
        self._power = power
        self._task: asyncio.Task[None] | None = None

    def start(self, on_fault: Callable[[BaseException], None]) -> None:
        """Starts looking. `on_fault` gets the error that ends it."""
        if self._task is None:
            self._task = asyncio.create_task(self._follow(), name="single files")
            self._task.add_done_callback(
                lambda task: on_fault(error) if not task.cancelled() and (error := task.exception()) else None
            )

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _follow(self) -> None:
        while True:
            pause, began = _LOOK_S, time.monotonic()
            if (self._power is None or not self._power.on_battery()) and await self._look() is None:
                pause = max(pause, _LOOK_REST * (time.monotonic() - began))
            await asyncio.sleep(pause)


_ON_BATTERY_S: Final = 60.0
"""Seconds between checks whether the computer is on mains power."""


class Located(Protocol):
    """A folder, by its absolute path."""

    @property
    def location(self) -> str: ...


Folder = TypeVar("Folder", bound=Located)


class FolderFollower(Generic[Folder]):
    """Watches the folders of one room and scans those in which something has changed.

    Everything is scanned at the start. On battery nothing is scanned, unless `power` is None; the scans are
    made up for on mains power.
    """

    def __init__(
        self,
        folders: Callable[[], Awaitable[Sequence[Folder]]],
        rescan: Callable[[Folder, frozenset[str]], Awaitable[object]],
        power: Power | None,
    ) -> None:
        """`rescan` scans a folder; the absolute paths passed to it were reported as changed, and are read
        even if they look the same."""
        self._folders = folders
        self._rescan = rescan
        self._power = power
        self._watcher: FolderWatcher | None = None
        self._task: asyncio.Task[None] | None = None
        self._on_fault: Callable[[BaseException], None] | None = None
        self._waiting: list[Changes] = []
        self._wake = asyncio.Event()

    def start(self, on_fault: Callable[[BaseException], None]) -> None:
        """Starts following the folders. `on_fault` gets the error that ends it."""
        if self._task is None:
            self._on_fault = on_fault
            self._task = asyncio.create_task(self._follow(), name="watched folders")
            self._task.add_done_callback(self._ended)

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def restart(self) -> None:
        """Starts again with the folders that are watched now, if it was following."""
        if self._task is not None and self._on_fault is not None:
            on_fault = self._on_fault
            await self.stop()
            self.start(on_fault)

    async def _follow(self) -> None:
        folders = await self._folders()
        if not folders:
            return
        self._waiting, self._wake = [], asyncio.Event()
        watcher = FolderWatcher([Path(one.location) for one in folders], self._changed)
        await watcher.start()
        try:
            while True:
                await self._wake.wait()
                if self._power is not None and self._power.on_battery():
                    await asyncio.sleep(_ON_BATTERY_S)
                    continue
                self._wake.clear()
                changes, self._waiting = self._waiting, []
                for folder in folders:
                    touched = _touched(folder, changes)
                    if touched is not None:
                        await self._rescan(folder, touched)
        finally:
            await watcher.stop()

    def _changed(self, changes: Changes) -> None:
        self._waiting.append(changes)
        self._wake.set()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) and self._on_fault is not None:
            self._on_fault(error)


def _touched(folder: Located, changes: Sequence[Changes]) -> frozenset[str] | None:
    """Returns which files of the folder were reported as changed; None if there is no reason to scan it."""
    root = Path(folder.location)
    below = {path for one in changes if one is not None for path in one if path.is_relative_to(root)}
    if below or None in changes:
        return frozenset(map(str, below))
    return None
