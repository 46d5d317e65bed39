"""The work of the worker, as jobs that yield after every step."""

import math
import struct
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass

from models.errors import PromptTooLong
from models.llamacpp.generation import Sampler, TextStream
from models.llamacpp.native import Context, Model
from models.llamacpp.prompts import PromptBuilder
from models.llamacpp.states import (
    MIN_GAIN,
    StateCache,
    prepare_buffer,
    restore,
    snapshot,
    state_size,
)
from models.messages import GenerationParams, StopReason, common_tokens, hash_tokens
from models.worker import protocol
from models.worker.scheduler import Job

Send = Callable[[protocol.AnyAnswer], None]
MOMENT_S = 0.1
"""How long tokens are gathered: each message costs."""
CROWDED_MOMENT_S = 0.25
"""The same where the model takes every processor. It is about as often as a growing reply is drawn then."""
# What is given up for another prompt is kept when it is worth more than the copy costs.
WORTH_KEEPING = 256
# A batch that is pre-empted is lost: work that gives way to the chat reads in smaller ones, the smaller the
# more often it is interrupted, so that it gets on however short the pauses are.
LEAST_BATCH = 8
TRIAL_BATCH = 32


@dataclass(slots=True)
class ChatRuntime:
    """A chat model with one context: what it has read stays, and only what is new is read.

    Where the context has to give up what it holds for another prompt, `states` gets a copy if `keeps`.
    `batch` is how many tokens are read at a time.
    """

    model: Model
    prompts: PromptBuilder
    context: Context
    states: StateCache
    batch: int
    keeps: bool

    def generate(
        self,
        request: protocol.Generate,
        prompt: list[int],
        received: float,
        send: Send,
        cancelled: Callable[[], bool],
    ) -> Job:
        """Reads the prompt, streams deltas, ends with `Done`. Raises `PromptTooLong`.

        `received` is when the request came, on the clock of `time.perf_counter`.
        """
        params = GenerationParams(**{f: getattr(request.params, f) for f in request.params.__struct_fields__})
        room = self._room(prompt)
        moment = CROWDED_MOMENT_S if self.context.takes_every_processor else MOMENT_S
        reply = _Reply(request.id, TextStream(params.stop), send, moment)
        cached = self._share(prompt)
        evaluated = yield from self._read(prompt, cached, cancelled)
        first = 0.0
        stop = StopReason.CANCELLED
        if not cancelled():
            sampler = Sampler(self.model.vocab, params)
            try:
                limit = min(params.max_tokens, room)
                first, stop = yield from self._speak(reply, sampler, limit, cancelled)
            finally:
                sampler.close()
        now = time.perf_counter()
        spoken = len(reply.tokens)
        speed = (spoken - 1) / (now - first) if spoken > 1 and now > first else 0.0
        text = reply.finish()
        send(
            protocol.Done(
                request.id,
                text=text,
                # A stop sequence cut the text inside these tokens: they no longer stand for it.
                tokens=[] if reply.stream.stopped else reply.tokens,
                completion_tokens=spoken,
                stop_reason=stop,
                first_token_ms=1000 * (first - received) if first else 0.0,
                total_ms=1000 * (now - received),
                prompt_tokens=len(prompt),
                cached_tokens=cached,
                evaluated_tokens=evaluated,
                tokens_per_second=speed,
                prompt_hash=hash_tokens(prompt),
                held_hash=hash_tokens(self.context.tokens),
                held_tokens=len(self.context.tokens),
            )
        )

    def prefill(
        self, request: protocol.Prefill, prefix: list[int], send: Send, cancelled: Callable[[], bool]
    ) -> Job:
        """Reads what prompts will begin with, keeps its state, ends with `Prefilled`.

        Raises `PromptTooLong`.
        """
        self._room(prefix)
        evaluated, kept = 0, self.states.has_room_for(len(prefix))
        if kept and not self.states.covers(prefix):
            cached = self._share(prefix)
            evaluated = yield from self._read(prefix, cached, cancelled)
            if cancelled():
                return
            buffer = yield from prepare_buffer(state_size(self.context))
            kept = self.states.put(snapshot(self.context, buffer))
        send(protocol.Prefilled(request.id, len(prefix) if kept else 0, evaluated, hash_tokens(prefix)))

    def _room(self, prompt: list[int]) -> int:
        """Tokens that are left for a reply, at least one."""
        room = self.context.length - len(prompt)
        if room < 1:
            raise PromptTooLong(len(prompt), self.context.length)
        return room

    def _share(self, prompt: list[int]) -> int:
        """Makes the context hold as much of a prompt as is known; the last token is always read anew.

        That is what the context holds already, or a state that was kept, whichever has more in common with
        the prompt. Returns how many tokens it is.
        """
        context, states = self.context, self.states
        own = states.shared(context.tokens, prompt)
        found = states.best(prompt, above=own + MIN_GAIN, length=context.length)
        stays = own if found is None else common_tokens(context.tokens, found.tokens)
        if self.keeps and len(context.tokens) - stays >= WORTH_KEEPING and not states.covers(context.tokens):
            self._keep()
        if found is not None:
            if not restore(context, found):
                states.drop(found)
            own = states.shared(context.tokens, prompt)
        return context.rewind(own)

    def _keep(self) -> None:
        if self.states.has_room_for(len(self.context.tokens)):
            self.states.put(snapshot(self.context))

    def _read(
        self, prompt: list[int], start: int, cancelled: Callable[[], bool]
    ) -> Generator[None, None, int]:
        """Reads the rest of a prompt in batches; returns how many tokens it was."""
        batch = min(TRIAL_BATCH, self.batch) if self.context.in_doubt() else self.batch
        while len(self.context.tokens) < len(prompt) and not cancelled():
            at = len(self.context.tokens)
            if self.context.evaluate(prompt[at : at + batch]):
                batch = min(2 * batch, self.batch)
            else:
                batch = max(batch // 2, min(LEAST_BATCH, self.batch))
            if len(self.context.tokens) < len(prompt):
                yield
        return len(self.context.tokens) - start

    def _speak(
        self, reply: "_Reply", sampler: Sampler, limit: int, cancelled: Callable[[], bool]
    ) -> Generator[None, None, tuple[float, StopReason]]:
        first = 0.0
        vocab = self.model.vocab
        while True:
            token = sampler.sample(self.context)
            first = first or time.perf_counter()
            # A control token that a model makes up must not come back as a turn of the next prompt.
            if vocab.is_end(token) or vocab.is_control(token):
                return first, StopReason.STOP
            reply.say(token, vocab.piece(token))
            if reply.stream.stopped:
                return first, StopReason.STOP
            if len(reply.tokens) >= limit:
                return first, StopReason.LENGTH
            yield
            while not cancelled() and not self.context.evaluate([token]):
                yield
            if cancelled():
                return first, StopReason.CANCELLED


class _Reply:
    """What has been said so far. The first token is sent at once; then tokens of one moment go together.

    Every message wakes the application, which on a small machine takes its time from the model's threads.
    """

    def __init__(self, request: int, stream: TextStream, send: Send, moment: float) -> None:
        self.stream = stream
        self.tokens: list[int] = []
        self._request = request
        self._send = send
        self._moment = moment
        self._said: list[str] = []
        self._unsent: tuple[list[str], list[int]] = ([], [])
        self._sent_at = 0.0

    def say(self, token: int, piece: bytes) -> None:
        self.tokens.append(token)
        texts, tokens = self._unsent
        texts.append(self.stream.feed(piece))
        tokens.append(token)
        if time.perf_counter() - self._sent_at >= self._moment:
            self._flush()

    def finish(self) -> str:
        """Sends what is left and returns the whole text."""
        self._unsent[0].append(self.stream.finish())
        self._flush()
        return "".join(self._said)

    def _flush(self) -> None:
        texts, tokens = self._unsent
        text = "".join(texts)
        if text or tokens:
            self._send(protocol.Delta(self._request, text, tokens))
            self._said.append(text)
            self._unsent = ([], [])
            self._sent_at = time.perf_counter()


@dataclass(slots=True)
class Embedding:
    """An embedding model: each text becomes one vector of length 1, cut at the context's length."""

    model: Model
    context: Context

    def embed(self, request: protocol.Embed, send: Send, cancelled: Callable[[], bool]) -> Job:
        dimension = self.model.embedding_length
        vectors: list[bytes] = []
        limit = min(self.context.length, self.context.batch)
        for text in request.texts:
            if cancelled():
                return
            tokens = self.model.vocab.framed(text)
            if len(tokens) > limit:
                # The closing mark, if the model has one, stays.
                tokens = [*tokens[: limit - 1], tokens[-1]]
            vector = self.context.embed(tokens, dimension)
            length = math.sqrt(math.fsum(x * x for x in vector)) or 1.0
            vectors.append(struct.pack(f"<{dimension}f", *(x / length for x in vector)))
            yield
        send(protocol.Vectors(request.id, dimension, b"".join(vectors)))
