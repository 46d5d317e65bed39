"""Reads a file from disk safely: regular files only, no links, within a size, unchanged meanwhile."""

import errno
import hashlib
import os
import stat
from pathlib import Path
from typing import Final, NamedTuple

from atlas_desktop.errors import DocumentRefused, Refusal
from atlas_desktop.services.cleaning import clean_line
from memory.documents.entities import FileFacts

MOST_BYTES: Final = 200_000_000

# Flags that a system does not have are 0. O_NONBLOCK: opening a FIFO without a writer would never return.
_SAFE: Final = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)
_FOLDER: Final = getattr(os, "O_DIRECTORY", 0)
CAN_WALK: Final = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
"""Whether this system opens files relative to an open folder. Windows does not."""

_REASONS: Final = {
    errno.ENOENT: Refusal.MISSING,
    errno.ELOOP: Refusal.NOT_A_FILE,
    errno.ENOTDIR: Refusal.NOT_A_FILE,
    errno.EISDIR: Refusal.NOT_A_FILE,
    errno.ENXIO: Refusal.NOT_A_FILE,
    errno.ENODEV: Refusal.NOT_A_FILE,
    errno.ESTALE: Refusal.CHANGED,
}


class FileContent(NamedTuple):
    """The bytes of a file, the facts that were true before and after reading, and SHA-256 as hex."""

    data: bytes
    facts: FileFacts
    sha256: str


def facts_of(path: str, state: os.stat_result) -> FileFacts:
    """Returns the facts of a file from its status."""
    return FileFacts(path, state.st_size, state.st_mtime_ns, state.st_dev, state.st_ino)


def read_file(path: Path, root: Path | None = None, limit: int = MOST_BYTES) -> FileContent:
    """Reads a regular file of at most `limit` bytes. Raises `DocumentRefused`.

    The file itself must not be a symbolic link. With `root`, the file must be below that folder, and no part
    of its path below `root` may be a link; `root` itself may be one. Blocks: call it in a thread.
    """
    name = clean_line(path.name) or "file"
    try:
        descriptor = _open(path, root)
    except OSError as error:
        raise DocumentRefused(name, _REASONS.get(error.errno or 0, Refusal.UNREADABLE)) from error
    except ValueError as error:
        # A null byte in the path, `..`, or a path outside the root.
        raise DocumentRefused(name, Refusal.NOT_A_FILE) from error
    try:
        return _read(descriptor, path, name, limit)
    except OSError as error:
        raise DocumentRefused(name, Refusal.UNREADABLE) from error
    finally:
        os.close(descriptor)


def _read(descriptor: int, path: Path, name: str, limit: int) -> FileContent:
    before = os.fstat(descriptor)
    if not stat.S_ISREG(before.st_mode):
        raise DocumentRefused(name, Refusal.NOT_A_FILE)
    if before.st_size > limit:
        raise DocumentRefused(name, Refusal.TOO_LARGE, limit)
    with os.fdopen(descriptor, "rb", buffering=0, closefd=False) as file:
        # One byte more than expected: a file that grows is noticed and never fills the memory.
        parts, left = [], before.st_size + 1
        while left and (part := file.read(left)):
            parts.append(part)
            left -= len(part)
    data = parts[0] if len(parts) == 1 else b"".join(parts)
    after = os.fstat(descriptor)
    facts = facts_of(str(path), before)
    if facts != facts_of(str(path), after) or len(data) != before.st_size:
        raise DocumentRefused(name, Refusal.CHANGED)
    return FileContent(data, facts, hashlib.sha256(data).hexdigest())


def open_folder(name: str | Path, parent: int | None = None, *, follow: bool = False) -> int:
    """Opens a folder, relative to the open folder `parent` if given. Raises `OSError`; for a link, too.

    With `follow`, a link to a folder is opened.
    """
    flags = (_SAFE | _FOLDER) & ~(getattr(os, "O_NOFOLLOW", 0) if follow else 0)
    return os.open(name, flags, dir_fd=parent)


def open_file(name: str | Path, parent: int | None = None) -> int:
    """Opens a regular file for reading, relative to the open folder `parent` if given.

    Raises `OSError` for anything else, without opening it: merely opening a device can start something.
    """
    expected = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if not stat.S_ISREG(expected.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    descriptor = os.open(name, _SAFE, dir_fd=parent)
    opened = os.fstat(descriptor)
    if (opened.st_dev, opened.st_ino) != (expected.st_dev, expected.st_ino):
        os.close(descriptor)
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
    return descriptor


def _open(path: Path, root: Path | None) -> int:
    if root is None:
        return open_file(path)
    parts = path.relative_to(root).parts
    if not parts or ".." in parts:
        raise ValueError("not a file below the root")
    if not CAN_WALK:
        for count in range(1, len(parts)):
            if _is_link(root.joinpath(*parts[:count]).lstat()):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        return open_file(path)
    folder = open_folder(root, follow=True)
    try:
        for part in parts[:-1]:
            inner = open_folder(part, folder)
            os.close(folder)
            folder = inner
        return open_file(parts[-1], folder)
    finally:
        os.close(folder)


def _is_link(state: os.stat_result) -> bool:
    """Whether a status is that of a symbolic link or, on Windows, of a junction."""
    junction = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)
    return stat.S_ISLNK(state.st_mode) or getattr(state, "st_reparse_tag", 0) == junction
