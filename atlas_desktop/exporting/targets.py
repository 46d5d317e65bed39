"""Export targets: a file, a folder, a stream, or an encrypted file.

A file or folder appears complete or not at all, is readable only by its owner, and replaces an existing one
only if requested.
"""

import contextlib
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

from atlas_desktop.errors import BadRecipient, TargetExists, TargetRefused
from atlas_desktop.locale import _
from atlas_desktop.paths import PRIVATE_DIR, PRIVATE_FILE


@dataclass(frozen=True, slots=True)
class Seal:
    """How an archive is encrypted: with a passphrase, or to a recipient (`age1…` or an SSH public key)."""

    passphrase: str | None = field(default=None, repr=False)
    recipient: str | None = None

    def check(self) -> None:
        """Checks the recipient. Raises `BadRecipient`."""
        if self.recipient is not None:
            _recipient(self.recipient)

    def close(self, data: bytes) -> bytes:
        """Returns the data as an age file (age-encryption.org/v1). Raises `BadRecipient`."""
        import pyrage  # type: ignore[import-untyped]

        if self.recipient is not None:
            return bytes(pyrage.encrypt(data, [_recipient(self.recipient)]))
        assert self.passphrase, "a passphrase or a recipient"
        return bytes(pyrage.passphrase.encrypt(data, self.passphrase))


def _recipient(text: str) -> object:
    import pyrage

    kind = pyrage.ssh if text.startswith("ssh-") else pyrage.x25519
    try:
        return kind.Recipient.from_str(text.strip())
    except (pyrage.RecipientError, ValueError) as error:
        raise BadRecipient from error


class Target(Protocol):
    """Receives files one after another; `finish` puts them in place, and without it nothing remains."""

    def add(self, name: str) -> BinaryIO:
        """Starts the next file; the previous one is complete."""
        ...

    def finish(self) -> tuple[Path, ...]:
        """Puts all files in place and returns their paths. Raises `TargetExists`, `TargetRefused`."""
        ...

    def abandon(self) -> None:
        """Removes everything that `finish` has not put in place."""
        ...


class StreamTarget:
    """Standard output, or another stream that the caller closes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def add(self, name: str) -> BinaryIO:  # noqa: ARG002 - a stream has no names
        return self._stream

    def finish(self) -> tuple[Path, ...]:
        self._stream.flush()
        return ()

    def abandon(self) -> None:
        """Does nothing: what was written cannot be taken back."""


class FileTarget:
    """One file at a path; further files are placed beside it, with their own name added."""

    def __init__(self, path: Path, *, force: bool = False) -> None:
        self._path = path
        self._force = force
        self._open: BinaryIO | None = None
        self._parts: list[tuple[Path, Path]] = []
        if not force and os.path.lexists(path):
            raise TargetExists(path)
        if path.is_dir():
            raise TargetRefused(path, _("it is a folder"))

    def add(self, name: str) -> BinaryIO:
        self._complete()
        stem = Path(name).stem
        path = self._path if not self._parts else self._path.with_stem(f"{self._path.stem}-{stem}")
        if not self._force and os.path.lexists(path):
            raise TargetExists(path)
        with _told(path):
            descriptor, part = tempfile.mkstemp(prefix=".atlas-", suffix=".part", dir=path.parent)
        self._parts.append((Path(part), path))
        self._open = os.fdopen(descriptor, "wb")
        return self._open

    def finish(self) -> tuple[Path, ...]:
        self._complete()
        placed = []
        while self._parts:
            part, path = self._parts[0]
            with _told(path):
                _place(part, path, force=self._force)
            placed.append(path)
            self._parts.pop(0)
        return tuple(placed)

    def abandon(self) -> None:
        if self._open is not None:
            # The file is discarded, so an error while closing it does not matter.
            with contextlib.suppress(OSError):
                self._open.close()
        self._open = None
        for part, _unused in self._parts:
            part.unlink(missing_ok=True)
        self._parts.clear()

    def _complete(self) -> None:
        if self._open is not None:
            _sync(self._open)
            self._open = None


class FolderTarget:
    """A folder of files, filled under another name beside its final place.

    An existing folder must be empty; with `force`, its files of the same names are replaced.
    """

    def __init__(self, path: Path, *, force: bool = False) -> None:
        self._path = path
        self._force = force
        self._names: list[str] = []
        self._open: BinaryIO | None = None
        if os.path.lexists(path) and not path.is_dir():
            raise TargetExists(path) if not force else TargetRefused(path, _("it is a file"))
        with _told(path):
            if not force and path.is_dir() and any(path.iterdir()):
                raise TargetExists(path)
            path.parent.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
            self._part = Path(tempfile.mkdtemp(prefix=".atlas-", suffix=".part", dir=path.parent))

    def add(self, name: str) -> BinaryIO:
        self._complete()
        path = self._part / name
        with _told(self._path / name):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        self._names.append(name)
        self._open = os.fdopen(descriptor, "wb")
        return self._open

    def finish(self) -> tuple[Path, ...]:
        self._complete()
        with _told(self._path):
            if self._path.is_dir() and any(self._path.iterdir()):
                for name in self._names:
                    _place(self._part / name, self._path / name, force=self._force)
                self._part.rmdir()
            else:
                if self._path.is_dir():
                    self._path.rmdir()
                self._part.rename(self._path)
        return tuple(self._path / name for name in self._names)

    def abandon(self) -> None:
        if self._open is not None:
            with contextlib.suppress(OSError):
                self._open.close()
        self._open = None
        shutil.rmtree(self._part, ignore_errors=True)

    def _complete(self) -> None:
        if self._open is not None:
            _sync(self._open)
            self._open = None


class SealedTarget:
    """One encrypted file: the bytes of a single document, or a tar archive of several.

    Everything is in memory until it is encrypted: nothing unencrypted touches the disk.
    """

    def __init__(self, inner: Target, seal: Seal) -> None:
        self._inner = inner
        self._seal = seal
        self._files: list[tuple[str, io.BytesIO]] = []
        try:
            seal.check()
        except BadRecipient:
            inner.abandon()
            raise

    def add(self, name: str) -> BinaryIO:
        self._files.append((name, io.BytesIO()))
        return self._files[-1][1]

    def finish(self) -> tuple[Path, ...]:
        data = self._files[0][1].getbuffer() if len(self._files) == 1 else _tar(self._files).getbuffer()
        self._inner.add("archive.age").write(self._seal.close(bytes(data)))
        return self._inner.finish()

    def abandon(self) -> None:
        self._files.clear()
        self._inner.abandon()


def _tar(files: list[tuple[str, io.BytesIO]]) -> io.BytesIO:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files:
            entry = tarfile.TarInfo(name)
            entry.size = content.tell()
            entry.mode = PRIVATE_FILE
            content.seek(0)
            archive.addfile(entry, content)
    return out


def _sync(file: BinaryIO) -> None:
    """Syncs a file to disk and closes it, so that it is complete before it gets its name."""
    with file:
        file.flush()
        os.fsync(file.fileno())


def _place(part: Path, path: Path, *, force: bool) -> None:
    if force:
        part.replace(path)
        return
    try:
        # Unlike a rename, a link never replaces a file that appeared in the meantime.
        os.link(part, path)
    except FileExistsError:
        raise TargetExists(path) from None
    except OSError:
        # Some file systems do not support links.
        if os.path.lexists(path):
            raise TargetExists(path) from None
        part.rename(path)
        return
    part.unlink()


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TargetRefused(path, error.strerror or type(error).__name__) from error
