"""A new process in place of this one, so that nothing of what this one held is in memory any more."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

LOCKED = "--locked"
DEMO = ("demo", "--and-back")


def can_relaunch() -> bool:
    """Whether a program can take this one's place and keep its terminal. Windows starts another beside it."""
    return os.name == "posix" and bool(sys.executable)


def command(
    home: Path,
    *,
    off_record: bool = False,
    demo: bool = False,
    started: Sequence[str],
    arguments: Sequence[str],
) -> list[str]:
    """What starts the program anew, locked: as it was started (`sys.orig_argv`), without its `arguments`.
    With `demo` the sample conversations come first, and the locked door after them.

    Nothing of what is inside is in it: not even which conversation was shown, which is kept in the room.
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
    """The same, with the sample conversations; the locked door comes after them."""
    _become(command(home, demo=True, started=sys.orig_argv, arguments=sys.argv[1:]))


def _become(argv: list[str]) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(argv[0], argv)  # noqa: S606 - this very program, without a shell
