"""Extractive summaries: the sentences that represent a text, by tf-idf and centrality of vectors."""

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.jobs.foreground_gate import Gently
from memory.summaries.evidence import fold, names, numbers, stem
from memory.summaries.languages import lexicon, words
from memory.summaries.passages import Passage, Span

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

    Those that repeat others, or what `already` says, are skipped.
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
    """Whether little is new; another number always is new."""
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
    """Returns what the summary covers: `12 messages, 3 Nov to 5 Nov, about ferry, Reine.`"""
    count = f"{span.messages} message{'' if span.messages == 1 else 's'}"
    first, last = _day(span.first, span), _day(span.last, span)
    days = first if first == last else f"{first} to {last}"
    about = f", about {', '.join(topics)}" if topics else ""
    return f"{count}, {days}{about}."


def _day(at: datetime, span: Span) -> str:
    year = f" {at.year}" if span.first.year != span.last.year else ""
    return f"{at.day} {MONTHS[at.month - 1]}{year}"
