"""Measures whole commands in a large home: `python -m benchmarks.cold_commands [MESSAGES]`.

Creates a home with MESSAGES messages (default 232,000) and runs the installed `atlas` from the start, as a
script would: unlocking included, nothing warm but the system's file cache. With `--keep` the home is created
once and used again, with `--models` the messages have vectors. Limits: 5 s for `memory recall`, 1 s for
`sessions search`.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from atlas_desktop.bootstrap import build_host, model_library
from atlas_desktop.paths import Paths
from atlas_desktop.settings.schema import Settings
from benchmarks.history_search import sessions
from memory.clock import SystemClock
from memory.entities import RoomKind
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.vault.vault import Vault
from memory.vectors.entities import Embedded

PASSPHRASE = "correct horse battery staple"
A_SESSION = 50
DIMENSION = 384
COMMANDS = (
    ("sessions", "list", "--limit", "20"),
    ("sessions", "search", "w300 w31"),
    ("memory", "recall", "w300 w31"),
    ("memory", "recall", "what did w3000 say of w300?"),
)


def prepare(home: Path, models: Path | None) -> None:
    """Creates a vault, and links the models into the home."""
    secret = home / "passphrase"
    home.mkdir(parents=True, exist_ok=True)
    secret.write_text(PASSPHRASE)
    secret.chmod(0o600)
    command = [str(atlas()), "vault", "create", "--passphrase-file", str(secret)]
    subprocess.run(command, env=environment(home), check=True, capture_output=True)
    for source in models.iterdir() if models is not None else ():
        target = Paths(home).models / source.name
        if source.suffix == ".gguf":
            target.symlink_to(source)
        else:
            target.write_bytes(source.read_bytes())


async def fill(home: Path, messages: int, *, vectors: bool) -> None:
    key = Vault(home / "rooms", RoomKind.OPEN).unlock(PASSPHRASE)
    store = await open_room(home / "rooms" / "open.db", key, RoomKind.OPEN, SystemClock())
    batch = []
    for session in sessions(messages // A_SESSION):
        batch.append(session)
        if len(batch) == 200:
            await store.transfer.take_many(batch, learn=False)
            batch.clear()
    await store.transfer.take_many(batch, learn=False)
    if vectors:
        await add_vectors(store, await fingerprint(home))
    await store.close()


async def fingerprint(home: Path) -> str:
    """Returns the fingerprint of the embedding model."""
    paths = Paths(home)
    host = build_host(paths, model_library(paths), Settings())
    try:
        return await host.embedding_fingerprint()
    finally:
        await host.close()


async def add_vectors(store: Store, model: str) -> None:
    """Adds random vectors: their content does not change the time."""
    numbers = np.random.default_rng(1)
    before = None
    while found := await store.vectors.unembedded(model, limit=2000, before=before):
        before = min(one.seq for one in found)
        made = numbers.standard_normal((len(found), DIMENSION)).astype(np.float32)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        await store.vectors.put(
            model, [Embedded(one, (row.tobytes(),)) for one, row in zip(found, made, strict=True)]
        )


def atlas() -> Path:
    return Path(sys.executable).with_name("atlas")


def environment(home: Path) -> dict[str, str]:
    """Returns the environment of an installed program, whose modules are compiled.

    The first run compiles them into the home.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "ATLAS_HOME": str(home), "PYTHONPYCACHEPREFIX": str(home / "bytecode")}


def measure(home: Path, times: int = 3) -> None:
    for command in COMMANDS:
        took = []
        for _ in range(times):
            began = time.perf_counter()
            given = [atlas(), *command, "--passphrase-file", home / "passphrase", "--json"]
            done = subprocess.run(given, env=environment(home), check=True, capture_output=True, text=True)
            took.append(time.perf_counter() - began)
        print(f"{min(took):6.2f} s  {' '.join(command)}  ({len(done.stdout):,} characters)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("messages", type=int, nargs="?", default=232_000)
    parser.add_argument("--keep", metavar="DIR", type=Path)
    parser.add_argument("--models", metavar="DIR", type=Path, help="with its embedding model, and vectors")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = args.keep or Path(folder) / "home"
        if not (home / "rooms").exists():
            prepare(home, args.models)
            asyncio.run(fill(home, args.messages, vectors=args.models is not None))
        measure(home)


if __name__ == "__main__":
    main()
