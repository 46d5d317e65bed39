"""A summary without a model's words: the sentences that would be missed most, as they were said."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.lifecycle.evidence import names, numbers
from memory.lifecycle.passages import Passage, Span
from memory.lifecycle.ranking import content_words

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_IMPORTANCE = 0.7
_CENTRALITY = 0.2
_EVIDENCE = 0.1
_QUESTION = 0.15
_STILL_OLD = 0.3


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage with its size in tokens and its place in the order of merit (higher is better)."""

    passage: Passage
    tokens: int
    score: float
    stems: frozenset[str]


def ranked(passages: Sequence[Passage], tokens: Sequence[int], centrality: Sequence[float]) -> list[Ranked]:
    """`centrality` is in [0, 1]; importance weighs more, and questions less than what is told."""
    found = []
    for passage, size, central in zip(passages, tokens, centrality, strict=True):
        evidence = min(1.0, (len(numbers(passage.text)) + len(names(passage.text))) / 4)
        score = _IMPORTANCE * passage.weight + _CENTRALITY * central + _EVIDENCE * evidence
        if passage.text.rstrip().endswith("?"):
            score -= _QUESTION
        found.append(Ranked(passage, size, score, frozenset(content_words(passage.text))))
    return found


def chosen(candidates: Sequence[Ranked], room: int, *, already: str = "") -> list[Passage]:
    """The best that fit into `room` tokens, in their order; what repeats others, or what `already` says,
    is passed over."""
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
    """Whether little is new; another number always is."""
    new = stems - other
    if any(char.isdigit() for word in new for char in word):
        return False
    return len(new) <= len(stems) * _STILL_OLD


def compose(passages: Sequence[Passage]) -> str:
    """One line for each run of one speaker's sentences."""
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
    """What and how much it stands for: `12 messages, 3 Nov to 5 Nov, about ferry, Reine.`"""
    count = f"{span.messages} message{'' if span.messages == 1 else 's'}"
    first, last = _day(span.first, span), _day(span.last, span)
    days = first if first == last else f"{first} to {last}"
    about = f", about {', '.join(topics)}" if topics else ""
    return f"{count}, {days}{about}."


def _day(at: datetime, span: Span) -> str:
    year = f" {at.year}" if span.first.year != span.last.year else ""
    return f"{at.day} {MONTHS[at.month - 1]}{year}"
