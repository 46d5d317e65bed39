"""Learns from a model's answers: the model points at the user's words; the rest of its answer is not used."""

import asyncio
import hashlib
import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import msgspec

from memory.learning.entities import Candidate, Utterance, denies, found, spaced, supported
from memory.learning.reader import statement, worded
from memory.learning.statement_filter import LONGEST, asks, plain, reading, sentences
from memory.memories.entities import MemoryKind, MemoryOrigin
from memory.summaries.evidence import phrases
from memory.summaries.model_summaries import Checkpoint, ResultStore
from memory.summaries.summarise import Trust
from models.messages import ChatMessage, Completion, GenerationParams, Lane, Role, StopReason
from models.ports import ChatModel

GROUP = 6
"""How many messages of the user are read together."""

RESULT = "learn"
"""The kind under which answers are cached."""

_VERSION = 1
_ANSWER_TOKENS = 160
_LONGEST_MESSAGE = 700
_BEFORE = 240
_CONFIDENCE = 0.6
_LEAST_WORDS = 3
_OWN = re.compile(
    r"\b(?:i|i[’'](?:m|ve)|my|we|we[’'](?:re|ve)|our|ich|mein\w*|wir|je|j[’']|mon|ma|yo|mi)\b", re.IGNORECASE
)
_PASSING = re.compile(
    r"\b(?:i|we)(?:[’']d|[’']ll| would| could| might| may| should| will| want| need| wanted| needed| think"
    r"| guess| hope| wish| try| tried| wonder| understand| see| know| mean| am trying| am looking)\b"
    r"|\b(?:you|your)\b"
    r"|\bi[’']m (?:trying|looking|asking|wondering|going|stuck|getting|having|sorry|sure|not|done|back)\b",
    re.IGNORECASE,
)


class _Item(msgspec.Struct, frozen=True):
    kind: MemoryKind
    quote: str


@dataclass(frozen=True, slots=True)
class _Words:
    text: str
    grammar: str


class ModelReader:
    """Asks a model about groups of messages, in the task lane.

    `results` caches answers; `checkpoint` is awaited before a model is asked. A model whose quotes are never
    found is asked rarely. Raises what the model and the results raise.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        results: ResultStore | None = None,
        checkpoint: Checkpoint | None = None,
        trust: Trust | None = None,
    ) -> None:
        self._model = model
        self._results = results
        self._checkpoint = checkpoint
        self._trust = trust or Trust()

    async def read(self, group: Sequence[Utterance]) -> list[Candidate]:
        """Returns what the model points at in these messages of one session, except matches of patterns."""
        told = await asyncio.to_thread(lambda: [utterance for utterance in group if worth_asking(utterance)])
        if not told:
            return []
        model = (await self._model.info()).fingerprint
        asked = _prompt(told)
        digest = hashlib.sha256(f"{_VERSION}\n{model}\n{asked}".encode("utf-8", "surrogatepass")).digest()
        answer = await self._results.result(RESULT, digest) if self._results else None
        fresh = answer is None
        if answer is None:
            if not self._trust.worth_asking(model):
                return []
            answer = await self._answer(asked)
            if self._results:
                await self._results.keep_result(RESULT, digest, answer, told[0].session_id)
        items = _items(answer)
        quoted = [(item, utterance) for item in items if (utterance := _source(item.quote, told)) is not None]
        if items and fresh:
            self._trust.note(model, passed=bool(quoted))
        made = await asyncio.to_thread(
            lambda: [_candidate(item, utterance, model) for item, utterance in quoted]
        )
        return [one for one in made if one is not None]

    async def _answer(self, asked: str) -> str:
        if self._checkpoint:
            await self._checkpoint()
        params = GenerationParams(
            max_tokens=_ANSWER_TOKENS, temperature=0.0, seed=1, grammar=_words().grammar
        )
        generation = self._model.generate((ChatMessage(Role.USER, asked),), params, Lane.TASK)
        try:
            async for event in generation:
                if isinstance(event, Completion):
                    return event.text if event.stop_reason is StopReason.STOP else ""
        except BaseException:
            generation.cancel()
            raise
        raise RuntimeError("a generation ended without its completion")


def worth_asking(utterance: Utterance) -> bool:
    """Whether a message says something in the user's own voice that no pattern matched."""
    return any(_open(clause) for one in sentences(utterance.text) for clause in one.clauses)


def _open(clause: str) -> bool:
    told = plain(clause)
    return (
        len(told.split()) >= _LEAST_WORDS
        and _OWN.search(told) is not None
        and not asks(told)
        and not denies(told)
        and _PASSING.search(told) is None
        and reading(told) is None
    )


def _candidate(item: _Item, utterance: Utterance, model: str) -> Candidate | None:
    """Returns the clause that the quote points at, verbatim, if it is a statement by the user."""
    quote = spaced(item.quote)
    utterance = replace(utterance, text=utterance.text[:LONGEST])
    for sentence in sentences(utterance.text):
        for clause in sentence.clauses:
            said = spaced(clause)
            if (quote not in said and said not in quote) or not _open(clause):
                continue
            told = plain(clause)
            if not phrases().fact.search(told) and not phrases().decision.search(told):
                return None
            text = worded(told)
            if not supported(text, clause, utterance.text):
                return None
            kind = item.kind if item.kind is not MemoryKind.PROCEDURE else MemoryKind.FACT
            made = statement(utterance, kind, text, clause, confidence=_CONFIDENCE)
            return replace(made, origin=MemoryOrigin.MODEL, model=model)
    return None


def _source(quote: str, group: Sequence[Utterance]) -> Utterance | None:
    return next((utterance for utterance in group if found(quote, utterance.text)), None)


def _items(answer: str) -> list[_Item]:
    """Returns the items of an answer; none when it was cut off or is not valid."""
    try:
        return msgspec.json.decode(answer, type=list[_Item])
    except (msgspec.ValidationError, msgspec.DecodeError):
        return []


def _prompt(group: Sequence[Utterance]) -> str:
    messages = "\n".join(
        f"{number}. {spaced(utterance.text)[:_LONGEST_MESSAGE]}" for number, utterance in enumerate(group, 1)
    )
    before = spaced(group[0].before)[:_BEFORE] or "nothing"
    # The messages may contain braces: they are inserted, never formatted.
    return (
        _words()
        .text.replace("{before}", json.dumps(before, ensure_ascii=False))
        .replace("{messages}", messages)
    )


@cache
def _words() -> _Words:
    found_ = tomllib.loads((files(__package__) / "asking.toml").read_text("utf-8"))
    return _Words(found_["text"].strip(), found_["grammar"].strip())
