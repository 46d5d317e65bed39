"""The worker's jobs, which yield after every step: evaluating, sampling, streaming, embedding."""

import codecs
import math
import secrets
import struct
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import llama_cpp.llama_cpp as C  # noqa: N812 - the C interface
import numpy as np

from models.errors import BadGrammar, PromptTooLong
from models.llamacpp.native import Context, Model, Vocabulary
from models.llamacpp.prompts import PromptBuilder
from models.llamacpp.speculation import BatchCosts, DraftRecord, Speculation
from models.llamacpp.states import (
    MIN_GAIN,
    StateCache,
    prepare_buffer,
    restore,
    snapshot,
    state_size,
)
from models.llamacpp.templates import template_limits
from models.messages import GenerationParams, StopReason, common_tokens, hash_tokens
from models.worker import protocol
from models.worker.scheduler import Job

_SEED_MASK = 0xFFFFFFFF


class Sampler:
    """Chooses the next token, greedily when the temperature is 0. Close it when done.

    Raises `BadGrammar`.
    """

    def __init__(self, vocab: Vocabulary, params: GenerationParams) -> None:
        self.handle = C.llama_sampler_chain_init(C.llama_sampler_chain_default_params())
        try:
            for link in _links(vocab, params):
                C.llama_sampler_chain_add(self.handle, link)
        except BadGrammar:
            self.close()
            raise

    def sample(self, context: Context, at: int = -1) -> int:
        """The next token after token `at` of the last batch that the context has evaluated."""
        return int(C.llama_sampler_sample(self.handle, context.handle, at))

    def close(self) -> None:
        if self.handle:
            C.llama_sampler_free(self.handle)
            self.handle = None


def _links(vocab: Vocabulary, params: GenerationParams) -> list[Any]:
    links = []
    text = params.grammar if params.json_schema is None else schema_grammar(params.json_schema)
    if text is not None:
        grammar = C.llama_sampler_init_grammar(vocab._handle, text.encode(), b"root")  # noqa: SLF001
        if not grammar:
            raise BadGrammar
        links.append(grammar)
    if params.repeat_penalty != 1.0:
        penalty = (params.repeat_last_n, params.repeat_penalty, 0.0, 0.0)
        links.append(C.llama_sampler_init_penalties(vocab.size, *penalty))
    if params.temperature == 0:
        return [*links, C.llama_sampler_init_greedy()]
    if params.top_k:
        links.append(C.llama_sampler_init_top_k(params.top_k))
    seed = secrets.randbits(32) if params.seed is None else params.seed & _SEED_MASK
    return [
        *links,
        C.llama_sampler_init_top_p(params.top_p, 1),
        C.llama_sampler_init_min_p(params.min_p, 1),
        C.llama_sampler_init_temp(params.temperature),
        C.llama_sampler_init_dist(seed),
    ]


def schema_grammar(schema: str) -> str:
    """Returns a JSON schema as GBNF. Raises `BadGrammar`."""
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    try:
        with template_limits():
            return str(json_schema_to_gbnf(schema))
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise BadGrammar from None


