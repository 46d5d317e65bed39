"""Models for unit tests: no weights, no process, the same answers every time."""

import asyncio
import hashlib
import math
import zlib
from collections.abc import AsyncIterator, Callable, Sequence

from models.errors import ModelsError, PromptTooLong, StateNotHeld, StateRefused
from models.messages import (
    ChatMessage,
    Completion,
    GenerationParams,
    Lane,
    ModelInfo,
    ModelState,
    Prefilled,
    PromptShape,
    Role,
    StopReason,
    Timings,
    TokenDelta,
    common_tokens,
    hash_tokens,
    pack_tokens,
)

OVERHEAD = 4


class WordCounter:
    """Counts one token a word. A stand-in where exactness does not matter."""

    async def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


def scripted_tokens(messages: Sequence[ChatMessage]) -> list[int]:
    """A prompt of the scripted model: `OVERHEAD` tokens for a message's role, then one a word."""
    return [
        zlib.crc32(word.encode())
        for message in messages
        for word in (*[message.role] * OVERHEAD, *message.content.split())
    ]


def sealed_state(model: str, tokens: Sequence[int], chunks: Sequence[bytes]) -> ModelState:
    """A state whose checksum is right."""
    digest = hashlib.sha256(model.encode() + pack_tokens(tokens) + b"".join(chunks))
    return ModelState(model, tuple(tokens), tuple(chunks), digest.hexdigest())


class ScriptedChatModel:
    """Answers from a script, one word a delta, and remembers every prompt it was given.

    As a `PrefixKeeper` it holds the token lists in `held`: of every prompt with its reply, of what was
    prefilled and of states that were loaded. A prompt's tokens count as cached as far as one of them goes.

    `script` is a list of replies used in turn (the last one repeats), or a function of the prompt. Before
    every word after the first it waits for `gate`, when one is given, so that a test decides when a reply
    goes on. `fail_after` raises `failure` after that many words.
    """

    def __init__(
        self,
        script: Sequence[str] | Callable[[Sequence[ChatMessage]], str] = ("Hello.",),
        *,
        context_length: int = 2048,
        gate: asyncio.Event | None = None,
        fail_after: int | None = None,
        failure: ModelsError | None = None,
    ) -> None:
        self.script = script
        self.gate = gate
        self.fail_after = fail_after
        self.failure = failure
        self.prompts: list[tuple[ChatMessage, ...]] = []
        self.lanes: list[Lane] = []
        self.cancelled = 0
        self.context_length = context_length
        self.held: list[list[int]] = []
        self.prefilled: list[tuple[ChatMessage, ...]] = []
        self._info = ModelInfo(
            id="scripted",
            fingerprint="5c",
            architecture="scripted",
            context_length=context_length,
            train_context=context_length,
            vocabulary=0,
            embedding_length=0,
            prefix_stable=True,
            shape=PromptShape(base=0, overhead=dict.fromkeys(Role, OVERHEAD)),
            tokenizer="words",
        )

    async def info(self) -> ModelInfo:
        return self._info

    async def render(self, messages: Sequence[ChatMessage]) -> list[int]:
        return scripted_tokens(messages)

    async def prefill(self, messages: Sequence[ChatMessage]) -> Prefilled:
        tokens = scripted_tokens(messages)
        if len(tokens) >= self.context_length:
            raise PromptTooLong(len(tokens), self.context_length)
        self.prefilled.append(tuple(messages))
        evaluated = len(tokens) - self.cached(tokens)
        self.held.append(tokens)
        return Prefilled(len(tokens), evaluated, hash_tokens(tokens))

    def cached(self, tokens: Sequence[int]) -> int:
        """How many tokens at the beginning are held already."""
        return max((common_tokens(held, tokens) for held in self.held), default=0)

    async def save_state(self, held_hash: str) -> ModelState:
        for tokens in self.held:
            if hash_tokens(tokens) == held_hash:
                return sealed_state(self._info.fingerprint, tokens, [pack_tokens(tokens)])
        raise StateNotHeld

    async def load_state(self, state: ModelState) -> None:
        if state.model != self._info.fingerprint:
            raise StateRefused("model")
        if state != sealed_state(state.model, state.tokens, state.chunks):
            raise StateRefused("checksum")
        self.held.append(list(state.tokens))

    async def drop_states(self) -> None:
        self.held.clear()

    def _reply(self, messages: Sequence[ChatMessage]) -> str:
        if callable(self.script):
            return self.script(messages)
        return self.script[min(len(self.prompts), len(self.script)) - 1]

    def generate(
        self, messages: Sequence[ChatMessage], params: GenerationParams, lane: Lane = Lane.CHAT
    ) -> "ScriptedGeneration":
        self.prompts.append(tuple(messages))
        self.lanes.append(lane)
        return ScriptedGeneration(self, self._reply(messages), self.prompts[-1], params)


class ScriptedGeneration:
    """A scripted reply under way."""

    def __init__(
        self,
        model: ScriptedChatModel,
        reply: str,
        prompt: tuple[ChatMessage, ...],
        params: GenerationParams,
    ) -> None:
        self._model = model
        self._reply = reply
        self._tokens = scripted_tokens(prompt)
        self._prompt = len(self._tokens)
        self._params = params
        self._cancelled = asyncio.Event()

    def cancel(self) -> None:
        self._model.cancelled += 1
        self._cancelled.set()

    async def _may_go_on(self) -> bool:
        if self._model.gate is not None and not self._model.gate.is_set():
            waits = [asyncio.create_task(e.wait()) for e in (self._model.gate, self._cancelled)]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()
        return not self._cancelled.is_set()

    async def __aiter__(self) -> AsyncIterator[TokenDelta | Completion]:
        model = self._model
        if self._prompt >= model.context_length:
            raise PromptTooLong(self._prompt, model.context_length)
        words = self._reply.split(" ")
        said: list[str] = []
        stop = StopReason.STOP if len(words) <= self._params.max_tokens else StopReason.LENGTH
        for number, word in enumerate(words[: self._params.max_tokens]):
            if model.failure is not None and number == model.fail_after:
                raise model.failure
            if (number and not await self._may_go_on()) or self._cancelled.is_set():
                stop = StopReason.CANCELLED
                break
            said.append(word if number == 0 else f" {word}")
            yield TokenDelta(said[-1], (number,))
            await asyncio.sleep(0)
        cached = model.cached(self._tokens[:-1])
        held = self._tokens + scripted_tokens([ChatMessage(Role.ASSISTANT, "".join(said))])
        model.held.append(held)
        yield Completion(
            text="".join(said),
            tokens=tuple(range(len(said))),
            stop_reason=stop,
            timings=Timings(
                prompt_tokens=self._prompt,
                cached_tokens=cached,
                evaluated_tokens=self._prompt - cached,
                completion_tokens=len(said),
            ),
            prompt_hash=hash_tokens(self._tokens),
            held_hash=hash_tokens(held),
            held_tokens=len(held),
        )


class HashEmbedder:
    """Vectors of words hashed into buckets: texts that share words are near each other."""

    dimension = 64

    def __init__(self, fingerprint: str = "hash") -> None:
        self.fingerprint = fingerprint
        self.embedded: list[str] = []

    async def embedding_fingerprint(self) -> str:
        return self.fingerprint

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.embedded += texts
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.dimension
        for word in text.lower().split():
            digest = hashlib.sha256(word.encode()).digest()
            vector[digest[0] % self.dimension] += 1.0 if digest[1] % 2 else -1.0
        length = math.sqrt(sum(x * x for x in vector)) or 1.0
        return [x / length for x in vector]
