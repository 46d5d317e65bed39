"""Measures the interface's memory over hours of use: `python -m benchmarks.hours --minutes 120`.

A script does what a user does, without pauses, in a real terminal with the real model: writing, new
conversations, older ones from the list, the history, the memories, scrolling, the palette. Prints the memory
once a minute, and at the end how much it grew in the second half of the time.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psutil

from atlas_desktop.paths import find_home
from benchmarks.program import environment, prepare
from tests.e2e.terminal import KEYS, Terminal, atlas, ctrl

DOWN, RIGHT, END = KEYS["down"], "\x1b[C", "\x1b[1;5F"
PAGE_UP, PAGE_DOWN = "\x1b[5~", "\x1b[6~"
F2, F3, F4 = "\x1bOQ", "\x1bOR", "\x1bOS"
MOST_MB = 40.0


def press(terminal: Terminal, *keys: str) -> None:
    for key in keys:
        terminal.write(key)
        terminal.drain(0.15)


def write(terminal: Terminal, number: int) -> None:
    terminal.write(f"Number {number}: name three things that float, as a list, and show a line of Python.")
    terminal.press("enter")
    terminal.drain(4)


def deeds(terminal: Terminal) -> Iterator[str]:
    """Performs actions endlessly, and yields the name of each one when it is done."""
    for number in count():
        for what in cycle_once(number):
            match what:
                case "write":
                    write(terminal, number)
                case "new":
                    press(terminal, ctrl("n"))
                case "list":
                    press(terminal, ctrl("o"), *[DOWN] * (2 + number % 6), "\r")
                    terminal.drain(0.5)
                case "scroll":
                    press(terminal, *[PAGE_UP] * 6, *[PAGE_DOWN] * 3, END)
                case "history":
                    press(terminal, F2, *"float", *[DOWN] * 4, "\x1b", "\x1b")
                case "memories":
                    press(terminal, F3, RIGHT, RIGHT, "\x1b")
                case "insights":
                    press(terminal, F4, RIGHT, "\x1b")
                case "palette":
                    press(terminal, ctrl("p"), *"theme", "\x1b", "\x1b")
            yield what


def cycle_once(number: int) -> list[str]:
    some = ["write", "scroll", "write", "history", "list", "scroll", "memories", "palette"]
    return [*some, "new"] if number % 3 == 0 else [*some, "insights"]


def measure(minutes: float, models: Path) -> float:
    """Returns the megabytes by which the interface grew in the second half of the time."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        secret = prepare(home, models)
        program = Path(sys.executable).with_name("atlas")
        subprocess.run(
            [program, "config", "set", "chat.max_tokens", "60"],
            env=environment(home),
            check=True,
            capture_output=True,
        )
        with atlas(home, "--passphrase-file", str(secret), columns=120, rows=40) as terminal:
            terminal.see("What is on your mind")
            terminal.settle()
            interface = psutil.Process(terminal.pid)
            began, said, sizes = time.monotonic(), 0.0, list[float]()
            for done, _ in enumerate(deeds(terminal)):
                gone = time.monotonic() - began
                if gone >= said:
                    said += 60
                    sizes.append(interface.memory_info().rss / 1e6)
                    print(f"{gone / 60:6.1f} min {done:6} deeds {sizes[-1]:8.1f} MB", flush=True)
                    # The terminal's output is not needed here.
                    terminal.raw, terminal._text, terminal._stripped, terminal._seen = "", "", 0, 0
                if gone >= 60 * minutes:
                    break
            terminal.press(ctrl("q"))
        return sizes[-1] - sizes[len(sizes) // 2]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=120)
    args = parser.parse_args()
    models = Path(os.environ.get("ATLAS_TEST_MODELS", find_home() / "models"))
    grown = measure(args.minutes, models)
    print(f"the interface grew by {grown:.1f} MB in the second half (at most {MOST_MB:.0f} in an hour)")
    return 0 if grown <= MOST_MB else 1


if __name__ == "__main__":
    sys.exit(main())
