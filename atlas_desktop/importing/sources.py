"""Sources of exports: a file, a zip archive, or a folder; nothing is written or unpacked to disk.

An archive's directory is checked before anything is read: number of files, sizes, compression ratios. Links
in archives and folders are not followed.
"""

import io
import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, cast

from atlas_desktop.importing.entities import Meter, Unreadable
from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean_line

MOST_MEMBERS = 100_000
LARGEST_ARCHIVE = 16 * 1024**3
"""Maximum bytes read from one archive in total."""
HIGHEST_RATIO = 200
_SMALL = 1024 * 1024
READ = (".json", ".jsonl", ".md", ".markdown", ".txt", ".db", ".sqlite")
_MAGIC = b"PK\x03\x04"
_EMPTY = b"PK\x05\x06"
_UNIX = 3


@dataclass(frozen=True, slots=True)
class Part:
    """One file of an export.

    `name` is its path in the export, `where` is shown to users, `changed_at` is aware.
    """

    name: str
    where: str
    size: int
    changed_at: datetime
    meter: Meter
    open: Callable[[], BinaryIO]
    path: Path | None = None

    def head(self, length: int) -> bytes:
        """Returns the first `length` bytes, without counting them as read."""
        done = self.meter.done
        with self.open() as stream:
            data = stream.read(length)
        self.meter.done = done
        return data


@dataclass(slots=True)
class Source:
    """The files of an export, sorted by name, and the reasons for those that cannot be read."""

    name: str
    parts: list[Part]
    refused: list[tuple[str, str]]
    archive: zipfile.ZipFile | None = None

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def close(self) -> None:
        if self.archive is not None:
            self.archive.close()


class _Counted(io.RawIOBase):
    """A stream that reports the bytes read to a meter."""

    def __init__(self, stream: BinaryIO, meter: Meter) -> None:
        self._stream = stream
        self._meter = meter

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        try:
            data = self._stream.read(len(buffer))
        except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as fault:
            raise Unreadable(_why(fault)) from None
        except Exception as fault:
            # The decompressors' exceptions have no other common base class.
            if type(fault).__module__ in ("zlib", "bz2", "lzma", "_lzma"):
                raise Unreadable(_("the archive is damaged")) from None
            raise
        buffer[: len(data)] = data
        self._meter.done += len(data)
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


def _why(fault: Exception) -> str:
    if isinstance(fault, RuntimeError) and "encrypted" in str(fault):
        return _("it is encrypted")
    return _("the archive is damaged")


def open_source(path: Path, meter: Meter) -> Source:
    """Opens a file, archive or folder.

    Raises `OSError`, and `Unreadable` for anything else and for an archive that is refused as a whole.
    """
    name = clean_line(path.name)
    if path.is_dir():
        source = Source(name, [], [])
        for part in _in_folder(path, name, meter):
            source.parts.append(part)
        return source
    if path.exists() and not path.is_file():
        # Opening a pipe blocks until somebody writes to it, and a device has no end.
        raise Unreadable(_("it is not a file"))
    with path.open("rb") as file:
        magic = file.read(4)
    if magic in (_MAGIC, _EMPTY):
        return _archive(path, name, meter)
    return Source(name, [_file(path, path.name, name, meter)], [])


def _file(path: Path, name: str, where: str, meter: Meter) -> Part:
    known = path.stat()

    def read() -> BinaryIO:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) * (where != name))
        return _counted(os.fdopen(descriptor, "rb"), meter)

    return Part(name, where, known.st_size, datetime.fromtimestamp(known.st_mtime, UTC), meter, read, path)


def _counted(stream: BinaryIO, meter: Meter) -> BinaryIO:
    return cast("BinaryIO", io.BufferedReader(_Counted(stream, meter), 1 << 16))


def _in_folder(folder: Path, name: str, meter: Meter) -> Iterator[Part]:
    """Yields the regular files with a known ending in a folder and below it, by name."""
    for at, folders, files in os.walk(folder, followlinks=False):
        folders.sort()
        for file in sorted(files):
            path = Path(at) / file
            if path.suffix.lower() in READ and stat.S_ISREG(path.lstat().st_mode):
                inner = path.relative_to(folder).as_posix()
                yield _file(path, inner, f"{name}/{clean_line(inner)}", meter)


def _archive(path: Path, name: str, meter: Meter) -> Source:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, UnicodeDecodeError):
        raise Unreadable(_("the archive is damaged")) from None
    try:
        members = archive.infolist()
        if len(members) > MOST_MEMBERS:
            raise Unreadable(_("an archive with more than {most} files", most=MOST_MEMBERS))
        source = Source(name, [], [], archive)
        for member in sorted(members, key=lambda one: one.filename):
            if member.is_dir() or not member.filename.lower().endswith(READ):
                continue
            where = f"{name}/{clean_line(member.filename)}"
            why = _refused(member)
            if why is None:
                source.parts.append(_member(archive, member, where, meter))
            else:
                source.refused.append((where, why))
        if source.size > LARGEST_ARCHIVE:
            raise Unreadable(_("an archive larger than {most} bytes", most=LARGEST_ARCHIVE))
    except BaseException:
        archive.close()
        raise
    return source


def _refused(member: zipfile.ZipInfo) -> str | None:
    name = member.filename.replace("\\", "/")
    if name.startswith("/") or ".." in name.split("/") or name[1:2] == ":":
        return _("its path points outside the archive")
    if member.create_system == _UNIX and stat.S_ISLNK(member.external_attr >> 16):
        return _("it is a link")
    if member.flag_bits & 1:
        return _("it is encrypted")
    if member.file_size > _SMALL and member.file_size > HIGHEST_RATIO * max(member.compress_size, 1):
        return _("its compression is too high for a conversation")
    return None


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, where: str, meter: Meter) -> Part:
    def read() -> BinaryIO:
        try:
            return _counted(cast("BinaryIO", archive.open(member)), meter)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as fault:
            raise Unreadable(_why(fault)) from None

    try:
        changed = datetime(*member.date_time, tzinfo=UTC)
    except ValueError:
        changed = datetime(1980, 1, 1, tzinfo=UTC)
    return Part(member.filename, where, member.file_size, changed, meter, read)
