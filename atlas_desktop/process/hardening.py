"""Hardening of the process before it does anything else."""

import os
import shutil
import sys
import tempfile

from atlas_desktop.paths import PRIVATE_DIR, Paths, nothing_to_write_to

_PR_SET_DUMPABLE = 4


def harden() -> None:
    """Makes new files accessible to their owner only, and prevents core dumps of memory on disk."""
    os.umask(0o077)
    _open_what_is_closed()
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        import ctypes

        # Also keeps other processes of the same user from reading this one's memory.
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _open_what_is_closed() -> None:
    """Opens a standard input, output or error that is closed, as an empty one.

    Otherwise a room's file would be opened under that number, and anything printed would be written to it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        if getattr(sys, name) is None:
            stream = open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


def use_private_temporary_folder(paths: Paths) -> None:
    """Keeps temporary files of this process and its children inside the home; removes those of ended ones."""
    folder = paths.temporary / str(os.getpid())
    for old in paths.temporary.glob("*"):
        if old.name.isdigit() and not _runs(int(old.name)):
            shutil.rmtree(old, ignore_errors=True)
    # Without the folder, temporary files are refused: they are never put anywhere else.
    with nothing_to_write_to():
        folder.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
    for name in ("TMPDIR", "TEMP", "TMP"):
        os.environ[name] = str(folder)
    tempfile.tempdir = str(folder)


def remove_private_temporary_folder(paths: Paths) -> None:
    shutil.rmtree(paths.temporary / str(os.getpid()), ignore_errors=True)


def _runs(pid: int) -> bool:
    import psutil

    return psutil.pid_exists(pid)
