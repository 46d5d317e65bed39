"""Measures how the installed program feels, in a real terminal: `python -m benchmarks.program`.

Measures first paint, unlock to chat compared with key derivation, streaming speed through worker and
interface compared with bare llama-cpp-python in one process, the delay from a key press to its paint while a
reply streams, and the memory of the interface's process.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from atlas_desktop.paths import Paths, find_home

try:
    from tests.e2e.terminal import Terminal, atlas, ctrl
except ModuleNotFoundError as error:
    raise SystemExit(
        f"This needs {error.name}, one of the development packages. Install them with "
        "`.venv/bin/pip install -r requirements-dev.lock`, or run `make bench`."
    ) from None

PASSPHRASE = "a lamp by the harbour"
ASK = "Write a very long story about the sea and the people who live by it."


def prepare(home: Path, models: Path) -> Path:
    """Creates a home with the real models and a vault; returns the file with its passphrase."""
    paths = Paths(home)
    paths.ensure()
    paths.models.rmdir()
    paths.models.symlink_to(models)
    secret = home.parent / "passphrase"
    secret.write_text(PASSPHRASE)
    program = str(Path(sys.executable).with_name("atlas"))
    command = [program, "vault", "create", "--passphrase-file", str(secret)]
    subprocess.run(command, env=environment(home), check=True, capture_output=True)
    return secret


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "ATLAS_HOME": str(home)}


def first_paint(home: Path, rounds: int) -> tuple[float, float]:
    """Returns the seconds to the program's first screen, and to that of Textual with one field."""
    code = Path(__file__).with_name("bare_screen.py")
    seen, bare = [], []
    for _ in range(rounds):
        with Terminal([sys.executable, str(code)], environment(home)) as terminal:
            terminal.see("Locked")
            bare.append(time.perf_counter() - terminal.started)
        with atlas(home) as terminal:
            terminal.see("Locked")
            seen.append(time.perf_counter() - terminal.started)
    return statistics.median(seen), statistics.median(bare)


def key_derivation(home: Path, secret: Path, rounds: int) -> float:
    """Returns the seconds that a fresh process takes to derive the key, measured inside that process."""
    code = (
        "import sys, time; from pathlib import Path; from memory.vault.vault import Vault\n"
        "from memory.entities import RoomKind\n"
        "v = Vault(Path(sys.argv[1]), RoomKind.OPEN); w = Path(sys.argv[2]).read_text()\n"
        "import argon2.low_level, cryptography.hazmat.primitives.ciphers.aead\n"
        "t = time.perf_counter(); v.unlock(w); print(time.perf_counter() - t)"
    )
    command = [sys.executable, "-c", code, str(home / "rooms"), str(secret)]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(rounds)]
    return statistics.median(float(run.stdout) for run in runs)


def unlock(home: Path, rounds: int) -> float:
    """Returns the seconds from Enter on the passphrase to the conversation."""
    took = []
    for _ in range(rounds):
        with atlas(home) as terminal:
            terminal.see("Locked")
            terminal.settle()
            terminal.write(PASSPHRASE)
            terminal.settle()
            began = time.perf_counter()
            terminal.press("enter")
            terminal.see("Write a message")
            took.append(time.perf_counter() - began)
    return statistics.median(took)


