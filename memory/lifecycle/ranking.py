"""Which sentences stand for a text, and which words name its topics: tf-idf and centrality of vectors."""

import math
from array import array
from collections import Counter
from collections.abc import Sequence

from memory.gently import Gently
from memory.lifecycle.evidence import fold, names, stem
from memory.lifecycle.languages import lexicon, words

_LEAST_LETTERS = 3
_NAME_BONUS = 1.6


def content_words(text: str) -> list[str]:
    """Stems of the words that carry meaning, and numbers."""
    common = lexicon().common
    found = [fold(word) for word in words(text)]
    kept = [stem(word) for word in found if len(word) >= _LEAST_LETTERS and word not in common]
    return kept + [piece for piece in text.split() if any(char.isdigit() for char in piece)]


def centrality_of_words(texts: Sequence[str]) -> list[float]:
    """Cosine of each text's tf-idf vector with the mean of all, in [0, 1]."""
    # Numbers stand for the words, and no vector is kept: of thousands of messages that would be very much.
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
    """Words by their numbers, with their weights; of length 1."""
    found = [(word, n * rarity[word]) for word, n in Counter(bag).items()]
    length = math.sqrt(sum(value * value for _, value in found)) or 1.0
    return [(word, value / length) for word, value in found]


def centrality_of_vectors(vectors: Sequence[Sequence[float]]) -> list[float]:
    """Cosine of each vector (of length 1) with the mean of all."""
    if not vectors:
        return []
    mean = [math.fsum(column) for column in zip(*vectors, strict=True)]
    length = math.sqrt(math.fsum(value * value for value in mean)) or 1.0
    return [sum(map(float.__mul__, map(float, vector), mean)) / length for vector in vectors]


def normalised(values: Sequence[float]) -> list[float]:
    """Spread over [0, 1]; all 0 when they are equal."""
    if not values:
        return []
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.0 for value in values]


def topics(texts: Sequence[str], *, limit: int = 4) -> tuple[str, ...]:
    """Words that most of the texts are about, as they are written, most telling first. Names weigh more."""
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
