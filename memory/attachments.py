"""Attachments: the text extracted from files, and how its passages are ranked for a question."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memory.recall.words import content_words


@dataclass(frozen=True, slots=True)
class NewAttachment:
    """An attachment before it is stored: `size` is the file's in bytes, `text` all extracted text."""

    name: str
    media_type: str
    size: int
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A text that belongs to a session and is moved and deleted with it."""

    id: str
    session_id: str
    name: str
    media_type: str
    size: int
    added_at: datetime
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Document:
    """One text under one name, and the sessions to which it is attached.

    `places` are pairs of session id and attachment id, newest first. `characters` is the length of the text.
    """

    name: str
    media_type: str
    size: int
    characters: int
    places: tuple[tuple[str, str], ...]


NEAREST_FIRST = 48
"""How many passages at most are compared by vector: those with the best text scores."""
_K1, _B = 1.2, 0.75
_NEIGHBOUR = 0.5
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff\uf900-\ufaff]")
_ENDINGS = ("ing", "ed", "es", "ly", "s")
_SHORTEST_STEM = 3


def terms(text: str) -> list[str]:
    """Returns words without their commonest English endings; character pairs for scripts without spaces."""
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
    """Returns the BM25 score of each passage."""
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
    """Returns the indices, ascending, of the passages to compare by vector: the best by text score.

    If fewer than `most` match, the rest are sampled evenly from the other passages.
    """
    ranked = sorted(range(len(words)), key=lambda at: -words[at])
    fitting = [at for at in ranked if words[at] > 0][:most]
    rest = [at for at in range(len(words)) if words[at] <= 0]
    wanted = min(most - len(fitting), len(rest))
    spread = [rest[at * len(rest) // wanted] for at in range(wanted)] if wanted > 0 else []
    return sorted({*fitting, *spread})


def ranked(words: Sequence[float], meaning: Mapping[int, float]) -> list[int]:
    """Returns the indices of all passages, best first; ties keep the order of the text.

    `words` are text scores. `meaning` is the cosine of each passage that has a vector.
    """
    close = [max(0.0, meaning.get(at, 0.0)) for at in range(len(words))]
    own = [one + other for one, other in zip(_scaled(words), _scaled(close), strict=True)]
    beside = [max(own[max(0, at - 1) : at] + own[at + 1 : at + 2], default=0.0) for at in range(len(own))]
    score = [one + _NEIGHBOUR * other for one, other in zip(own, beside, strict=True)]
    return sorted(range(len(score)), key=lambda at: (-score[at], at))


def _scaled(values: Sequence[float]) -> list[float]:
    most = max(values, default=0.0)
    return [value / most if most > 0 else 0.0 for value in values]
