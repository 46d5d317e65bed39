"""Files that go for good: first the keys, so that what is left of the rest can be read by nobody."""

import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from memory.kinds import RoomKind
from memory.vault.files import sync_folder

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
