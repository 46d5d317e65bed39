"""A process that gives a home new keys: to be killed. Its standard input gives the home's folder."""

import asyncio
import sys
from pathlib import Path

from tests.unit.vault.conftest import PASSPHRASE
from tests.upkeep.conftest import Home

if __name__ == "__main__":
    home = Home(Path(sys.stdin.readline().strip()))
    print("ready", flush=True)
    asyncio.run(home.repairs().rekey(PASSPHRASE))
