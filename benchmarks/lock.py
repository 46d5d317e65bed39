"""Measures from Ctrl+L to the locked screen: `python -m benchmarks.lock`.

Runs the installed program in a real terminal, with a conversation open and the real model loaded. Measures
how long it takes until the unlock screen is drawn, and until the model's process is gone. A start of the
program to the same screen shows how much of that is restarting.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import psutil

from atlas_desktop.paths import Paths, find_home
from benchmarks.program import prepare
from tests.e2e.terminal import atlas, ctrl


def started(home: Path) -> float:
    """Returns the seconds from starting the program to its unlock screen."""
    with atlas(home, columns=100, rows=30) as terminal:
        terminal.see("Locked")
        return time.perf_counter() - terminal.started


def locked(home: Path, secret: Path) -> tuple[float, float]:
    """Returns the seconds from the key press to the unlock screen, and to the end of the model's process."""
    with atlas(home, "--passphrase-file", str(secret), columns=100, rows=30) as terminal:
        terminal.see("What is on your mind")
        terminal.write("Say hello.")
        terminal.press("enter")
        terminal.see(r"\d+ tok/s")
        terminal.settle()
        program = psutil.Process(terminal.pid)
        workers = [child for child in program.children() if "models.worker.main" in child.cmdline()]
        assert len(workers) == 1
        began = time.perf_counter()
        terminal.press(ctrl("l"))
        gone = drawn = 0.0
        while not (gone and drawn):
            terminal.drain(0.005)
            if not gone and not workers[0].is_running():
                gone = time.perf_counter() - began
            after = terminal.text.rpartition("What is on your mind")[2]
            if not drawn and "Enter unlocks" in after:
                drawn = time.perf_counter() - began
            if time.perf_counter() - began > 30:
                raise AssertionError("it did not lock")
        return drawn, gone


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    os.environ.setdefault("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        secret = prepare(home, Paths(find_home()).models)
        starts, doors, workers = [], [], []
        for _ in range(args.rounds):
            starts.append(started(home))
            drawn, gone = locked(home, secret)
            doors.append(drawn)
            workers.append(gone)
    print(
        f"lock to unlock screen  {statistics.median(doors):.2f} s, worst {max(doors):.2f} "
        f"(a start to the same screen: {statistics.median(starts):.2f}; goal 1.50)"
    )
    print(f"model's process gone   {statistics.median(workers):.2f} s, worst {max(workers):.2f} (goal 2.00)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
