"""Measures the scan of 10,000 unchanged files: `python -m benchmarks.documents_rescan [--files N]`.

A folder of small Markdown files is watched, and as many files are added one by one, in another home. Then the
scan is measured: in a running program, and as a whole command with its start and the unlocking of the room.
At most 2 s in a running program.
"""

import argparse
import asyncio
import statistics
import subprocess
import time
from pathlib import Path

from benchmarks.cold_commands import atlas, environment
from benchmarks.parsing import markdown
from benchmarks.talk import PASSPHRASE, Place, place, scratch

ROUNDS = 5


def write(folder: Path, files: int) -> None:
    for number in range(files):
        below = folder / f"{number // 100:03}"
        below.mkdir(parents=True, exist_ok=True)
        (below / f"{number:05}.md").write_bytes(markdown(number))


async def service(here: Place, files: int, name: str) -> None:
    wall, busy = [], []
    for _ in range(ROUNDS):
        began, processor = time.perf_counter(), time.process_time()
        report = await here.room.documents.rescan()
        wall.append(time.perf_counter() - began)
        busy.append(time.process_time() - processor)
        if (report.unchanged, report.added, report.updated, report.missing) != (files, 0, 0, 0):
            raise RuntimeError(f"the files have not changed, but the scan says {report}")
    print(
        f"  {name:<28}{statistics.median(wall):>6.2f} s, most {max(wall):.2f}; "
        f"processor {statistics.median(busy):.2f} s (goal 2 s)",
        flush=True,
    )


def command(home: Path) -> None:
    secret = home / "passphrase"
    secret.write_text(PASSPHRASE)
    secret.chmod(0o600)
    given = [str(atlas()), "docs", "rescan", "--passphrase-file", str(secret)]
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        subprocess.run(given, env=environment(home), check=True, capture_output=True)
        took.append(time.perf_counter() - began)
    print(f"  {'atlas docs rescan':<28}{statistics.median(took):>6.2f} s, most {max(took):.2f}", flush=True)


async def run(files: int) -> None:
    with scratch() as folder:
        papers = Path(folder) / "papers"
        await asyncio.to_thread(write, papers, files)
        for watched in (True, False):
            home = Path(folder) / ("watched" if watched else "single")
            print(f"{files:,} unchanged files {'of a watched folder' if watched else 'added one by one'}")
            async with place(home) as here:
                if watched:
                    await here.room.documents.watch(papers)
                    await here.room.documents.stop_following()
                else:
                    await here.room.documents.add([papers])
                await service(here, files, "in a running program")
            await asyncio.to_thread(command, home)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    asyncio.run(run(parser.parse_args().files))


if __name__ == "__main__":
    main()
