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
    "desk_finder",
    "writing",
    "context",
    "states",
    "tuning",
    "speculation",
    "continuity",
    "extraction",
    "lock",
    "forget",
    "parsing",
    "citations",
    "documents_speed",
    "documents_rescan",
    "documents_embedding",
    "documents_turns",
    "endpoint",
    "endpoint_load",
    "skills",
    "sync",
)

for name in NAMES:
    print(f"\n== {name}", flush=True)
    subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)
