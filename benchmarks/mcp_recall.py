"""Measures recall over MCP in a large room: `python -m benchmarks.mcp_recall --models DIR [MESSAGES]`.

The real `atlas mcp` answers the official client over standard input, from a room with 100,000 messages and
their vectors, and embeds each question with the real model. Bar: 95th percentile at most 80 ms.

`--models` is a folder with an embedding model; in `--keep` the home stays for the next time.
"""

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from benchmarks.cold_commands import atlas, environment, fill, prepare

P95_MS = 80.0


async def ask(home: Path, client: str, token: str, times: int) -> list[float]:
    """Returns the milliseconds of each question after the first one."""
    rnd = random.Random(3)
    server = StdioServerParameters(
        command=str(atlas()),
        args=["mcp", "--client", client, "--passphrase-file", str(home / "passphrase")],
        env={**environment(home), "ATLAS_CLIENT_TOKEN": token},
    )
    took = []
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        for _ in range(times + 1):
            words = [f"w{int(30_000 ** rnd.random())}" for _ in range(4)]
            asked = {"query": f"what did I say about {' '.join(words)}", "k": 10}
            began = time.perf_counter()
            found = await session.call_tool("recall", asked)
            took.append(1000 * (time.perf_counter() - began))
            if found.is_error:
                raise SystemExit(str(found.content))
    return took[1:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("messages", type=int, nargs="?", default=100_000)
    parser.add_argument("--models", metavar="DIR", type=Path, required=True)
    parser.add_argument("--keep", metavar="DIR", type=Path)
    parser.add_argument("--times", type=int, default=200)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = args.keep or Path(folder) / "home"
        if not (home / "rooms").exists():
            prepare(home, args.models)
            asyncio.run(fill(home, args.messages, vectors=True))
        client = f"bench-{time.time():.0f}"
        add = [str(atlas()), "clients", "add", client, "--scopes", "recall", "--rate", "6000", "--json"]
        add += ["--passphrase-file", str(home / "passphrase")]
        done = subprocess.run(add, env=environment(home), check=True, capture_output=True)
        took = asyncio.run(ask(home, client, json.loads(done.stdout)["token"], args.times))
    p95 = statistics.quantiles(took, n=20)[-1]
    print(f"recall over MCP: p50 {statistics.median(took):.0f} ms, p95 {p95:.0f} ms of {len(took)}")
    print(f"bar: p95 at most {P95_MS:.0f} ms")
    return 0 if p95 <= P95_MS else 1


if __name__ == "__main__":
    sys.exit(main())
