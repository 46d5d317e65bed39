"""One program per home: two would overwrite each other's data, so the second is refused."""

from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from atlas_desktop.errors import AlreadyRunning
from atlas_desktop.paths import PRIVATE_FILE, Paths, nothing_to_write_to

WAIT_S = 3.0


class InstanceLock:
    """A lock held while a room may be open. The system frees it when the process ends, however it ends."""

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
            # Where the file cannot be made nobody holds it; where nothing can be written nobody does harm.
            with nothing_to_write_to():
                lock.acquire(timeout=self._wait_s, poll_interval=0.05)
        except Timeout:
            raise AlreadyRunning(self._holder()) from None
        self._lock = lock
        # Only tells others who holds the lock: a full disk must not prevent reading.
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
