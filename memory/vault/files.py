"""Small files that survive a crash: written whole, readable by their owner alone, and shredded."""

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
    """Raises `StorageFull` in place of the system's refusal to write (no space, read-only, no permission)."""
    try:
        yield
    except OSError as error:
        raise StorageFull(error.strerror or type(error).__name__) from error


def make_private_folder(folder: Path) -> None:
    """Creates the folder, and what is above it, with mode 0700. Raises `StorageFull`."""
    with translated_os():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def open_regular(path: Path) -> BinaryIO:
    """Opens a file to read it. Raises OSError, also for what is none: a pipe would be waited for."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file")
    return os.fdopen(descriptor, "rb")


def sync_folder(folder: Path) -> None:
    """Makes renames in the folder durable, as far as the file system can. Windows offers no such call.

    It is called when a rename has happened already: every reader sees the new file, and to report a failure
    would say of a change in force that it was not made. Some file systems cannot sync a folder at all.
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
    """Replaces the file in one step with mode 0600; when this returns the new content is on the disk.

    Raises `StorageFull`; the old file is then as it was. Nothing is raised once the new one has its place.
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
    """Drafts that a crash left behind hold wrapped keys of an older state."""
    for stale in path.parent.glob(f".{path.name}.*.tmp"):
        stale.unlink(missing_ok=True)


_STEP = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Shredded:
    """How many files went, how many bytes they had, and how many held keys and were overwritten first.

    Files of the private room are not among `files` and `bytes`: how much there was in it is nobody's
    business.
    """

    files: int = 0
    bytes: int = 0
    keys: int = 0


def holds_keys(file: Path) -> bool:
    """Keyslot files, their copies, and drafts of either."""
    return ".keys" in file.name


def shred_folder(folder: Path) -> Shredded:
    """Overwrites every keyslot file of a folder, then removes the folder. One that is not there is fine.

    A file with other names elsewhere is not overwritten: it is still in use there. Raises `OSError`.
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
    """Overwrites a file that holds keys among other things, then removes it. Raises `OSError`."""
    _overwrite(file)
    file.unlink()
    sync_folder(file.parent)
    return Shredded(keys=1)


def _overwrite(file: Path) -> None:
    """Random bytes in place of the file's own, on the disk before this returns.

    Disks that write elsewhere than they are told (flash memory does) may keep the old ones for a while.
    """
    left = file.stat().st_size
    with file.open("r+b", buffering=0) as out:
        while left > 0:
            left -= out.write(secrets.token_bytes(min(left, _STEP))) or 0
        os.fsync(out.fileno())
