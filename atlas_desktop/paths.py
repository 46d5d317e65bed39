"""Every folder the program touches.

Nothing is ever written outside the home, except a file that a person names.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ENV_HOME = "ATLAS_HOME"
_NOTHING_TO_WRITE_TO = {errno.EROFS, errno.ENOSPC, errno.EDQUOT}
PRIVATE_DIR = 0o700
PRIVATE_FILE = 0o600


@contextmanager
def nothing_to_write_to() -> Iterator[None]:
    """What cannot be made on a full disk or a file system that cannot be written to is done without: what is
    there can be read all the same."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NOTHING_TO_WRITE_TO:
            raise


class NoSuchHome(Exception):
    """The home's path begins with a user that does not exist."""


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
    def config(self) -> Path:
        return self.home / "config.toml"

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
        """How often a wrong passphrase was given: a count and a time."""
        return self.cache / "attempts"

    @property
    def lock(self) -> Path:
        return self.home / "lock"

    def ensure(self) -> None:
        """Creates the folders, readable by their owner alone."""
        self.home.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
        for folder in (self.rooms, self.models, self.logs, self.cache, self.temporary):
            with nothing_to_write_to():
                folder.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)


def find_home(given: str | None = None) -> Path:
    """The home: `given`, else ATLAS_HOME, else the platform's data folder."""
    chosen = given or os.environ.get(ENV_HOME)
    if chosen:
        try:
            return Path(chosen).expanduser().absolute()
        except RuntimeError:
            raise NoSuchHome(chosen) from None
    from platformdirs import user_data_path

    return user_data_path("atlas-desktop", appauthor=False)
