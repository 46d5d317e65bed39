"""Small files that survive a crash. They are written atomically, readable only by their owner, and shredded
on removal.
"""

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from memory.errors import StorageFull
from memory.kinds import RoomKind


@contextmanager
def translated_os() -> Iterator[None]:
    """Raises `StorageFull` when the system refuses to write (no space, read-only, no permission)."""
    try:
        yield
    except OSError as error:
        raise StorageFull(error.strerror or type(error).__name__) from error


def make_private_folder(folder: Path) -> None:
    """Creates the folder and its parents with mode 0700. Raises `StorageFull`."""
    with translated_os():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def open_regular(path: Path) -> BinaryIO:
    """Opens a file for reading. Raises OSError, also if it is not a regular file: reading a pipe could
    block."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file")
    return os.fdopen(descriptor, "rb")


def sync_folder(folder: Path) -> None:
    """Makes renames in the folder durable, if the file system can. Windows offers no such call.

    Errors are ignored. The rename has already happened and every reader sees the new file, so an error would
    report a completed change as not made. Some file systems cannot sync a folder at all.
    """
    if os.name == "nt":
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_durably(path: Path, data: bytes) -> None:
    """Replaces the file atomically with mode 0600; when this returns, the new content is on disk.

    Raises `StorageFull`; the old file is then unchanged. Nothing is raised once the new file is in place.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    with translated_os():
        _remove_drafts(path)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    sync_folder(path.parent)


def _remove_drafts(path: Path) -> None:
    """Removes drafts left by a crash: they contain wrapped keys of an older state."""
    for stale in path.parent.glob(f".{path.name}.*.tmp"):
        stale.unlink(missing_ok=True)


_STEP = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Shredded:
    """How many files were removed, how many bytes they had, and how many contained keys and were overwritten
    first.

    Files of the private room are not counted in `files` and `bytes`: their amount stays private.
    """

    files: int = 0
    bytes: int = 0
    keys: int = 0


def holds_keys(file: Path) -> bool:
    """Returns whether it is a keyslot file, a copy of one, or a draft of either."""
    return ".keys" in file.name


def shred_folder(folder: Path) -> Shredded:
    """Overwrites every keyslot file of a folder, then removes the folder, which need not exist.

    A file with other hard links is not overwritten: it is still in use there. Raises `OSError`.
    """
    if not folder.is_dir():
        return Shredded()
    files = [file for file in folder.rglob("*") if file.is_file() and not file.is_symlink()]
    keys = [file for file in files if holds_keys(file) and file.stat().st_nlink == 1]
    for file in keys:
        _overwrite(file)
    counted = [file for file in files if not file.name.startswith(RoomKind.PRIVATE)]
    found = Shredded(len(counted), sum(file.stat().st_size for file in counted), len(keys))
    shutil.rmtree(folder)
    sync_folder(folder.parent)
    return found


def shred_file(file: Path) -> Shredded:
    """Overwrites a file that contains keys among other things, then removes it. Raises `OSError`."""
    _overwrite(file)
    file.unlink()
    sync_folder(file.parent)
    return Shredded(keys=1)


def _overwrite(file: Path) -> None:
    """Overwrites the file with random bytes, durably.

    Disks that write elsewhere than requested (as flash memory does) may keep the old bytes for a while.
    """
    left = file.stat().st_size
    with file.open("r+b", buffering=0) as out:
        while left > 0:
            left -= out.write(secrets.token_bytes(min(left, _STEP))) or 0
        os.fsync(out.fileno())
