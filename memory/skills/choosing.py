"""Chooses which skill fits a message, by words, meaning, and what kind of message it is; mostly none does.

The expressions in `requests.toml` are English, German and Spanish. In other languages no message counts as a
request, and a skill has to be closer to it.
"""

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import log

_WORDS = 0.1


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The least scores of a skill that is used: for messages that want something done, and for others.

    `python -m benchmarks.skills` measures them.
    """

    requests: float
    others: float


WITH_VECTORS = Thresholds(0.38, 0.62)
BY_WORDS = Thresholds(0.38, 0.7)
"""Without an embedding model the score is the share of words alone."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A skill that could be used: its id, the stems of its text, and how close its meaning is to the message
    (cosine; None without an embedding model)."""

    id: str
    stems: frozenset[str]
    cosine: float | None


@dataclass(frozen=True, slots=True)
class Fit:
    """How well a skill fits a message; `words` is the share of the message's words that it has."""

    id: str
    score: float
    words: float
    cosine: float | None


def fits(asked: Collection[str], candidates: Sequence[Candidate]) -> list[Fit]:
    """Returns how well the candidates fit the stems of a message, best first.

    A word that many skills have says little: each counts by how rare it is among them.
    """
    weights = _weights([one.stems for one in candidates])
    found = [_fit(asked, one, weights) for one in candidates]
    return sorted(found, key=lambda one: (-one.score, one.id))


def _weights(known: Sequence[Collection[str]]) -> Mapping[str, float]:
    counts: dict[str, int] = {}
    for stems in known:
        for stem in stems:
            counts[stem] = counts.get(stem, 0) + 1
    return {stem: log(1 + len(known) / count) for stem, count in counts.items()}


def _fit(asked: Collection[str], one: Candidate, weights: Mapping[str, float]) -> Fit:
    unknown = max(weights.values(), default=1.0)
    total = sum(weights.get(stem, unknown) for stem in asked)
    common = sum(weights[stem] for stem in asked if stem in one.stems)
    words = common / total if total else 0.0
    # Words alone: one in common with a message of one word says little.
    score = common / (total + unknown) if one.cosine is None else one.cosine + _WORDS * words
    return Fit(one.id, score, words, one.cosine)


def chosen(best_first: Sequence[Fit], *, request: bool, limits: Thresholds | None = None) -> str | None:
    """Returns the skill to use, or None. `request`: the message wants something done."""
    if not best_first:
        return None
    best = best_first[0]
    if limits is None:
        limits = BY_WORDS if best.cosine is None else WITH_VECTORS
    return best.id if best.score >= (limits.requests if request else limits.others) else None


_LONGEST = 1000
_DATA = tomllib.loads(files("memory.skills").joinpath("requests.toml").read_text(encoding="utf-8"))
_WHY = re.compile(_DATA["why"], re.IGNORECASE)
_WANTS = re.compile(
    "|".join(one for language in ("english", "german", "spanish") for one in _DATA[language]["patterns"]),
    re.IGNORECASE,
)


def asks_for_work(text: str) -> bool:
    """Returns whether a message wants something done, or to know how to do it."""
    line = " ".join(text[:_LONGEST].split())
    return _WHY.match(line) is None and _WANTS.search(line) is not None
