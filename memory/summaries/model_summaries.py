"""Asks a model for a summary, checks it, asks again with reasons if it fails, and caches the result."""

import asyncio
import hashlib
import json
import math
import tomllib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Literal, Protocol, get_args

from memory.summaries.evidence import Flaw, Refused, Rule, flaws, longest, loops, tidied
from models.messages import ChatMessage, Completion, GenerationParams, Lane, ModelInfo, Role, StopReason
from models.ports import ChatModel, TokenCounter

Kind = Literal["summary", "merge", "section", "document"]
"""Of messages, of summaries of messages, of a part of a document, of summaries of its parts."""

_MERGED_AS: Mapping[Kind, Kind] = {
    "summary": "merge",
    "merge": "merge",
    "section": "document",
    "document": "document",
}
_WORDS_A_TOKEN = 0.75
_USED = 0.7
"""The share of a summary's allowed tokens that the model is asked to use: small models do not count well."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """Templates with `{input}`, `{words}`, `{reasons}`, and a sentence for each flaw with `{details}`."""

    ask: Mapping[str, str]
    again: str
    flaws: Mapping[str, str]

    def first(self, kind: Kind, source: str, most: int) -> str:
        # The source may contain braces: it is inserted, never formatted.
        return self.ask[kind].replace("{words}", str(_words(most))).replace("{input}", source)

    def second(self, refused: Sequence[Refused], most: int) -> str:
        reasons = " ".join(
            self.flaws[one.flaw].replace("{details}", ", ".join(one.details)) for one in refused
        )
        return self.again.replace("{words}", str(_words(most) * 3 // 4)).replace("{reasons}", reasons)

    def around(self, kind: Kind) -> str:
        """Returns everything but the source."""
        return self.ask[kind].replace("{input}", "") + self.again


def _words(tokens: int) -> int:
    return max(12, int(tokens * _WORDS_A_TOKEN * _USED))


@cache
def prompts() -> Prompts:
    found = tomllib.loads((files(__package__) / "prompts.toml").read_text("utf-8"))
    ask = {kind: found[kind]["text"].strip() for kind in get_args(Kind)}
    return Prompts(ask, found["again"]["text"].strip(), found["flaws"])


WORKER_TOKENS = 8_000
"""The longest prompt of a background task, whatever the model could read."""

ANSWER_TOKENS = 192
"""The longest answer requested. Sentences of the source can fill the rest of the room."""

RESULT = "summary"
"""The kind under which results are cached."""

_REASONS_TOKENS = 100
_LEAST_INPUT = 128
_ATTEMPTS = 2
_VERSION = 1
_LOOK_EACH = 160

Checkpoint = Callable[[], Awaitable[None]]
"""Returns when background work may continue."""


class ResultStore(Protocol):
    """The part of `memory.storage.jobs.JobStore` that caches results."""

    async def result(self, kind: str, digest: bytes) -> str | None: ...

    async def keep_result(self, kind: str, digest: bytes, text: str, session_id: str | None) -> None: ...


@dataclass(frozen=True, slots=True)
class Question:
    """What to summarise: `units` are messages or notes, oldest first, each with its speaker."""

    kind: Kind
    units: tuple[str, ...] = field(repr=False)
    speakers: tuple[str, ...]
    session_id: str | None = None


class Asker:
    """Asks a model in the task lane, greedily, in parts that fit into a task's context.

    `task_tokens` is the size of that context. Raises what the model, the counter and the results raise.
    """

    def __init__(
        self,
        model: ChatModel,
        counter: TokenCounter,
        *,
        results: ResultStore | None = None,
        checkpoint: Checkpoint | None = None,
        task_tokens: int = WORKER_TOKENS,
    ) -> None:
        self._model = model
        self._counter = counter
        self._results = results
        self._checkpoint = checkpoint
        self._task_tokens = task_tokens

    async def fingerprint(self) -> str:
        return (await self._model.info()).fingerprint

    async def ask(self, question: Question, most: int) -> str | None:
        """Returns a text of at most `most` tokens that passed the checks, or None when none did.

        A source too long for one prompt is split into parts. Their summaries are joined, and summarised again
        while they are longer than `most`.
        """
        info = await self._model.info()
        room = await self._room(question.kind, info)
        if room < _LEAST_INPUT:
            return None
        parts = await self._parts(question.units, room)
        while len(parts) > 1:
            texts: list[str] = []
            for part, tokens in parts:
                told = await self._told(question, part, longest(tokens), info)
                if told is None:
                    return None
                texts.append(told)
            joined = "\n".join(texts)
            if (await self._counter.count([joined]))[0] <= most:
                return joined
            kind = _MERGED_AS[question.kind]
            question = Question(kind, tuple(texts), question.speakers, question.session_id)
            room = await self._room(question.kind, info)
            parts = await self._parts(question.units, room)
        return await self._told(question, parts[0][0], most, info) if parts else None

    async def _room(self, kind: Kind, info: ModelInfo) -> int:
        """Returns the tokens that the source may have, so that the prompts and two answers also fit."""
        limit = min(WORKER_TOKENS, self._task_tokens, info.context_length)
        fixed = (await self._counter.count([prompts().around(kind)]))[0] + _REASONS_TOKENS
        shape = info.shape
        fixed += shape.base + 3 * max(shape.overhead.values(), default=0)
        return int((limit - fixed) / (1 + _ATTEMPTS * longest(1000) / 1000))

    async def _parts(self, units: Sequence[str], room: int) -> list[tuple[str, int]]:
        """Returns texts of at most `room` tokens with their sizes: as many adjacent units as fit."""
        sized = list(zip(units, await self._counter.count(units), strict=True))
        parts: list[tuple[str, int]] = []
        for unit, size in sized:
            pieces = [(unit, size)] if size < room else await self._cut(unit, size, room)
            for text, tokens in pieces:
                if parts and parts[-1][1] + tokens < room:
                    before, held = parts.pop()
                    # One token for the line end.
                    parts.append((f"{before}\n{text}", held + tokens + 1))
                else:
                    parts.append((text, tokens))
        return parts

    async def _cut(self, text: str, tokens: int, room: int) -> list[tuple[str, int]]:
        """Cuts a text, at white space if possible, into pieces of less than `room` tokens."""
        count = math.ceil(tokens / room)
        while True:
            count += 1
            width = math.ceil(len(text) / count)
            pieces: list[str] = []
            rest = text
            while rest:
                at = rest.rfind(" ", width // 2, width) + 1 if len(rest) > width else len(rest)
                pieces.append(rest[: at or width])
                rest = rest[at or width :]
            sizes = await self._counter.count(pieces)
            if max(sizes) < room or width == 1:
                return list(zip(pieces, sizes, strict=True))

    async def _told(self, question: Question, source: str, most: int, info: ModelInfo) -> str | None:
        """Returns one part's summary; the same question to the same model is answered from the cache."""
        key = json.dumps(
            [_VERSION, info.fingerprint, question.kind, question.speakers, most, source], ensure_ascii=False
        )
        digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
        known = await self._results.result(RESULT, digest) if self._results else None
        if known is not None:
            text: str | None = json.loads(known)
            return text
        text = await self._attempts(question, source, min(most, ANSWER_TOKENS))
        if self._results:
            kept = json.dumps(text, ensure_ascii=False)
            await self._results.keep_result(RESULT, digest, kept, question.session_id)
        return text

    async def _attempts(self, question: Question, source: str, most: int) -> str | None:
        words = prompts()
        rule = Rule(source, question.speakers, most, words.around(question.kind))
        talk = [ChatMessage(Role.USER, words.first(question.kind, source, most))]
        for attempt in range(_ATTEMPTS):
            done = await self._generate(talk, most)
            text = tidied(done.text, cut_off=done.stop_reason is not StopReason.STOP)
            refused = await self._refused(text, rule, done)
            if not refused:
                return text
            if attempt + 1 < _ATTEMPTS:
                # Appended, so that the source is not read again.
                talk += _objection(words, done, refused, most)
        return None

    async def _refused(self, text: str, rule: Rule, done: Completion) -> list[Refused]:
        if done.stop_reason is StopReason.ERROR:
            return [Refused(Flaw.UNFINISHED)]
        if done.stop_reason is StopReason.CANCELLED:
            return [Refused(Flaw.LOOP if loops(done.text) else Flaw.UNFINISHED)]
        tokens = (await self._counter.count([text]))[0]
        return await asyncio.to_thread(flaws, text, tokens, rule)

    async def _generate(self, talk: Sequence[ChatMessage], most: int) -> Completion:
        if self._checkpoint:
            await self._checkpoint()
        params = GenerationParams(max_tokens=most, temperature=0.0, seed=1)
        generation = self._model.generate(tuple(talk), params, Lane.TASK)
        said, looked = "", 0
        try:
            async for event in generation:
                if isinstance(event, Completion):
                    return event
                said += event.text
                if len(said) - looked > _LOOK_EACH:
                    looked = len(said)
                    if loops(said):
                        # A small model that has begun to repeat itself does not stop before its limit.
                        generation.cancel()
        except BaseException:
            generation.cancel()
            raise
        raise RuntimeError("a generation ended without its completion")


def _objection(words: Prompts, done: Completion, refused: Sequence[Refused], most: int) -> list[ChatMessage]:
    return [
        ChatMessage(Role.ASSISTANT, done.text, done.tokens),
        ChatMessage(Role.USER, words.second(refused, most)),
    ]
