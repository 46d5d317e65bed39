"""A new process in place of this one, so that nothing of what this one held is in memory any more."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

LOCKED = "--locked"


def can_relaunch() -> bool:
    """Whether a program can take this one's place and keep its terminal. Windows starts another beside it."""
    return os.name == "posix" and bool(sys.executable)


def command(home: Path, *, off_record: bool, started: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """What starts the program anew, locked: as it was started (`sys.orig_argv`), without its `arguments`.

    Nothing of what is inside is in it: not even which conversation was shown, which is kept in the room.
    """
    own = started[1 : len(started) - len(arguments)]
    kept = ["--off-record"] if off_record else []
    return [sys.executable, *own, "--home", str(home), LOCKED, *kept]


def relaunch_locked(home: Path, *, off_record: bool) -> NoReturn:
    """Replaces this process, which keeps its id and its terminal. Other threads end where they are."""
    sys.stdout.flush()
    sys.stderr.flush()
    argv = command(home, off_record=off_record, started=sys.orig_argv, arguments=sys.argv[1:])
    os.execv(argv[0], argv)  # noqa: S606 - this very program, without a shell
