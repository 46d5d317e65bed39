"""Measures import, export, search and insights of history: `python -m benchmarks.history import`.

Each subcommand is a separate module beside this one, `history_<name>`, with `register(subparsers)`.
"""

import argparse
import asyncio
import sys
from importlib import import_module

NAMES = ("import", "export", "search", "insights")
"""Run one after another without a subcommand."""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__)
    subparsers = made.add_subparsers(dest="what", required=True)
    for name in NAMES:
        import_module(f"benchmarks.history_{name}").register(subparsers)
    return made


def main() -> None:
    if len(sys.argv) > 1:
        args = parser().parse_args()
        asyncio.run(args.run(args))
        return
    for name in NAMES:
        print(f"\n-- {name}", flush=True)
        args = parser().parse_args([name])
        asyncio.run(args.run(args))


if __name__ == "__main__":
    main()
