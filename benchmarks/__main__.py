"""All figures, one after the other: `make bench`."""

import subprocess
import sys

for name in ("storage", "turns", "program"):
    print(f"\n== {name}", flush=True)
    subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)
