"""Large files: copied and hashed in one pass with progress; a name appears only when all bytes are there."""

import contextlib
import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from models.errors import DownloadCancelled, NotEnoughDisk

Stage = Literal["download", "verify", "convert", "place"]


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` bytes of one stage; `total=None` when nobody can know it."""

    stage: Stage
    done: int
    total: int | None


Report = Callable[[Progress], None]
Cancelled = Callable[[], bool]


def silent(_progress: Progress) -> None:
    """Reports nothing."""


def never() -> bool:
    """Is never cancelled."""
    return False


CHUNK = 1 << 20
# What is left free on the disk besides the file itself, so that databases and logs can go on writing.
RESERVE = 64 << 20
_FINGERPRINT_BLOCKS = 64
_BLOCK = 64 * 1024


def private_folder(folder: Path) -> Path:
    """Creates `folder` and what is missing above it with mode 0700; returns it."""
    if not folder.is_dir():
        private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def open_private(path: Path, *, append: bool = False) -> BinaryIO:
    """Opens `path` for writing with mode 0600, from its start or at its end."""
    flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else os.O_TRUNC) | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, 0o600), "ab" if append else "wb")


def files_below(folder: Path) -> Iterator[tuple[Path, int]]:
    """Every file below `folder` with its size in bytes, while others write there.

    What goes away in the meantime is left out, and what cannot be looked at; `Path.rglob` would end with an
    error.
    """
    for at, _, names in os.walk(folder):
        for name in names:
            path = Path(at, name)
            try:
                size = path.stat().st_size
            except OSError:  # gone, a link in a circle, or (on Windows) on the point of being removed
                continue
            yield path, size


def sync(file: BinaryIO) -> None:
    """Returns when the file's bytes are on the disk."""
    file.flush()
    os.fsync(file.fileno())


def replace(source: Path, target: Path) -> None:
    """Renames `source` to `target` on the same file system, durably."""
    source.replace(target)
    if os.name == "posix":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_atomically(path: Path, text: str) -> None:
    """Replaces `path` by `text` (UTF-8), mode 0600: readers see the old or the new file, never a part."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open_private(part) as file:
            file.write(text.encode())
            sync(file)
        replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def require_space(folder: Path, needed: int) -> None:
    """Raises `NotEnoughDisk` unless `folder` has room for `needed` bytes and a reserve."""
    free = shutil.disk_usage(folder).free
    if needed + RESERVE > free:
        raise NotEnoughDisk(needed + RESERVE, free, folder)


def fingerprint(path: Path) -> str:
    """Hex SHA-256 over a file's size and 64 blocks spread evenly over it: milliseconds at any size."""
    size = path.stat().st_size
    digest = hashlib.sha256(size.to_bytes(8, "big"))
    with path.open("rb") as file:
        for n in range(_FINGERPRINT_BLOCKS):
            file.seek(n * max(0, size - _BLOCK) // (_FINGERPRINT_BLOCKS - 1))
            digest.update(file.read(_BLOCK))
    return digest.hexdigest()


def copy_hashed(
    source: BinaryIO,
    target: BinaryIO | None,
    *,
    stage: Stage,
    total: int | None,
    name: str,
    report: Report = silent,
    cancelled: Cancelled = never,
) -> tuple[int, str]:
    """Reads `source` to its end, into `target` if given; returns the byte count and the SHA-256 in hex.

    Raises `DownloadCancelled(name)` as soon as `cancelled()` is true.
    """
    digest = hashlib.sha256()
    done = 0
    report(Progress(stage, 0, total))
    while chunk := source.read(CHUNK):
        if cancelled():
            raise DownloadCancelled(name)
        digest.update(chunk)
        if target is not None:
            target.write(chunk)
        done += len(chunk)
        report(Progress(stage, done, total))
    return done, digest.hexdigest()


def sha256_of(path: Path, *, report: Report = silent, cancelled: Cancelled = never) -> str:
    """SHA-256 of a file in hex."""
    with path.open("rb") as file:
        total = os.fstat(file.fileno()).st_size
        _, digest = copy_hashed(
            file, None, stage="verify", total=total, name=path.name, report=report, cancelled=cancelled
        )
    return digest


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Holds the lock file `path` against other processes and other threads; waits for it."""
    with open_private(path, append=True) as file:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            if sys.platform == "win32":
                file.seek(0)
                msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
            else:
                fcntl.flock(file, fcntl.LOCK_UN)
