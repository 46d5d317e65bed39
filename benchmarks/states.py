"""Compares resuming a session after a restart with reading it again: `python -m benchmarks.states`.

A session of about 2,500 tokens is read cold; its state is saved to the encrypted store; a new process loads
it and takes the session's next turn. Everything between opening the store and the first token counts.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from atlas_desktop.paths import Paths, find_home
from benchmarks.turns import complete
from memory.storage.snapshots import open_snapshots
from memory.vault.keys import RoomKey
from models.host import ModelHost
from models.messages import ChatMessage, GenerationParams, Role
from models.tuning.kernels import KernelsNote
from models.worker.client import HostSpec

TICK_S = 0.001
NEW = "And what would you tell somebody who has never been there?"
REPLY = GenerationParams(max_tokens=8, temperature=0.0)


@dataclass(frozen=True)
class Resumed:
    """One comparison, in milliseconds: the cold first token, and the parts of the resumed one.

    `save` is how long the state took to get out of the model and `store` into the file, both beside other
    work. `stall` is the longest time for which the program's event loop was blocked meanwhile. `beside` and
    `idle` are first tokens of the same turn while a state is saved and while nothing is.
    """

    tokens: int
    evaluated: int
    cold: float
    store_read: float
    handed_over: float
    first_token: float
    save: float
    store: float
    stall: float
    beside: float
    idle: float

    @property
    def resumed(self) -> float:
        return self.store_read + self.handed_over + self.first_token

    @property
    def ratio(self) -> float:
        return self.cold / self.resumed


@asynccontextmanager
async def running(model: Path) -> AsyncIterator[ModelHost]:
    kernels = KernelsNote.beside(model.parent).read()
    host = ModelHost(HostSpec(chat=lambda: ("small", model), kernels=kernels))
    try:
        await host.info()
        await host.encoding()
        yield host
    finally:
        await host.close()


class Stalls:
    """Measures the longest pause between two ticks of the event loop in a block, in `worst` (ms)."""

    worst = 0.0

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._watch())
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()

    async def _watch(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(TICK_S)
            self.worst = max(self.worst, 1000 * (time.perf_counter() - before - TICK_S))


def session_of(tokens: int) -> list[ChatMessage]:
    """Returns a session of about `tokens` tokens that ends with a message of the user."""
    messages = [ChatMessage(Role.SYSTEM, "You are Atlas.")]
    for number in range(tokens // 85):
        said = f"On day {number} we walked by the sea, and the gulls were louder than the day before. "
        messages.append(ChatMessage(Role.USER, said * 2))
        messages.append(ChatMessage(Role.ASSISTANT, f"Day {number} sounds lovely. " + said))
    return [*messages, ChatMessage(Role.USER, "Which day did I like best?")]


async def resume(model: Path, folder: Path, tokens: int = 2500) -> Resumed:
    """Runs one comparison, with the store in `folder`."""
    messages, path, key = session_of(tokens), folder / "states.db", RoomKey.generate()
    async with running(model) as host:
        cold = await complete(host, messages, REPLY)
        messages += [ChatMessage(Role.ASSISTANT, cold.text, cold.tokens), ChatMessage(Role.USER, NEW)]
        states = await open_snapshots(path, key)
        async with Stalls() as stalls:
            start = time.perf_counter()
            state = await host.save_state(cold.held_hash)
            saved = time.perf_counter()
            await states.put("session", state)
            stored = time.perf_counter()
        idle, beside = [], []
        for _ in range(3):
            idle.append((await complete(host, messages, REPLY)).timings.first_token_ms)
            saving = asyncio.create_task(host.save_state(cold.held_hash))
            await asyncio.sleep(TICK_S)
            beside.append((await complete(host, messages, REPLY)).timings.first_token_ms)
            await saving
        await states.close()
    async with running(model) as host:
        begin = time.perf_counter()
        states = await open_snapshots(path, key)
        info = await states.find("session", state.model)
        found = await states.load(info) if info is not None else None
        if found is None:
            raise RuntimeError("the state was not stored")
        read = time.perf_counter()
        await host.load_state(found)
        handed = time.perf_counter()
        resumed = await complete(host, messages, REPLY)
        await states.close()
    return Resumed(
        tokens=resumed.timings.prompt_tokens,
        evaluated=resumed.timings.evaluated_tokens,
        cold=cold.timings.first_token_ms,
        store_read=1000 * (read - begin),
        handed_over=1000 * (handed - read),
        first_token=resumed.timings.first_token_ms,
        save=1000 * (saved - start),
        store=1000 * (stored - saved),
        stall=stalls.worst,
        beside=statistics.median(beside),
        idle=statistics.median(idle),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=2500)
    args = parser.parse_args()
    model = next(iter(sorted(Paths(find_home()).models.glob("smollm2-135m*.gguf"))))
    found = []
    for _ in range(args.rounds):
        with tempfile.TemporaryDirectory(dir=model.parent) as folder:
            found.append(asyncio.run(resume(model, Path(folder), args.tokens)))
    one = sorted(found, key=lambda f: f.ratio)[len(found) // 2]
    print(f"session      {one.tokens} tokens, {one.evaluated} of them evaluated when resumed")
    print(f"cold         first token {one.cold:.0f} ms")
    print(
        f"resumed      first token {one.resumed:.0f} ms (store {one.store_read:.0f}, "
        f"handing over {one.handed_over:.0f}, turn {one.first_token:.0f}): {one.ratio:.0f} x (goal 30)"
    )
    print(f"saving       {one.save:.0f} ms out of the model, {one.store:.0f} ms into the store, beside work")
    print(f"             the event loop stood still for at most {one.stall:.1f} ms (goal 10)")
    print(f"a turn while a state is saved {one.beside:.0f} ms, alone {one.idle:.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
