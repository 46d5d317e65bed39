"""Runs all benchmarks, one after another: `make bench`."""

import subprocess
import sys

NAMES = (
    "storage",
    "backup",
    "turns",
    "program",
    "desk",
    "desk_history",
    "writing",
    "context",
    "states",
    "tuning",
    "continuity",
    "extraction",
    "lock",
    "forget",
    "parsing",
    "citations",
)

for name in NAMES:
    print(f"\n== {name}", flush=True)
    subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)
