"""How fast a model reads and writes on this machine."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from models.catalog import ModelRole
from models.library import InstalledModel
from models.messages import ChatMessage, Completion, GenerationParams, Lane, ModelInfo, Role
from models.ports import Generation

_PROMPT_WORDS = 400
_TOKENS = 64
_TEXTS = 32


class BenchHost(Protocol):
    """A model in its process: chat, embeddings, and an end."""

    async def info(self) -> ModelInfo: ...

    def generate(
        self, messages: Sequence[ChatMessage], params: GenerationParams, lane: Lane = Lane.CHAT
    ) -> Generation: ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]: ...

    async def close(self) -> None: ...


HostFactory = Callable[[InstalledModel], BenchHost]


@dataclass(frozen=True, slots=True)
class BenchResult:
    """Milliseconds, and tokens or texts a second; None where the model does not do that."""

    model: str
    load_ms: float
    prompt_tokens: int | None = None
    read_tokens_per_second: float | None = None
    first_token_ms: float | None = None
    written_tokens: int | None = None
    write_tokens_per_second: float | None = None
    texts_per_second: float | None = None


async def bench(
    model: InstalledModel, host_factory: HostFactory, clock: Callable[[], float] = time.perf_counter
) -> BenchResult:
    """Loads the model in a process of its own, has it work, and ends the process. Raises `ModelsError`.

    A chat model reads about 500 tokens that it has never seen and writes 64; an embedding model embeds 32
    sentences.
    """
    host = host_factory(model)
    try:
        if ModelRole.CHAT in model.roles:
            return await _chat(model, host, clock)
        return await _embed(model, host, clock)
    finally:
        await host.close()


async def _chat(model: InstalledModel, host: BenchHost, clock: Callable[[], float]) -> BenchResult:
    begun = clock()
    await host.info()
    loaded = clock()
    # The first evaluation maps the weights into memory; it is not what a conversation feels like.
    await _complete(host, "Hello.", 1)
    done = await _complete(host, f"Go on with this list for as long as you can: {_words()}", _TOKENS)
    timings = done.timings
    reading = timings.evaluated_tokens / timings.first_token_ms * 1000 if timings.first_token_ms else None
    return BenchResult(
        model=model.id,
        load_ms=(loaded - begun) * 1000,
        prompt_tokens=timings.evaluated_tokens,
        read_tokens_per_second=reading,
        first_token_ms=timings.first_token_ms,
        written_tokens=timings.completion_tokens,
        write_tokens_per_second=timings.tokens_per_second,
    )


async def _complete(host: BenchHost, text: str, tokens: int) -> Completion:
    params = GenerationParams(max_tokens=tokens, temperature=0.0, seed=1)
    last: Completion | None = None
    async for event in host.generate([ChatMessage(Role.USER, text)], params):
        if isinstance(event, Completion):
            last = event
    assert last is not None
    return last


async def _embed(model: InstalledModel, host: BenchHost, clock: Callable[[], float]) -> BenchResult:
    begun = clock()
    await host.embed(["Hello."])
    loaded = clock()
    for number in range(_TEXTS):
        await host.embed([f"Sentence {number} is about the weather, the garden and the neighbour's cat."])
    return BenchResult(
        model=model.id, load_ms=(loaded - begun) * 1000, texts_per_second=_TEXTS / (clock() - loaded)
    )


def _words() -> str:
    subjects = ("apple", "river", "window", "train", "cloud", "lamp", "forest", "bread")
    return ", ".join(f"{subjects[n % len(subjects)]} {n}" for n in range(_PROMPT_WORDS // 3))
