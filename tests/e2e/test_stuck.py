"""A program whose event loop is stuck locks and ends all the same, and gives the terminal back."""

import os
import signal
import sys
import time

import psutil
import pytest

from tests.e2e.conftest import Program
from tests.e2e.terminal import Terminal, ctrl

pytestmark = pytest.mark.real_model
F4 = "\x1bOS"


def stuck(program: Program, how: str) -> Terminal:
    secret = str(program.passphrase_file)
    terminal = Terminal(
        [sys.executable, "-m", "tests.e2e.stuck", how, "--passphrase-file", secret],
        {**os.environ, "ATLAS_HOME": str(program.paths.home)},
    )
    terminal.see("What is on your mind")
    terminal.settle()
    terminal.write(F4)
    time.sleep(0.3)  # a loop that is stuck tells nobody
    return terminal


@pytest.mark.parametrize("how", ["python", "c"])
def test_the_key_that_locks_locks(program: Program, how: str) -> None:
    with stuck(program, how) as terminal:
        pid = terminal.pid
        terminal.write(ctrl("l"))
        terminal.see("Locked", timeout=30)
        # It is another program in the place of this one, which has kept nothing.
        assert terminal.pid == pid
        terminal.settle()
        terminal.press(ctrl("q"))
        assert terminal.wait_for_end() == 0


@pytest.mark.parametrize("how", ["python", "c"])
def test_it_ends_when_it_is_told_to(program: Program, how: str) -> None:
    with stuck(program, how) as terminal:
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.wait_for_end() == 128 + signal.SIGTERM
        assert "\x1b[?1049l" in terminal.raw


@pytest.mark.parametrize("how", ["python", "c"])
def test_it_ends_with_its_terminal(program: Program, how: str) -> None:
    with stuck(program, how) as terminal:
        pid = terminal.pid
        terminal.hang_up(within=15)
        assert not psutil.pid_exists(pid)
