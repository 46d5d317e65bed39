"""Summaries: a model's text if it passes the checks, else the source's own sentences."""

import asyncio
import math
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from memory.context.entities import Summary
from memory.jobs.foreground_gate import Gently
from memory.summaries.evidence import fold, longest, names, numbers, stem
from memory.summaries.languages import lexicon, words
from memory.summaries.model_summaries import WORKER_TOKENS, Asker, Checkpoint, Kind, Question, ResultStore
from memory.summaries.planning import Passage, SourceMessage, Span, of_messages, of_summary, of_text, span_of
from models.ports import ChatModel, TokenCounter

_LEAST_LETTERS = 3
_NAME_BONUS = 1.6


def content_words(text: str) -> list[str]:
    """Returns stems of the words that carry meaning, and numbers."""
    common = lexicon().common
    found = [fold(word) for word in words(text)]
    kept = [stem(word) for word in found if len(word) >= _LEAST_LETTERS and word not in common]
    return kept + [piece for piece in text.split() if any(char.isdigit() for char in piece)]


def centrality_of_words(texts: Sequence[str]) -> list[float]:
    """Returns the cosine of each text's tf-idf vector with the mean of all, in [0, 1]."""
    # Words are numbered and no vector is kept, which would take much memory for thousands of messages.
    numbers: dict[str, int] = {}
    bags = [
        array("L", [numbers.setdefault(word, len(numbers)) for word in content_words(text)]) for text in texts
    ]
    seen = Counter(word for bag in bags for word in set(bag))
    rarity = [math.log(1 + len(bags) / seen[word]) for word in range(len(numbers))]
    mean = [0.0] * len(numbers)
    for bag in Gently(bags):
        for word, value in _vector(bag, rarity):
            mean[word] += value
    length = math.sqrt(sum(value * value for value in mean)) or 1.0
    return [sum(value * mean[word] for word, value in _vector(bag, rarity)) / length for bag in Gently(bags)]


def _vector(bag: Sequence[int], rarity: Sequence[float]) -> list[tuple[int, float]]:
    """Returns word numbers with their weights, of length 1."""
    found = [(word, n * rarity[word]) for word, n in Counter(bag).items()]
    length = math.sqrt(sum(value * value for _, value in found)) or 1.0
    return [(word, value / length) for word, value in found]


def centrality_of_vectors(vectors: Sequence[Sequence[float]]) -> list[float]:
    """Returns the cosine of each vector (of length 1) with the mean of all."""
    if not vectors:
        return []
    mean = [math.fsum(column) for column in zip(*vectors, strict=True)]
    length = math.sqrt(math.fsum(value * value for value in mean)) or 1.0
    return [sum(map(float.__mul__, map(float, vector), mean)) / length for vector in vectors]


def normalised(values: Sequence[float]) -> list[float]:
    """Scales values to [0, 1]; all 0 when they are equal."""
    if not values:
        return []
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.0 for value in values]


def topics(texts: Sequence[str], *, limit: int = 4) -> tuple[str, ...]:
    """Returns the words that most texts are about, as written, most frequent first. Names weigh more."""
    common = lexicon().common
    counts: Counter[str] = Counter()
    spelled: dict[str, Counter[str]] = {}
    named = {stem(fold(name)) for text in texts for name in names(text)}
    for text in texts:
        seen: set[str] = set()
        for word in words(text):
            folded = fold(word)
            root = stem(folded)
            if len(folded) < _LEAST_LETTERS or folded in common:
                continue
            spelled.setdefault(root, Counter())[word if root in named else folded] += 1
            seen.add(root)
        counts.update(seen)
    weight = {root: n * (_NAME_BONUS if root in named else 1.0) for root, n in counts.items()}
    best = sorted(weight, key=lambda root: (-weight[root], -len(root), root))[:limit]
    return tuple(spelled[root].most_common(1)[0][0] for root in best)


MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_IMPORTANCE = 0.7
_CENTRALITY = 0.2
_EVIDENCE = 0.1
_QUESTION = 0.15
_STILL_OLD = 0.3


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage with its size in tokens and its score (higher is better)."""

    passage: Passage
    tokens: int
    score: float
    stems: frozenset[str]


def ranked(passages: Sequence[Passage], tokens: Sequence[int], centrality: Sequence[float]) -> list[Ranked]:
    """Scores passages. `centrality` is in [0, 1]; importance weighs more, questions less than statements."""
    found = []
    for passage, size, central in zip(passages, tokens, centrality, strict=True):
        evidence = min(1.0, (len(numbers(passage.text)) + len(names(passage.text))) / 4)
        score = _IMPORTANCE * passage.weight + _CENTRALITY * central + _EVIDENCE * evidence
        if passage.text.rstrip().endswith("?"):
            score -= _QUESTION
        found.append(Ranked(passage, size, score, frozenset(content_words(passage.text))))
    return found


def chosen(candidates: Sequence[Ranked], room: int, *, already: str = "") -> list[Passage]:
    """Returns the best passages that fit into `room` tokens, in text order.

    Those that repeat others, or the text of `already`, are skipped.
    """
    kept: list[int] = []
    said = [frozenset(content_words(already))] if already else []
    for index in sorted(range(len(candidates)), key=lambda i: (-candidates[i].score, i)):
        one = candidates[index]
        if one.tokens > room or any(_repeats(one.stems, other) for other in said):
            continue
        kept.append(index)
        said.append(one.stems)
        room -= one.tokens
    return [candidates[index].passage for index in sorted(kept)]


def _repeats(stems: frozenset[str], other: frozenset[str]) -> bool:
    """Whether little is new; a different number is always new."""
    new = stems - other
    if any(char.isdigit() for word in new for char in word):
        return False
    return len(new) <= len(stems) * _STILL_OLD


def compose(passages: Sequence[Passage]) -> str:
    """Returns one line for each run of one speaker's sentences."""
    lines: list[str] = []
    before: str | None = None
    for passage in passages:
        if passage.speaker and passage.speaker == before:
            lines[-1] += f" {passage.text}"
        else:
            lines.append(passage.line)
        before = passage.speaker
    return "\n".join(lines)


def header(span: Span, topics: Sequence[str]) -> str:
    """Returns a line on what the summary covers: `12 messages, 3 Nov to 5 Nov, about ferry, Reine.`"""
    count = f"{span.messages} message{'' if span.messages == 1 else 's'}"
    first, last = _day(span.first, span), _day(span.last, span)
    days = first if first == last else f"{first} to {last}"
    about = f", about {', '.join(topics)}" if topics else ""
    return f"{count}, {days}{about}."


def _day(at: datetime, span: Span) -> str:
    year = f" {at.year}" if span.first.year != span.last.year else ""
    return f"{at.day} {MONTHS[at.month - 1]}{year}"


_MOST_EMBEDDED = 96
_EMBED_BATCH = 16
_KEPT_FROM = 0.5
_HEADER_SHARE = 3


@dataclass(frozen=True, slots=True)
class Draft:
    """A summary before it is stored.

    `model` is the fingerprint of the model that was asked. With `fallback` none of its answers passed, or (no
    `model`) none was asked.
    """

    text: str = field(repr=False)
    topics: tuple[str, ...] = field(default=(), repr=False)
    fallback: bool = False
    model: str | None = None


@dataclass(frozen=True, slots=True)
class _Source:
    question: Question
    passages: tuple[Passage, ...]
    span: Span | None
    most: int
    topics: tuple[str, ...]


class Trust:
    """Decides whether to ask a model: each failed answer costs seconds, and small models fail for hours.

    After `patience` failures in a row only every `rest`-th summary is requested, until one passes. The others
    are made without the model; they are improved when there is time.
    """

    def __init__(self, *, patience: int = 3, rest: int = 8) -> None:
        self._patience = patience
        self._rest = rest
        self._failed: dict[str, int] = {}
        self._skipped: dict[str, int] = {}

    def worth_asking(self, model: str) -> bool:
        """Whether to ask the model (a fingerprint) now; each refusal is counted."""
        if self._failed.get(model, 0) < self._patience:
            return True
        self._skipped[model] = self._skipped.get(model, 0) + 1
        return self._skipped[model] % self._rest == 0

    def note(self, model: str, *, passed: bool) -> None:
        self._failed[model] = 0 if passed else self._failed.get(model, 0) + 1


