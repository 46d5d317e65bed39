"""Every folder and file that the program uses.

Nothing is ever written outside the home, except a file that the user names.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

ENV_HOME = "ATLAS_HOME"
_NOTHING_TO_WRITE_TO = {errno.EROFS, errno.ENOSPC, errno.EDQUOT}
PRIVATE_DIR = 0o700
PRIVATE_FILE = 0o600


@contextmanager
def nothing_to_write_to() -> Iterator[None]:
    """Skips writes that fail on a full or read-only file system: existing data can still be read."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NOTHING_TO_WRITE_TO:
            raise


class NoSuchHome(Exception):
    """The home's path begins with a user that does not exist."""


class Danger(StrEnum):
    """The reason why something in the home is unsafe.

    writable: others can write there; owner: it belongs to another user; link: a symbolic link, through which
    another file would be written; kind: neither a file nor a link (a pipe, a folder, a device).
    """

    WRITABLE = "writable"
    OWNER = "owner"
    LINK = "link"
    KIND = "kind"


class UnsafeHome(Exception):
    """Something in the home is not in the state in which this program creates it, and must not be used."""

    def __init__(self, path: Path, danger: Danger) -> None:
        super().__init__(danger)
        self.path = path
        self.danger = danger


@dataclass(frozen=True, slots=True)
class Paths:
    """The layout of a home."""

    home: Path

    @property
    def rooms(self) -> Path:
        return self.home / "rooms"

    @property
    def models(self) -> Path:
        return self.home / "models"

    @property
    def editing(self) -> Path:
        """The folder for a text that is open in an editor."""
        return self.home / "editing"

    @property
    def config(self) -> Path:
        return self.home / "config.toml"

    @property
    def exports(self) -> Path:
        """The folder for pictures and tables saved with a key press."""
        return self.home / "exports"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def cache(self) -> Path:
        return self.home / "cache"

    @property
    def temporary(self) -> Path:
        return self.cache / "tmp"

    @property
    def attempts(self) -> Path:
        """The file with the number of wrong passphrases and a time."""
        return self.cache / "attempts"

    @property
    def lock(self) -> Path:
        return self.home / "lock"

    def ensure(self) -> None:
        """Creates the folders, accessible to their owner only. Raises `UnsafeHome`, like `check`."""
        self.check()
        self.home.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
        for folder in (self.rooms, self.models, self.logs, self.cache, self.temporary):
            with nothing_to_write_to():
                folder.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)

    def check(self) -> None:
        """Checks existing folders and files before use; opens and changes none. Raises `UnsafeHome`."""
        if os.name == "nt":
            return
        for folder in (self.home, self.rooms, self.logs, self.cache, self.temporary):
            if folder.exists():
                _check_folder(folder)
        files = (self.lock, self.lock.with_suffix(".owner"), self.config, self.attempts)
        beside = self.home.glob(f"{self.rooms.name}.*")
        for file in (*files, *(one for one in beside if not one.is_dir()), *self.rooms.glob("*")):
            _check_file(file, link=file == self.config)


def _check_folder(folder: Path) -> None:
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise UnsafeHome(folder, Danger.OWNER)
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UnsafeHome(folder, Danger.WRITABLE)


def _check_file(file: Path, *, link: bool) -> None:
    """Raises `UnsafeHome`. `link`: the file may be a symbolic link."""
    try:
        found = file.stat() if link else file.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(found.st_mode):
        raise UnsafeHome(file, Danger.LINK)
    if not stat.S_ISREG(found.st_mode):
        raise UnsafeHome(file, Danger.KIND)


def find_home(given: str | None = None) -> Path:
    """Returns the home: `given`, otherwise ATLAS_HOME, otherwise the platform's data folder."""
    chosen = given or os.environ.get(ENV_HOME)
    if chosen:
        try:
            return Path(chosen).expanduser().absolute()
        except RuntimeError:
            raise NoSuchHome(chosen) from None
    from platformdirs import user_data_path

    return user_data_path("atlas-desktop", appauthor=False)
