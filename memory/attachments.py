"""Attachments: what was read out of a file, and which of its passages are read for a question."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memory.recall.words import content_words


@dataclass(frozen=True, slots=True)
class NewAttachment:
    """`size` is that of the file in bytes, `text` all that was read out of it."""

    name: str
    media_type: str
    size: int
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A text that belongs to a session, and goes wherever the session goes."""

    id: str
    session_id: str
    name: str
    media_type: str
    size: int
    added_at: datetime
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Document:
    """One text under one name, and the sessions that it is attached to: their ids with those of its
    attachments there, the latest first. `characters` are those of its text."""

    name: str
    media_type: str
    size: int
    characters: int
    places: tuple[tuple[str, str], ...]


NEAREST_FIRST = 48
"""Passages that are looked at by meaning: those that fit best by their words."""
_K1, _B = 1.2, 0.75
_NEIGHBOUR = 0.5
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_ENDINGS = ("ing", "ed", "es", "ly", "s")
_SHORTEST_STEM = 3


def terms(text: str) -> list[str]:
    """Words without their commonest English endings; pairs of characters where no spaces part words."""
    found: list[str] = []
    for word in _WORD.findall(text.casefold()):
        if _UNSPACED.search(word):
            found += [word[at : at + 2] for at in range(max(1, len(word) - 1))]
        else:
            found.append(_stem(word))
    return found


def _stem(word: str) -> str:
    if word.endswith("ies") and len(word) - _SHORTEST_STEM >= _SHORTEST_STEM:
        return f"{word[:-3]}y"
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word[: -len(ending)]
    return word


def by_words(question: str, passages: Sequence[str]) -> list[float]:
    """BM25 of each passage."""
    asked = set(content_words(terms(question)))
    counted = [Counter(terms(passage)) for passage in passages]
    lengths = [counts.total() for counts in counted]
    mean = (sum(lengths) / len(lengths) if lengths else 0.0) or 1.0
    scores = [0.0] * len(passages)
    for term in asked:
        holders = [at for at, counts in enumerate(counted) if term in counts]
        rarity = math.log(1 + (len(passages) - len(holders) + 0.5) / (len(holders) + 0.5))
        for at in holders:
            times = counted[at][term]
            scores[at] += rarity * times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * lengths[at] / mean))
    return scores


def candidates(words: Sequence[float], most: int = NEAREST_FIRST) -> list[int]:
    """The passages whose meaning is worth looking at: the best by their words; where too few fit, others are
    taken evenly from the whole text."""
    ranked = sorted(range(len(words)), key=lambda at: -words[at])
    fitting = [at for at in ranked if words[at] > 0][:most]
    rest = [at for at in range(len(words)) if words[at] <= 0]
    wanted = min(most - len(fitting), len(rest))
    spread = [rest[at * len(rest) // wanted] for at in range(wanted)] if wanted > 0 else []
    return sorted({*fitting, *spread})


def ranked(words: Sequence[float], meaning: Mapping[int, float]) -> list[int]:
    """All passages, the best first; of equal ones the earlier. `meaning` is the cosine of those that have a
    vector."""
    close = [max(0.0, meaning.get(at, 0.0)) for at in range(len(words))]
    own = [one + other for one, other in zip(_scaled(words), _scaled(close), strict=True)]
    beside = [max(own[max(0, at - 1) : at] + own[at + 1 : at + 2], default=0.0) for at in range(len(own))]
    score = [one + _NEIGHBOUR * other for one, other in zip(own, beside, strict=True)]
    return sorted(range(len(score)), key=lambda at: (-score[at], at))


def _scaled(values: Sequence[float]) -> list[float]:
    most = max(values, default=0.0)
    return [value / most if most > 0 else 0.0 for value in values]