class Vectors(Protocol):
    """Makes vectors where possible."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]] | None:
        """Returns one vector for each text; None if the model fails: then word centrality alone is used."""
        ...


class Summariser:
    """Summarises messages, and merges summaries.

    `results` caches a model's answers, `checkpoint` is awaited between steps so that turns run first, and
    `task_tokens` is the size of the model's context for tasks. Raises what these raise.
    """

    def __init__(
        self,
        model: ChatModel,
        counter: TokenCounter,
        embedder: Vectors | None = None,
        *,
        results: ResultStore | None = None,
        checkpoint: Checkpoint | None = None,
        task_tokens: int = WORKER_TOKENS,
    ) -> None:
        self._counter = counter
        self._embedder = embedder
        self._checkpoint = checkpoint
        self._trust = Trust()
        self._asker = Asker(model, counter, results=results, checkpoint=checkpoint, task_tokens=task_tokens)

    async def fingerprint(self) -> str:
        """Returns the fingerprint of the model that is asked. Loads it if necessary."""
        return await self._asker.fingerprint()

    async def summarise(
        self, texts: Sequence[SourceMessage], *, most: int | None = None, session_id: str | None = None
    ) -> Draft:
        """Returns a summary of at most 35 % of the tokens of `texts` (short: 40 tokens), at most `most`."""
        return await self._drafted(await self._of_messages(texts, most, session_id))

    async def merge(
        self,
        parts: Sequence[Summary],
        texts: Sequence[SourceMessage],
        *,
        most: int | None = None,
        session_id: str | None = None,
    ) -> Draft:
        """Merges adjacent summaries into one; `texts` are the messages that they cover.

        It has at most 35 % of the tokens of the messages, and at most `most`.
        """
        return await self._drafted(await self._of_summaries(parts, texts, most, session_id))

    async def quick(
        self, texts: Sequence[SourceMessage], *, most: int | None = None, shortened: bool = True
    ) -> Draft:
        """Like `summarise`, but at once without any model, and marked `fallback`.

        Unless `shortened`, it uses all of `most`.
        """
        source = await self._of_messages(texts, most, None)
        if not shortened and most is not None:
            source = replace(source, most=most)
        return await self._extracted(source, None, None) if source.passages else self._nothing(source)

    async def quick_merge(
        self, parts: Sequence[Summary], texts: Sequence[SourceMessage], *, most: int | None = None
    ) -> Draft:
        """Like `merge`, but at once without any model, and marked `fallback`."""
        source = await self._of_summaries(parts, texts, most, None)
        return await self._extracted(source, None, None) if source.passages else self._nothing(source)

    async def section(self, text: str, *, most: int, ask: bool = True) -> Draft:
        """Returns a summary of a part of a document: at most 35 % of its tokens, and at most `most`.

        Without `ask` no model is asked.
        """
        return await self._of_text("section", [text], most, ask=ask)

    async def document(self, notes: Sequence[str], *, most: int, ask: bool = True) -> Draft:
        """Returns a summary of a document from notes on its parts, in order: at most `most` tokens."""
        return await self._of_text("document", notes, most, ask=ask)

    async def _of_text(self, kind: Kind, texts: Sequence[str], most: int, *, ask: bool) -> Draft:
        units = tuple(text.strip() for text in texts if text.strip())
        if kind == "section":
            most = min(most, longest(sum(await self._counter.count(units))))
        passages = tuple(await asyncio.to_thread(of_text, Gently(units)))
        source = await _source(Question(kind, units, ()), passages, None, most)
        if not source.passages:
            return self._nothing(source)
        return await self._drafted(source) if ask else await self._extracted(source, None, None)

    async def _of_messages(
        self, texts: Sequence[SourceMessage], most: int | None, session_id: str | None
    ) -> _Source:
        said = [text for text in texts if text.text.strip()]
        units = tuple(f"{text.label}: {text.text.strip()}" for text in said)
        total = sum(await self._counter.count(units))
        passages = tuple(await asyncio.to_thread(of_messages, Gently(said)))
        question = Question("summary", units, _speakers(said), session_id)
        return await _source(question, passages, span_of(texts), _least(longest(total), most))

    async def _of_summaries(
        self,
        parts: Sequence[Summary],
        texts: Sequence[SourceMessage],
        most: int | None,
        session_id: str | None,
    ) -> _Source:
        speakers = _speakers(texts)
        units = tuple(part.text.strip() for part in parts if part.text.strip())
        total = sum(await self._counter.count([text.text for text in texts]))
        passages = tuple(
            passage
            for part in parts
            # Text that a user has written into a summary should be kept.
            for passage in of_summary(part.text, speakers, important=part.edited)
        )
        question = Question("merge", units, speakers, session_id)
        return await _source(question, passages, span_of(texts), _least(longest(total), most))

    async def _drafted(self, source: _Source) -> Draft:
        if not source.passages:
            return self._nothing(source)
        model = await self._asker.fingerprint()
        if not self._trust.worth_asking(model):
            return await self._extracted(source, self._embedder, None)
        text = await self._asker.ask(source.question, source.most)
        self._trust.note(model, passed=text is not None)
        if text is None:
            return await self._extracted(source, self._embedder, model)
        return Draft(await self._completed(text, source), source.topics, model=model)

    def _nothing(self, source: _Source) -> Draft:
        """Returns only a header: no model is asked about messages without content."""
        about = ["small talk"] if source.question.units else []
        return Draft(header(source.span, about) if source.span else "", tuple(about))

    async def _completed(self, text: str, source: _Source) -> str:
        """Adds the important sentences that the model left out, as many as fit."""
        missing = [passage for passage in source.passages if passage.weight >= _KEPT_FROM]
        room = source.most - (await self._counter.count([text]))[0] - 1
        candidates = await self._candidates(missing, None)
        kept = await asyncio.to_thread(chosen, candidates, room, already=text)
        return await self._fitting(text, kept, source.most)

    async def _extracted(self, source: _Source, embedder: Vectors | None, model: str | None) -> Draft:
        top = header(source.span, source.topics) if source.span else ""
        size = (await self._counter.count([top]))[0]
        if size * _HEADER_SHARE > source.most and source.span:
            top = header(source.span, ())
            size = (await self._counter.count([top]))[0]
        if size * 2 > source.most:
            top, size = "", 0
        candidates = await self._candidates(source.passages, embedder)
        # Each candidate is counted with its line end, which the last one does not have.
        kept = await asyncio.to_thread(chosen, candidates, source.most - size + (0 if top else 1))
        text = await self._fitting(top, kept, source.most)
        if not kept:
            best = max(candidates, key=lambda one: one.score)
            text = "\n".join(
                part for part in (top, await self._clipped(best, source.most - size - 1)) if part
            )
        return Draft(text, source.topics, fallback=True, model=model)

    async def _candidates(self, passages: Sequence[Passage], embedder: Vectors | None) -> list[Ranked]:
        """Returns the passages with their scores; of very many only the best, in text order."""
        texts = [passage.text for passage in passages]
        central = normalised(await asyncio.to_thread(centrality_of_words, Gently(texts)))
        if len(passages) > _MOST_EMBEDDED:
            best = sorted(range(len(passages)), key=lambda i: -(passages[i].weight + central[i] / 2))
            kept = sorted(best[:_MOST_EMBEDDED])
            passages, central = [passages[i] for i in kept], [central[i] for i in kept]
        vectors = None if embedder is None else await self._vectors(passages, embedder)
        if vectors is not None:
            central = normalised(centrality_of_vectors(vectors))
        sizes = await self._counter.count([f"{passage.line}\n" for passage in passages])
        return await asyncio.to_thread(ranked, passages, sizes, central)

    async def _vectors(self, passages: Sequence[Passage], embedder: Vectors) -> list[list[float]] | None:
        vectors: list[list[float]] = []
        for at in range(0, len(passages), _EMBED_BATCH):
            if self._checkpoint:
                await self._checkpoint()
            made = await embedder.embed([passage.text for passage in passages[at : at + _EMBED_BATCH]])
            if made is None:
                return None
            vectors += made
        return vectors

    async def _fitting(self, top: str, kept: list[Passage], most: int) -> str:
        """Joins `top` and the passages, dropping the last ones while the result is too long."""
        while True:
            text = "\n".join(part for part in (top, compose(kept)) if part)
            if not kept or (await self._counter.count([text]))[0] <= most:
                return text
            kept = kept[:-1]

    async def _clipped(self, one: Ranked, room: int) -> str:
        """Returns as much of the beginning of one sentence as fits."""
        line, length = one.passage.line, len(one.passage.line)
        while length > 1:
            length = length * 3 // 4
            # At the end of a word, where there are spaces.
            text = f"{line[: line.rfind(' ', length // 2, length) + 1 or length].rstrip()} …"
            if (await self._counter.count([text]))[0] <= room:
                return text
        return "…"


def _speakers(texts: Sequence[SourceMessage]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.label for text in texts))


def _least(one: int, other: int | None) -> int:
    return one if other is None else min(one, other)


async def _source(question: Question, passages: tuple[Passage, ...], span: Span | None, most: int) -> _Source:
    about = await asyncio.to_thread(topics, Gently([passage.text for passage in passages]))
    return _Source(question, passages, span, max(most, 1), about)
