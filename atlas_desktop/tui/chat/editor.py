"""Opens what is typed in the user's own editor."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

_NAME = "message.md"


class NoEditor(Exception):
    """No editor is set, or it cannot be started; `command` is its name, empty if none is set."""

    def __init__(self, command: str = "") -> None:
        super().__init__(command)
        self.command = command


def editor_of(environ: Mapping[str, str]) -> list[str]:
    """Returns the command of the editor. Raises `NoEditor`."""
    for name in ("VISUAL", "EDITOR"):
        if said := environ.get(name, "").strip():
            try:
                command = shlex.split(said)
            except ValueError:
                raise NoEditor(said) from None
            if command and shutil.which(command[0]):
                return command
            raise NoEditor(said)
    raise NoEditor


def edited(
    text: str, folder: Path, command: list[str], suspended: Callable[[], AbstractContextManager[None]]
) -> str:
    """Returns the text as the editor leaves it. Blocks until the editor ends.

    The text is in a file of `folder` that only the user can read, and is overwritten and removed afterwards.
    Raises OSError, and what `suspended` raises.
    """
    clear_leftovers(folder)
    folder.mkdir(mode=0o700)
    try:
        path = folder / _NAME
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        with suspended():
            subprocess.run([*command, str(path)], check=False)
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else text
    finally:
        clear_leftovers(folder)


def clear_leftovers(folder: Path) -> None:
    """Overwrites and removes what an editor, or a program that was killed, has left in the folder."""
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if path.is_file() and not path.is_symlink():
            with path.open("r+b") as file:
                file.write(b"\0" * path.stat().st_size)
                file.flush()
                os.fsync(file.fileno())
    shutil.rmtree(folder)
