"""The process itself: hardening, one program per home, a new process when locking."""

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from atlas_desktop.errors import AlreadyRunning
from atlas_desktop.paths import PRIVATE_DIR, PRIVATE_FILE, Paths, nothing_to_write_to

_PR_SET_DUMPABLE = 4


def harden() -> None:
    """Makes new files accessible to their owner only, and prevents core dumps of memory on disk."""
    os.umask(0o077)
    _open_what_is_closed()
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        import ctypes

        # Also keeps other processes of the same user from reading this one's memory.
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _open_what_is_closed() -> None:
    """Opens a standard input, output or error that is closed, as an empty one.

    Otherwise a room's file would be opened under that number, and anything printed would be written to it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        if getattr(sys, name) is None:
            stream = open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


def use_private_temporary_folder(paths: Paths) -> None:
    """Keeps temporary files of this process and its children inside the home; removes those of processes that
    have ended."""
    folder = paths.temporary / str(os.getpid())
    for old in paths.temporary.glob("*"):
        if old.name.isdigit() and not _runs(int(old.name)):
            shutil.rmtree(old, ignore_errors=True)
    # Without the folder, temporary files are refused, because they must never be anywhere else.
    with nothing_to_write_to():
        folder.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
    for name in ("TMPDIR", "TEMP", "TMP"):
        os.environ[name] = str(folder)
    tempfile.tempdir = str(folder)


def remove_private_temporary_folder(paths: Paths) -> None:
    shutil.rmtree(paths.temporary / str(os.getpid()), ignore_errors=True)


def _runs(pid: int) -> bool:
    import psutil

    return psutil.pid_exists(pid)


WAIT_S = 3.0


class InstanceLock:
    """A lock held while a room may be open. The system releases it however the process ends."""

    def __init__(self, paths: Paths, *, wait_s: float = WAIT_S) -> None:
        self._path = paths.lock
        self._wait_s = wait_s
        self._lock: object | None = None

    @property
    def _owner(self) -> Path:
        return self._path.with_suffix(".owner")

    def __enter__(self) -> Self:
        """Waits up to `wait_s` seconds for an instance that is just ending. Raises `AlreadyRunning`."""
        import os

        from filelock import FileLock, Timeout

        lock = FileLock(self._path, mode=0o600, thread_local=False)
        try:
            # If the file cannot be made, no process holds it; if nothing can be written, no process does
            # harm.
            with nothing_to_write_to():
                lock.acquire(timeout=self._wait_s, poll_interval=0.05)
        except Timeout:
            raise AlreadyRunning(self._holder()) from None
        self._lock = lock
        # This only shows others who holds the lock; a full disk must not prevent reading.
        with suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
            with os.fdopen(os.open(self._owner, flags, PRIVATE_FILE), "w", encoding="ascii") as out:
                out.write(str(os.getpid()))
        return self

    def _holder(self) -> int | None:
        try:
            return int(self._owner.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from filelock import FileLock

        if isinstance(self._lock, FileLock):
            with nothing_to_write_to():
                self._owner.unlink(missing_ok=True)
            self._lock.release()
            self._lock = None


LOCKED = "--locked"
DEMO = ("demo", "--and-back")


def can_relaunch() -> bool:
    """Returns whether a program can replace this one and keep its terminal.

    Windows starts a second process instead.
    """
    return os.name == "posix" and bool(sys.executable)


def command(
    home: Path,
    *,
    off_record: bool = False,
    demo: bool = False,
    started: Sequence[str],
    arguments: Sequence[str],
) -> list[str]:
    """Returns the command that starts the program again, locked.

    It is the command with which the program was started (`sys.orig_argv`), without its `arguments`. With
    `demo` the sample conversations come first, and the locked screen after them. It contains nothing from the
    rooms, not even the session that was shown, which is stored in the room.
    """
    own = started[1 : len(started) - len(arguments)]
    if demo:
        return [sys.executable, *own, "--home", str(home), *DEMO]
    kept = ["--off-record"] if off_record else []
    return [sys.executable, *own, "--home", str(home), LOCKED, *kept]


def relaunch_locked(home: Path, *, off_record: bool) -> NoReturn:
    """Replaces this process, which keeps its id and its terminal. Other threads end immediately."""
    _become(command(home, off_record=off_record, started=sys.orig_argv, arguments=sys.argv[1:]))


def relaunch_demo(home: Path) -> NoReturn:
    """Like `relaunch_locked`, with the sample conversations first and the locked screen after them."""
    _become(command(home, demo=True, started=sys.orig_argv, arguments=sys.argv[1:]))


def _become(argv: list[str]) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(argv[0], argv)  # noqa: S606 - this very program, without a shell
