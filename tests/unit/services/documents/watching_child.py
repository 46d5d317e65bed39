"""Watches the folder that it is given, and prints a line for each batch: the number of paths, or everything.

A process of its own, so that a test can halt it while events are lost. Ends when its input does.
"""

import asyncio
import sys
from pathlib import Path

from atlas_desktop.services.documents.watching import Changes, FolderWatcher


def tell(changes: Changes) -> None:
    print("everything" if changes is None else len(changes), flush=True)


async def main(root: Path) -> None:
    watcher = FolderWatcher([root], tell)
    await watcher.start()
    await asyncio.to_thread(sys.stdin.read)
    await watcher.stop()


asyncio.run(main(Path(sys.argv[1])))
