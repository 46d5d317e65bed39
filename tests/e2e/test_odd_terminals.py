"""Terminals that are tiny, that change their size all the time, and a program that is stopped meanwhile."""

import os
import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.conftest import Program
from tests.e2e.terminal import Terminal, atlas, ctrl

pytestmark = pytest.mark.real_model


def opened(program: Program, *, columns: int, rows: int) -> Terminal:
    secret = str(program.passphrase_file)
    return atlas(program.paths.home, "--passphrase-file", secret, columns=columns, rows=rows)


def assert_all_stored(program: Program, terminal: Terminal, *said: str) -> None:
    terminal.settle()
    terminal.press(ctrl("q"))
    assert terminal.wait_for_end() == 0
    stored = program.run("export", "--all", "--format", "jsonl").stdout
    assert [words for words in said if words not in stored] == []


def until_stored(program: Program, terminal: Terminal, words: str) -> None:
    """Reads what is drawn until the program, asked from outside, finds these words."""

    def found() -> bool:
        return bool(program.json("sessions", "search", words)["hits"])

    limit = time.monotonic() + 90
    with ThreadPoolExecutor(1) as beside:
        while True:
            looking = beside.submit(found)
            while not looking.done():
                terminal.drain(0.05)
            if looking.result():
                return
            assert time.monotonic() < limit, f"{words!r} was not stored"


def say(terminal: Terminal, words: str) -> None:
    terminal.settle()
    terminal.write(words)
    terminal.settle()
    terminal.press("enter")
    terminal.settle()


@pytest.mark.parametrize("size", [(20, 5), (10, 3), (1, 1), (400, 120)])
def test_a_terminal_of_any_size(program: Program, size: tuple[int, int]) -> None:
    columns, rows = size
    with opened(program, columns=columns, rows=rows) as terminal:
        # It can be asked from outside once its rooms are open; there may be no room to draw anything.
        terminal.until((program.paths.home / "commands").exists)
        say(terminal, "in a small window")
        until_stored(program, terminal, "in a small window")
        assert_all_stored(program, terminal, "in a small window")


def test_a_storm_of_sizes(program: Program) -> None:
    chance = random.Random(4)
    with opened(program, columns=80, rows=24) as terminal:
        terminal.see("What is on your mind")
        terminal.write("said in a storm")
        for _ in range(300):
            terminal.resize(chance.randint(1, 200), chance.randint(1, 60))
            if chance.random() < 0.2:
                terminal.drain(0.01)
        terminal.resize(80, 24)
        terminal.press("enter")
        until_stored(program, terminal, "said in a storm")
        assert_all_stored(program, terminal, "said in a storm")


def test_a_program_that_is_stopped_for_a_while_goes_on(program: Program) -> None:
    with opened(program, columns=80, rows=24) as terminal:
        terminal.see("What is on your mind")
        say(terminal, "before the stop")
        os.kill(terminal.pid, signal.SIGSTOP)
        terminal.write("while it was stopped\r")
        time.sleep(7)  # longer than the watchdog waits for an answer
        os.kill(terminal.pid, signal.SIGCONT)
        until_stored(program, terminal, "while it was stopped")
        assert_all_stored(program, terminal, "before the stop", "while it was stopped")
