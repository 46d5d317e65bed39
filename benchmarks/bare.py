"""Runs llama-cpp-python alone in one process, the baseline of the other benchmarks; prints JSON."""

import ctypes
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import llama_cpp
import llama_cpp.llama_cpp as C  # noqa: N812 - the C interface
import psutil


def kernels(model: Path) -> str:
    """Reads, as the program does, the note beside the models about what this machine cannot run."""
    from models.tuning.kernels import KernelsNote

    return KernelsNote.beside(model.parent).read()


def use_plain_kernels() -> None:
    """Changes the default parameters, because the high-level class has no such option."""
    original = C.llama_model_default_params

    def changed() -> Any:
        params = original()
        params.use_extra_bufts = False
        return params

    C.llama_model_default_params = llama_cpp.llama_model_default_params = changed


def load(model: Path) -> Any:
    # As many as the program uses when their number is set.
    cores = int(os.environ.get("ATLAS_MODELS_THREADS", "0")) or psutil.cpu_count(logical=False)
    return llama_cpp.Llama(str(model), n_ctx=8192, n_threads=cores, n_threads_batch=cores, verbose=False)


def stream(model: Path, tokens: int, ask: str) -> dict[str, float]:
    """Streams one reply as an application would with the library's own API."""
    from atlas_desktop.settings.schema import ChatSettings

    llm = load(model)
    messages = [
        {"role": "system", "content": ChatSettings().system_prompt},
        {"role": "user", "content": ask},
    ]
    options = {"temperature": 0.2, "top_p": 0.9, "repeat_penalty": 1.1, "seed": 1}
    said, first = 0, 0.0
    for _ in llm.create_chat_completion(messages, max_tokens=tokens, stream=True, **options):
        first = first or time.perf_counter()
        said += 1
    return {"tokens": said, "tokens_per_second": (said - 1) / (time.perf_counter() - first)}


class Appending:
    """A context that is only read into, and that keeps as much as possible between two prompts."""

    def __init__(self, model: Path) -> None:
        self._llm = load(model)
        self._held: list[int] = []

    def append(self, prompt: list[int], new: list[int]) -> dict[str, float]:
        """Returns the milliseconds to evaluate `new` after `prompt` and to take the likeliest token."""
        pairs = zip(self._held, prompt, strict=False)
        common = next((at for at, (one, other) in enumerate(pairs) if one != other), len(self._held))
        common = min(common, len(prompt))
        C.llama_memory_seq_rm(C.llama_get_memory(self._llm._ctx.ctx), 0, common, -1)
        self._evaluate(prompt[common:])
        began = time.perf_counter()
        self._evaluate(new)
        sampler = C.llama_sampler_chain_init(C.llama_sampler_chain_default_params())
        C.llama_sampler_chain_add(sampler, C.llama_sampler_init_greedy())
        C.llama_sampler_sample(sampler, self._llm._ctx.ctx, ctypes.c_int32(-1))
        took = 1000 * (time.perf_counter() - began)
        C.llama_sampler_free(sampler)
        self._held = [*prompt, *new]
        return {"first_token_ms": took}

    def _evaluate(self, tokens: list[int]) -> None:
        for at in range(0, len(tokens), self._llm.n_batch):
            some = tokens[at : at + self._llm.n_batch]
            array = (C.llama_token * len(some))(*some)
            if C.llama_decode(self._llm._ctx.ctx, C.llama_batch_get_one(array, len(some))) != 0:
                raise RuntimeError("llama_decode failed")


def embed(model: Path, threads: int) -> None:
    """Embeds lists of texts, one list a line, one text after another; prints the seconds of each list."""
    llm = llama_cpp.Llama(
        str(model),
        embedding=True,
        n_ctx=512,
        n_batch=512,
        n_ubatch=512,
        n_threads=threads,
        n_threads_batch=threads,
        verbose=False,
    )
    for line in sys.stdin:
        texts = json.loads(line)
        began = time.perf_counter()
        for text in texts:
            llm.embed(text, normalize=True, truncate=True)
        print(json.dumps({"seconds": time.perf_counter() - began}), flush=True)


def main() -> int:
    task, model = sys.argv[1], Path(sys.argv[2])
    match kernels(model):
        case "plain":
            use_plain_kernels()
        case "without-amx":
            from models.tuning.kernels import hide_amx

            hide_amx()
    if task == "stream":
        print(json.dumps(stream(model, int(sys.argv[3]), sys.argv[4])))
        return 0
    if task == "embed":
        embed(model, int(sys.argv[3]))
        return 0
    context = Appending(model)
    for line in sys.stdin:
        given = json.loads(line)
        print(json.dumps(context.append(given["prompt"], given["new"])), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
