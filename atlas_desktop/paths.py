"""Every folder the program touches.

Nothing is ever written outside the home, except a file that a person names.
"""

import os
from dataclasses import dataclass
from pathlib import Path

ENV_HOME = "ATLAS_HOME"
PRIVATE_DIR = 0o700
PRIVATE_FILE = 0o600


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
        for folder in (self.home, self.rooms, self.models, self.logs, self.cache, self.temporary):
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
