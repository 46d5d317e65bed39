"""Ctrl-C at any moment of a start: one line and its own status, never a traceback."""

import os
import pty
import random
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

from atlas_desktop.error_table import explain
from atlas_desktop.interrupts import INTERRUPTED, STOPPED
from tests.e2e.conftest import Program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a terminal of its own is needed")

MOMENTS = 8


def interrupted(program: Program, *arguments: str, after: float, times: int) -> tuple[int, str]:
    """The status and what was written on stderr, of a command that has a terminal for the rest."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [program.executable, *arguments],
        env=program.environment,
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    os.close(theirs)
    reading = threading.Thread(target=_swallow, args=(ours,))
    reading.start()
    with suppress(subprocess.TimeoutExpired):
        process.wait(after)
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(random.Random(after).choice((0, 0.001, 0.01)))
    try:
        _, told = process.communicate(timeout=60)
    finally:
        process.kill()
    reading.join()
    os.close(ours)
    return process.returncode, told


def _swallow(terminal: int) -> None:
    with suppress(OSError):
        while os.read(terminal, 65536):
            pass


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize(("command", "takes_s"), [(["config", "list"], 0.4), ([], 1.2)], ids=["cli", "tui"])
def test_ctrl_c_while_starting_is_one_line(
    empty_program: Program, command: list[str], takes_s: float, times: int
) -> None:
    for moment in range(MOMENTS):
        status, told = interrupted(
            empty_program, *command, after=takes_s * (moment + times / 4) / MOMENTS, times=times
        )
        # Before the program's first line Python itself is interrupted; after its last all is done.
        modules = set(re.findall(r"atlas_desktop/(\w+)", told))
        by_python = "Traceback" in told and modules <= {"start", "interrupts"} and "be_the_prog" not in told
        by_default = (status, told) == (-signal.SIGINT, "")
        done = (status, told) == (0, "")
        assert done or by_default or by_python or (status, told) == (INTERRUPTED, f"{STOPPED}\n"), told


def test_the_line_is_the_one_of_the_error() -> None:
    words = explain(KeyboardInterrupt())
    assert f"{words.title}: {words.message}" == STOPPED
    assert words.status == INTERRUPTED