def talk(home: Path, secret: Path, tokens: int) -> dict[str, float]:
    """Streams one long reply at full speed, then types into a second one."""
    subprocess.run(
        [Path(sys.executable).with_name("atlas"), "config", "set", "chat.max_tokens", str(tokens)],
        env=environment(home),
        check=True,
        capture_output=True,
    )
    with atlas(home, "--passphrase-file", str(secret), columns=100, rows=30) as terminal:
        terminal.see("What is on your mind")
        terminal.settle()
        interface = psutil.Process(terminal.pid)
        memory = interface.memory_info().rss
        terminal.write(ASK)
        terminal.press("enter")
        terminal.see("Writing", timeout=60)
        began, used = time.perf_counter(), sum(interface.cpu_times()[:2])
        speed = float(terminal.see(r"(\d+(?:\.\d+)?) tok/s", timeout=300)[1])
        share = (sum(interface.cpu_times()[:2]) - used) / (time.perf_counter() - began)
        terminal.settle()
        terminal.write("Go on with the story, please.")
        terminal.press("enter")
        terminal.see("Writing")
        delays = key_delays(terminal, 60)
        terminal.press(ctrl("q"))
        terminal.wait_for_end()
    delays.sort()
    return {
        "tokens_per_second": speed,
        "share": share,
        "resident_mb": memory / 1e6,
        "key_p50_ms": 1000 * statistics.median(delays),
        "key_p95_ms": 1000 * delays[int(0.95 * len(delays))],
        "keys": len(delays),
    }


def key_delays(terminal: Terminal, presses: int) -> list[float]:
    """Returns the seconds from each key press until its letter is drawn at the end of the typed text."""
    typed, delays = "", []
    for number in range(presses):
        typed += "qzx"[number % 3]
        before = len(terminal.text)
        began = time.perf_counter()
        terminal.write(typed[-1])
        while typed[-20:] not in terminal.text[before:]:
            terminal.drain(0.001)
            if time.perf_counter() - began > 5:
                raise AssertionError(f"the letters were not drawn: {terminal.text[before:][-300:]!r}")
        delays.append(time.perf_counter() - began)
        terminal.drain(0.03)
    return delays


def bare_speed(model: Path, tokens: int) -> float:
    """Returns the tokens per second of llama-cpp-python's own loop in a process that does nothing else."""
    code = Path(__file__).with_name("bare.py")
    done = subprocess.run(
        [sys.executable, str(code), "stream", str(model), str(tokens), ASK],
        check=True,
        capture_output=True,
        text=True,
    )
    return float(json.loads(done.stdout)["tokens_per_second"])


def report(home: Path, secret: Path, models: Path, rounds: int, tokens: int) -> None:
    painted, bare_paint = first_paint(home, rounds)
    print(f"first paint        {painted:.2f} s (goal 0.70; Textual with one field: {bare_paint:.2f} s)")
    derived = key_derivation(home, secret, rounds)
    opened = unlock(home, rounds)
    beside = opened - derived
    print(f"unlock to chat     {opened:.2f} s: {beside:.2f} beside the key's {derived:.2f} (goal 0.50)")
    model = next(iter(sorted(models.glob("smollm2-135m*.gguf"))))
    bare, felt = [bare_speed(model, tokens)], []
    for _ in range(rounds):
        felt.append(talk(home, secret, tokens))
        bare.append(bare_speed(model, tokens))
    # Compared with the bare runs before and after: a machine's speed changes while it is measured.
    ratios = [one["tokens_per_second"] / statistics.mean(bare[at : at + 2]) for at, one in enumerate(felt)]
    speeds = ", ".join(f"{one['tokens_per_second']:.0f}" for one in felt)
    print(f"streaming          {statistics.median(ratios):.0%} of bare (goal 95 %; {min(ratios):.0%} to "
          f"{max(ratios):.0%}); {speeds} tok/s beside {', '.join(f'{one:.0f}' for one in bare)}")  # fmt: skip
    share = statistics.median(one["share"] for one in felt)
    print(f"                   the interface takes {share:.1%} of one processor meanwhile")
    p50, p95 = (statistics.median(one[key] for one in felt) for key in ("key_p50_ms", "key_p95_ms"))
    print(f"key press to paint p50 {p50:.0f} ms, p95 {p95:.0f} ms (goal 33)")
    # The first round only: later ones have something to search, and load vectors with the first screen.
    print(f"interface memory   {felt[0]['resident_mb']:.0f} MB (goal 150)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=300)
    args = parser.parse_args()
    os.environ.setdefault("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    models = Paths(find_home()).models
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        secret = prepare(home, models)
        report(home, secret, models, args.rounds, args.tokens)
    return 0


if __name__ == "__main__":
    sys.exit(main())
