"""Replaces this process with a new one, so that nothing it held is in memory any more."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

LOCKED = "--locked"
DEMO = ("demo", "--and-back")


def can_relaunch() -> bool:
    """Returns whether a program can replace this one and keep its terminal.

    Windows starts another beside it.
    """
    return os.name == "posix" and bool(sys.executable)


def command(
    home: Path,
    *,
    off_record: bool = False,
    demo: bool = False,
    started: Sequence[str],
    arguments: Sequence[str],
) -> list[str]:
    """Returns the command that starts the program again, locked.

    It is as the program was started (`sys.orig_argv`), without its `arguments`. With `demo` the sample
    conversations come first, and the locked screen after them. It contains nothing from the rooms, not even
    which session was shown, which is stored in the room.
    """
    own = started[1 : len(started) - len(arguments)]
    if demo:
        return [sys.executable, *own, "--home", str(home), *DEMO]
    kept = ["--off-record"] if off_record else []
    return [sys.executable, *own, "--home", str(home), LOCKED, *kept]


def relaunch_locked(home: Path, *, off_record: bool) -> NoReturn:
    """Replaces this process, which keeps its id and its terminal. Other threads end where they are."""
    _become(command(home, off_record=off_record, started=sys.orig_argv, arguments=sys.argv[1:]))


def relaunch_demo(home: Path) -> NoReturn:
    """As `relaunch_locked`, with the sample conversations first and the locked screen after them."""
    _become(command(home, demo=True, started=sys.orig_argv, arguments=sys.argv[1:]))


def _become(argv: list[str]) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(argv[0], argv)  # noqa: S606 - this very program, without a shell
