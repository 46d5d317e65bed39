"""File operations for models: hashed copies with progress, private files, atomic replacement, locks.

A file gets its final name only when all of its bytes are there.
"""

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
    """`done` of `total` bytes (`convert`: tensors) of one stage; `total` is None when it is unknown."""

    stage: Stage
    done: int
    total: int | None


Report = Callable[[Progress], None]
Cancelled = Callable[[], bool]


def silent(_progress: Progress) -> None:
    """Ignores progress."""


def never() -> bool:
    """Never cancels."""
    return False


CHUNK = 1 << 20
# Bytes that must stay free in addition to the file itself, so that databases and logs can still be written.
RESERVE = 64 << 20
_FINGERPRINT_BLOCKS = 64
_BLOCK = 64 * 1024


def private_folder(folder: Path) -> Path:
    """Creates `folder` and its missing parents with mode 0700; returns `folder`."""
    if not folder.is_dir():
        private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def open_private(path: Path, *, append: bool = False) -> BinaryIO:
    """Opens `path` for writing, truncated or at its end (`append`); creates it with mode 0600."""
    flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else os.O_TRUNC) | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, 0o600), "ab" if append else "wb")


def files_below(folder: Path) -> Iterator[tuple[Path, int]]:
    """Every file below `folder` with its size in bytes, while others write there.

    Files that disappear meanwhile or cannot be examined are left out, where `Path.rglob` would raise.
    """
    for at, _, names in os.walk(folder):
        for name in names:
            path = Path(at, name)
            try:
                size = path.stat().st_size
            except OSError:  # deleted, a link loop, or (on Windows) about to be deleted
                continue
            yield path, size


def sync(file: BinaryIO) -> None:
    """Returns when the file's bytes are on disk."""
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
    """Replaces `path` with `text` (UTF-8, mode 0600), durably.

    Readers see the old or the new file, never a part of one.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open_private(part) as file:
            file.write(text.encode())
            sync(file)
        replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def require_space(folder: Path, needed: int) -> None:
    """Raises `NotEnoughDisk` unless `folder` has room for `needed` bytes and `RESERVE`."""
    free = shutil.disk_usage(folder).free
    if needed + RESERVE > free:
        raise NotEnoughDisk(needed + RESERVE, free, folder)


def fingerprint(path: Path) -> str:
    """Hex SHA-256 of a file's size and 64 evenly spread blocks; takes milliseconds at any size."""
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
    """Reads `source` to its end, writing to `target` if given; returns the byte count and hex SHA-256.

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
    """Hex SHA-256 of a file."""
    with path.open("rb") as file:
        total = os.fstat(file.fileno()).st_size
        _, digest = copy_hashed(
            file, None, stage="verify", total=total, name=path.name, report=report, cancelled=cancelled
        )
    return digest


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Locks the file `path` against other processes and threads; waits for the lock."""
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
