"""Suggests categories and tags for a session, by vectors and by the tags already in use."""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from memory.organising.entities import Filed
from memory.summaries.languages import lexicon

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


CATEGORY_LEAST = 0.17
"""Below this cosine to every category a session has none."""
CATEGORY_AHEAD = 0.02
"""The least lead of the nearest category over the next."""


@cache
def examples() -> Mapping[str, tuple[str, ...]]:
    """Returns, by category name, examples of what is talked about in it."""
    text = (files("memory.organising") / "categories.toml").read_text(encoding="utf-8")
    return {one["name"]: tuple(one["examples"]) for one in tomllib.loads(text)["category"]}


def nearest(
    vector: "NDArray[np.float32]",
    categories: Mapping[str, Sequence[Sequence[float]]],
    *,
    least: float = CATEGORY_LEAST,
    ahead: float = CATEGORY_AHEAD,
) -> str:
    """Returns the category whose two nearest examples are most similar to `vector`, or "".

    `vector` is `float32[dim]`, of length 1. `categories` contains vectors of length 1 of the examples, by
    name.
    """
    import numpy as np

    scores = []
    for name, held in categories.items():
        found = np.sort(np.asarray(held, dtype=np.float32) @ vector)[::-1]
        scores.append((float(found[:2].mean()), name))
    scores.sort(reverse=True)
    if not scores or scores[0][0] < least:
        return ""
    if len(scores) > 1 and scores[0][0] - scores[1][0] < ahead:
        return ""
    return scores[0][1]


TAG_LEAST = 0.25
"""The least similarity (0 … 1) of a session to those that have a tag."""
TAG_AHEAD = 0.05
"""How much more similar the sessions with a tag must be than those without."""
MOST = 3
"""The most suggestions for one session."""
_NEAREST = 2
_ALONE = 0.85
_NAMED = 0.2
_WORDS = 0.4
_WORD = re.compile(r"[^\W\d_]{3,}")
_MOST_WORDS = 60


class Tagger:
    """Learns from tagged sessions once, then suggests tags for any number of others."""

    def __init__(self, tagged: Sequence[Filed]) -> None:
        self._tagged = [one for one in tagged if one.tags]
        counts = [words_of(one.words) for one in self._tagged]
        self._rarity = rarity(counts)
        self._words = [weighed(one, self._rarity) for one in counts]
        self._vectors = [_numbers(one.vector) for one in self._tagged]

    def suggest(self, session: Filed) -> dict[str, float]:
        """Returns at most three tags, neither present nor rejected, with scores of 0 … 1."""
        likeness = self._likeness(session)
        spoken = set(words_of(session.words))
        scores: dict[str, float] = {}
        for tag in {tag for one in self._tagged for tag in one.tags} - {*session.tags, *session.rejected}:
            score = self._score(tag, session, likeness, named=_named(tag, spoken))
            if score >= TAG_LEAST:
                scores[tag] = min(score, 1.0)
        best = sorted(scores.items(), key=lambda one: (-one[1], one[0]))[:MOST]
        return dict(best)

    def _score(self, tag: str, session: Filed, likeness: Sequence[float], *, named: bool) -> float:
        """Returns the score of a tag; 0 when the sessions without it are about as similar."""
        having: list[float] = []
        others: list[float] = []
        for one, value in zip(self._tagged, likeness, strict=True):
            if one.session_id != session.session_id:
                (having if tag in one.tags else others).append(value)
        if not having:
            return 0.0
        nearest = sorted(having, reverse=True)[:_NEAREST]
        score = sum(nearest) / len(nearest) * (_ALONE if len(nearest) == 1 else 1.0)
        score += _NAMED if named else 0.0
        rivals = sorted(others, reverse=True)[: max(len(nearest), 2)]
        behind = sum(rivals) / len(rivals) if rivals else 0.0
        return score if score - behind >= TAG_AHEAD else 0.0

    def _likeness(self, session: Filed) -> list[float]:
        own, vector = weighed(words_of(session.words), self._rarity), _numbers(session.vector)
        found = []
        for words, other in zip(self._words, self._vectors, strict=True):
            by_words = min(math.sqrt(max(dot(own, words), 0.0)), 1.0)
            if vector is None or other is None or len(vector) != len(other):
                found.append(by_words)
                continue
            meaning = max(float(vector @ other), 0.0)
            found.append(min(meaning + _WORDS * by_words, 1.0))
        return found


def words_of(text: str) -> Counter[str]:
    """Counts content words, folded; only the first sixty different ones."""
    small = lexicon().common
    found: Counter[str] = Counter()
    for word in _WORD.findall(text.casefold()):
        if word not in small and (word in found or len(found) < _MOST_WORDS):
            found[word] += 1
    return found


def rarity(texts: Iterable[Mapping[str, int]]) -> dict[str, float]:
    """Returns, by word, its smoothed inverse document frequency."""
    held = list(texts)
    counts = Counter(word for one in held for word in one)
    return {word: math.log((1 + len(held)) / (1 + count)) + 1 for word, count in counts.items()}


def weighed(words: Mapping[str, int], rare: Mapping[str, float]) -> dict[str, float]:
    """Returns weights of length 1. A word in no text counts as the rarest."""
    most = max(rare.values(), default=1.0)
    found = {word: (1 + math.log(count)) * rare.get(word, most) for word, count in words.items()}
    length = math.sqrt(sum(value * value for value in found.values()))
    return {word: value / length for word, value in found.items()} if length else {}


def dot(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    small, large = (first, second) if len(first) <= len(second) else (second, first)
    return sum(value * large[word] for word, value in small.items() if word in large)


def _named(tag: str, spoken: set[str]) -> bool:
    """Whether all words of the tag occur."""
    words = _WORD.findall(tag.casefold())
    return bool(words) and all(word in spoken for word in words)


def _numbers(data: bytes | None):  # type: ignore[no-untyped-def]  # numpy is imported only where it is needed
    if data is None:
        return None
    import numpy as np

    return np.frombuffer(data, dtype="<f4")
