"""Turns files into documents: reads them safely, parses and splits them, several at a time."""

import asyncio
import errno
import hashlib
import os
import stat
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from atlas_desktop.errors import DocumentRefused, Refusal
from atlas_desktop.parsing.client import DocumentParser
from atlas_desktop.parsing.protocol import media_type_of, parser_of
from atlas_desktop.services.cleaning import clean_line
from memory.documents.chunking import chunks
from memory.documents.entities import DocumentError, FileFacts, NewDocument

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
    """The bytes of a file, its facts, which were the same before and after reading, and SHA-256 as hex."""

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
        # One byte more than expected, so that a growing file is noticed and never fills the memory.
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
    """Opens a folder, relative to the open folder `parent` if given. Raises `OSError`, also for a link.

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


AT_A_TIME = 16
"""Files that are read and parsed at the same time."""
_HEAD = 4_096
PARTLY_PICTURES = "partly_pictures"


@dataclass(frozen=True, slots=True)
class Incoming:
    """A file to be read. `path` is as the user gave it; no link below `root` is followed. `document` is the
    id of the document that it replaces."""

    path: str
    location: Path
    root: Path | None = None
    document: str | None = None
    project: str | None = None
    folder: str | None = None
    copy: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that could not be opened, so none of its content is stored."""

    incoming: Incoming
    error: DocumentRefused


async def read_all(
    files: Sequence[Incoming], parser: DocumentParser
) -> AsyncIterator[tuple[Incoming, NewDocument | DocumentRefused]]:
    """Yields each file with its result, in order. A file that cannot be parsed is a document with an error;
    one that cannot be opened or is of no known format is refused."""
    running: list[asyncio.Task[NewDocument | DocumentRefused]] = []
    try:
        for at in range(len(files) + AT_A_TIME):
            if at < len(files):
                running.append(asyncio.create_task(_read_document(files[at], parser)))
            if at >= AT_A_TIME and running:
                yield files[at - AT_A_TIME], await running.pop(0)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _read_document(one: Incoming, parser: DocumentParser) -> NewDocument | DocumentRefused:
    try:
        content = await asyncio.to_thread(read_file, one.location, one.root)
        return await parsed(one, content, parser)
    except DocumentRefused as refused:
        return refused


async def parsed(one: Incoming, content: FileContent, parser: DocumentParser) -> NewDocument:
    """Returns what a file contains. Raises `DocumentRefused` if it is of no known format."""
    name = one.location.name
    media_type = media_type_of(name, content.data[:_HEAD])
    if media_type is None:
        raise DocumentRefused(name, Refusal.UNKNOWN_FORMAT)

    def document(title: str = "", **rest: object) -> NewDocument:
        return NewDocument(
            path=one.path,
            facts=content.facts,
            sha256=content.sha256,
            media_type=media_type,
            parser=parser_of(media_type),
            title=title or clean_line(name) or "file",
            project=one.project,
            folder=one.folder,
            content=content.data if one.copy else None,
            document=one.document,
            **rest,  # type: ignore[arg-type]
        )

    try:
        text = await parser.parse(content.data, name)
    except DocumentRefused as refused:
        return document(error=DocumentError(refused.reason.value, refused.limit))
    pieces = await asyncio.to_thread(chunks, text, media_type)
    error = DocumentError(PARTLY_PICTURES, len(text.blank_pages)) if text.blank_pages else None
    return document(text.title, parsed=text, chunks=tuple(pieces), error=error)
