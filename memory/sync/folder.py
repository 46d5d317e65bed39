"""The folder through which devices sync: each has a folder of its own in it, and writes nowhere else."""

import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memory.errors import SyncFolderMissing, SyncFolderUnusable
from memory.vault.files import open_regular, sync_folder

NAME = re.compile(r"[0-9a-f]{32}")
_DRAFT = re.compile(r"\.[0-9a-f]{32}\.tmp")
_OF_TOOLS = frozenset({".stfolder", ".stversions", ".stignore", ".DS_Store", "desktop.ini", "Thumbs.db"})
"""Files that copying tools and systems put into every folder."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What is in the folder: sizes of the files of each device's folder by name, and files of others."""

    places: dict[str, dict[str, int]]
    foreign: list[str]


class SyncFolder:
    """Reads and writes files below `path`. Raises `SyncFolderMissing`, `SyncFolderUnusable`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def path(self) -> Path:
        return self._path

    def check(self) -> None:
        if not self._path.is_dir():
            raise SyncFolderMissing(self._path)

    def make_place(self) -> str:
        """Makes a folder for a device; its name is random."""
        self.check()
        name = secrets.token_hex(16)
        try:
            (self._path / name).mkdir(mode=0o700)
        except OSError as error:
            raise SyncFolderUnusable(self._path, error.strerror or "") from error
        return name

    def look(self) -> Listing:
        self.check()
        places: dict[str, dict[str, int]] = {}
        foreign: list[str] = []
        try:
            for entry in os.scandir(self._path):
                if entry.name in _OF_TOOLS or _DRAFT.fullmatch(entry.name):
                    continue
                if NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                    places[entry.name] = self._list_place(entry.name, foreign)
                else:
                    foreign.append(entry.name)
        except OSError as error:
            raise SyncFolderUnusable(self._path, error.strerror or "") from error
        return Listing(places, sorted(foreign))

    def _list_place(self, place: str, foreign: list[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for entry in os.scandir(self._path / place):
            if entry.name in _OF_TOOLS or _DRAFT.fullmatch(entry.name):
                continue
            if NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                # A tool may remove a file while the folder is being listed.
                with suppress(FileNotFoundError):
                    found[entry.name] = entry.stat().st_size
            else:
                foreign.append(f"{place}/{entry.name}")
        return found

    def read(self, place: str, name: str) -> bytes | None:
        """Returns a file; None if there is none, or it cannot be read now."""
        try:
            with open_regular(self._path / place / name) as file:
                return file.read()
        except OSError:
            return None

    def has(self, place: str, name: str) -> bool:
        return (self._path / place / name).is_file()

    def write(self, place: str, name: str, data: bytes) -> None:
        """Writes a file so that it is there as a whole or not at all, also after a crash."""
        target = self._path / place
        draft = target / f".{secrets.token_hex(16)}.tmp"
        try:
            target.mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                draft.replace(target / name)
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
        except OSError as error:
            self.check()
            raise SyncFolderUnusable(self._path, error.strerror or "") from error
        sync_folder(target)

    def remove(self, place: str, name: str) -> None:
        """Removes a file of this device. One that is open elsewhere stays until the next time."""
        with suppress(OSError):
            (self._path / place / name).unlink(missing_ok=True)

    def remove_drafts(self, place: str) -> None:
        """Removes what a crash left of files of this device."""
        with suppress(OSError):
            for entry in os.scandir(self._path / place):
                if _DRAFT.fullmatch(entry.name):
                    self.remove(place, entry.name)

    def remove_place(self, place: str) -> None:
        """Removes the folder of this device with its files."""
        with suppress(OSError):
            for entry in os.scandir(self._path / place):
                self.remove(place, entry.name)
            (self._path / place).rmdir()