class TextStream:
    """Collects the bytes of a reply and returns text that can no longer change.

    An incomplete character is held back, and so is an end that may be the beginning of a stop sequence. Bytes
    that are not UTF-8 become U+FFFD.
    """

    def __init__(self, stop: Sequence[str] = ()) -> None:
        self._stop = tuple(s for s in stop if s)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self.stopped = False

    def feed(self, data: bytes) -> str:
        """Returns the text that became final; empty once a stop sequence was found."""
        if self.stopped:
            return ""
        self._held += self._decoder.decode(data)
        return self._release()

    def finish(self) -> str:
        """Returns the text that was still held back, at the end of a reply."""
        if self.stopped:
            return ""
        self._held += self._decoder.decode(b"", final=True)
        # If a stop sequence is found here, nothing is held back.
        text = self._release() + self._held
        self._held = ""
        return text

    def _release(self) -> str:
        ends = [at for at in (self._held.find(s) for s in self._stop) if at >= 0]
        if ends:
            self.stopped = True
            text, self._held = self._held[: min(ends)], ""
            return text
        keep = max((_overlap(self._held, s) for s in self._stop), default=0)
        cut = len(self._held) - keep
        text, self._held = self._held[:cut], self._held[cut:]
        return text


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that is a beginning of `stop`, but not all of it."""
    for length in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:length]):
            return length
    return 0


Send = Callable[[protocol.AnyAnswer], None]
MOMENT_S = 0.1
"""Seconds for which tokens are gathered into one message, because each message has a cost."""
CROWDED_MOMENT_S = 0.25
"""The same where the model uses every processor; a growing reply is drawn about as often then."""
# A state given up for another prompt is cached if this many tokens would be lost; fewer are not worth the
# copy.
WORTH_KEEPING = 256
# A pre-empted batch is lost. Work that yields to the chat therefore halves its batch at each interruption, so
# that it makes progress however short the pauses are.
LEAST_BATCH = 8
TRIAL_BATCH = 32


_LITTLE = 16
"""Tokens: reading more than these is no part of what a guess takes."""
_LEAST_CERTAIN = 0.4
"""The least probability, by the draft model itself, of a guess."""


class DraftModel:
    """A small model with the vocabulary of a larger one, which guesses what the larger one says next."""

    def __init__(self, model: Model, context: Context) -> None:
        self.record = DraftRecord()
        self.context = context
        self._model = model

    def guess(
        self, tokens: Sequence[int], most: int, cancelled: Callable[[], bool]
    ) -> Generator[None, None, list[int]]:
        """Returns at most `most` tokens that may follow `tokens`; fewer where it is not certain.

        What it has not read yet of `tokens` is evaluated in batches, between which others may work.
        """
        context = self.context
        if len(tokens) + most > context.length:
            return []
        # The last token is always evaluated again: its logits are those of whatever was evaluated last.
        context.rewind(min(common_tokens(context.tokens, tokens), len(tokens) - 1))
        behind, began = len(tokens) - len(context.tokens), time.perf_counter()
        while len(context.tokens) < len(tokens):
            at = len(context.tokens)
            context.evaluate(tokens[at : at + context.batch])
            if cancelled():
                return []
            if len(context.tokens) < len(tokens):
                yield
        found: list[int] = []
        while len(found) < most:
            token, certain = self._likeliest()
            vocab = self._model.vocab
            if certain < _LEAST_CERTAIN or vocab.is_end(token) or vocab.is_control(token):
                break
            found.append(token)
            if len(found) < most and not context.evaluate([token]):
                break
        if found and behind <= _LITTLE:
            self.record.took((time.perf_counter() - began) / len(found))
        return found

    def _likeliest(self) -> tuple[int, float]:
        """The most likely next token, with its probability."""
        size = self._model.vocab.size
        logits = np.ctypeslib.as_array(C.llama_get_logits_ith(self.context.handle, -1), (size,))
        best = int(logits.argmax())
        return best, 1 / float(np.exp(logits - logits[best]).sum())

    def close(self) -> None:
        self.context.close()
        self._model.close()


@dataclass(slots=True)
class ContextRunner:
    """A chat model with one context, which evaluates only tokens that the context does not contain.

    When the context must give up its tokens for another prompt, `states` receives a copy if `keeps`. `batch`
    is the number of tokens evaluated at a time. Replies are written speculatively unless `costs` is None;
    where the conversation gives no guess, `draft` guesses.
    """

    model: Model
    prompts: PromptBuilder
    context: Context
    states: StateCache
    batch: int
    keeps: bool
    costs: BatchCosts | None = None
    draft: DraftModel | None = None

    def generate(
        self,
        request: protocol.Generate,
        prompt: list[int],
        received: float,
        send: Send,
        cancelled: Callable[[], bool],
    ) -> Job:
        """Evaluates the prompt, streams deltas, ends with `Done`. Raises `PromptTooLong`, `BadGrammar`.

        `received` is when the request arrived, on the clock of `time.perf_counter`.
        """
        params = GenerationParams(**{f: getattr(request.params, f) for f in request.params.__struct_fields__})
        room = self._room(prompt)
        usual = CROWDED_MOMENT_S if self.context.takes_every_processor else MOMENT_S
        moment = usual if params.gather_s is None else params.gather_s
        reply = _Reply(request.id, TextStream(params.stop), send, moment)
        cached = self._share(prompt)
        evaluated = yield from self._read(prompt, cached, cancelled)
        first = 0.0
        stop = StopReason.CANCELLED
        drafts = self.draft.record if self.draft is not None else None
        speculation = Speculation(prompt, self.costs, drafts) if self.costs is not None else None
        if not cancelled():
            sampler = Sampler(self.model.vocab, params)
            try:
                limit = min(params.max_tokens, room)
                first, stop = yield from self._speak(reply, sampler, limit, speculation, cancelled)
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
                # A stop sequence cut the text inside these tokens, so they no longer match it.
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
                drafted_tokens=speculation.drafted if speculation else 0,
                accepted_tokens=speculation.accepted if speculation else 0,
            )
        )

    def prefill(
        self, request: protocol.Prefill, prefix: list[int], send: Send, cancelled: Callable[[], bool]
    ) -> Job:
        """Evaluates the beginning of later prompts, caches its state, ends with `Prefilled`.

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
        """Tokens left for a reply, at least one. Raises `PromptTooLong`."""
        room = self.context.length - len(prompt)
        if room < 1:
            raise PromptTooLong(len(prompt), self.context.length)
        return room

    def _share(self, prompt: list[int]) -> int:
        """Reuses as much of a prompt as is already evaluated; returns the number of tokens reused.

        The source is the context's own tokens, or a cached state that shares more than `MIN_GAIN` tokens
        more. The last token is always evaluated again.
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
        """Evaluates the rest of a prompt in batches; returns the number of tokens evaluated."""
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
        self,
        reply: "_Reply",
        sampler: Sampler,
        limit: int,
        speculation: Speculation | None,
        cancelled: Callable[[], bool],
    ) -> Generator[None, None, tuple[float, StopReason]]:
        first, at = 0.0, -1
        vocab, context = self.model.vocab, self.context
        # Guessed tokens that the context has already evaluated, after the accepted ones.
        ahead: list[int] = []
        try:
            while True:
                token = sampler.sample(context, at)
                first = first or time.perf_counter()
                # A control token that the model generates must not become a turn of the next prompt.
                if vocab.is_end(token) or vocab.is_control(token):
                    return first, StopReason.STOP
                reply.say(token, vocab.piece(token))
                if reply.stream.stopped:
                    return first, StopReason.STOP
                if len(reply.tokens) >= limit:
                    return first, StopReason.LENGTH
                if speculation is not None:
                    speculation.said(token)
                    if ahead and token == ahead[0]:
                        del ahead[0]
                        at += 1
                        speculation.accepted += 1
                        continue
                    context.rewind(len(context.tokens) - len(ahead))
                    ahead = []
                yield
                guessed = yield from self._guesses(speculation, token, limit - len(reply.tokens), cancelled)
                while not cancelled():
                    if self._next([token, *guessed]):
                        ahead, at = guessed, 0
                        break
                    # What interrupts is urgent: nothing more is lost to guesses.
                    guessed = []
                    yield
                if cancelled():
                    return first, StopReason.CANCELLED
                if speculation is not None:
                    speculation.drafted += len(ahead)
        finally:
            context.rewind(len(context.tokens) - len(ahead))

    def _guesses(
        self, speculation: Speculation | None, newest: int, left: int, cancelled: Callable[[], bool]
    ) -> Generator[None, None, list[int]]:
        """Returns guesses for the tokens after the newest one, up to the first that ends or steers a reply.
        `left` is how many tokens the reply may still have."""
        if speculation is None:
            return []
        vocab, context = self.model.vocab, self.context
        most = max(0, min(left - 1, context.length - len(context.tokens) - 1, context.batch - 1))
        guessed = speculation.guess(most)
        if not guessed and self.draft is not None and (wanted := speculation.wanted(most)):
            guessed = yield from self.draft.guess([*context.tokens, newest], wanted, cancelled)
            speculation.guessed(guessed)
        steers = (at for at, one in enumerate(guessed) if vocab.is_end(one) or vocab.is_control(one))
        return guessed[: next(steers, len(guessed))]

    def _next(self, tokens: list[int]) -> bool:
        """Evaluates the newest token and guesses after it; returns False when it was aborted."""
        began = time.perf_counter()
        if not self.context.evaluate(tokens, each=True):
            return False
        if self.costs is not None:
            self.costs.took(len(tokens), time.perf_counter() - began)
        return True


class _Reply:
    """A reply in progress. The first token is sent at once, later ones are gathered for `moment` seconds.

    Every message wakes the application, which on a small machine takes processor time from the model's
    threads.
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
    """An embedding model: each text, cut at the context's length, becomes one vector of length 1."""

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
                # Keeps the closing mark, if the model has one.
                tokens = [*tokens[: limit - 1], tokens[-1]]
            vector = self.context.embed(tokens, dimension)
            length = math.sqrt(math.fsum(x * x for x in vector)) or 1.0
            vectors.append(struct.pack(f"<{dimension}f", *(x / length for x in vector)))
            yield
        send(protocol.Vectors(request.id, dimension, b"".join(vectors)))
