"""Compares an appended turn with bare llama.cpp: `python -m benchmarks.turns`.

A conversation of some length is in the model's context; the user adds one message. Through host, pipe and
worker the first token may take at most 1.3 times what llama.cpp takes to evaluate the new tokens alone, in a
separate process. The two take turns; figures are medians.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Self

from atlas_desktop.paths import Paths, find_home
from models.host import ModelHost
from models.messages import ChatMessage, Completion, GenerationParams, Role
from models.tuning.kernels import KernelsNote
from models.worker.client import HostSpec

NEW = "And what would you tell somebody who has never been there? I go in June, with my sister."


async def through_the_worker(model: Path, turns: int) -> tuple[float, list[int], list[int]]:
    """Returns ms to the first token of the last turn, the tokens held before it, and its new tokens."""
    kernels = KernelsNote.beside(model.parent).read()
    host = ModelHost(HostSpec(chat=lambda: ("small", model), kernels=kernels))
    params = GenerationParams(max_tokens=32, temperature=0.0)
    messages = [ChatMessage(Role.SYSTEM, "You are Atlas.")]
    try:
        for number in range(turns):
            messages.append(ChatMessage(Role.USER, f"Turn {number}. I like walking by the sea. " * 4))
            done = await complete(host, messages, params)
            messages.append(ChatMessage(Role.ASSISTANT, done.text, done.tokens))
        held = await host.render(messages[:-1])
        held += messages[-1].tokens[:-1]
        messages.append(ChatMessage(Role.USER, NEW))
        whole = await host.render(messages)
        done = await complete(host, messages, params)
    finally:
        await host.close()
    cached = done.timings.cached_tokens
    return done.timings.first_token_ms, whole[:cached], whole[cached:]


async def complete(host: ModelHost, messages: list[ChatMessage], params: GenerationParams) -> Completion:
    async for event in host.generate(messages, params):
        if isinstance(event, Completion):
            return event
    raise AssertionError("a generation ended without its completion")


class Bare:
    """Bare llama.cpp in a separate process, which keeps what it has read between two prompts."""

    def __init__(self, model: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("bare.py")), "append", str(model)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def append(self, prompt: list[int], new: list[int]) -> float:
        """Returns the milliseconds to the first token of `new`, read after `prompt`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"prompt": prompt, "new": new}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("bare llama.cpp has ended")
        return float(json.loads(line)["first_token_ms"])


def bare(model: Path, prompt: list[int], new: list[int]) -> float:
    """Runs `Bare.append` in a separate process for this call alone."""
    with Bare(model) as process:
        return process.append(prompt, new)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=8)
    args = parser.parse_args()
    model = next(iter(sorted(Paths(find_home()).models.glob("smollm2-135m*.gguf"))))
    ours, theirs, sizes = [], [], (0, 0)
    for _ in range(args.rounds):
        took, prompt, new = asyncio.run(through_the_worker(model, args.turns))
        ours.append(took)
        theirs.append(bare(model, prompt, new))
        sizes = len(prompt), len(new)
    mine, base = statistics.median(ours), statistics.median(theirs)
    print(f"appended turn: {sizes[1]} new tokens after {sizes[0]}")
    print(f"first token    {mine:.0f} ms, bare {base:.0f} ms: {mine / base:.2f} x (goal 1.30)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
