"""What conversations are about, found without being told: groups by meaning, named by their words."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memory.organising.entities import Filed
from memory.organising.suggestions import rarity, words_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAST_SESSIONS = 8
"""Fewer are no groups."""
SMALLEST = 3
"""Sessions of a group."""
_ROUNDS = 12
_MOST_GROUPS = 10
_WORDS = 4
_TOGETHER = 0.3


@dataclass(frozen=True, slots=True)
class Cluster:
    """`words` are those that its sessions have and others have not, the most telling first."""

    words: tuple[str, ...] = field(repr=False)
    session_ids: tuple[str, ...]


def clusters(sessions: Sequence[Filed]) -> list[Cluster]:
    """Groups of sessions that are alike, the largest first; the same sessions always give the same groups."""
    import numpy as np

    held = [one for one in sessions if one.vector is not None]
    if len(held) < LEAST_SESSIONS:
        return []
    vectors = np.frombuffer(b"".join(one.vector or b"" for one in held), dtype="<f4").reshape(len(held), -1)
    # What all conversations have in common tells none of them apart.
    apart = vectors - vectors.mean(axis=0)
    apart /= np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), 1e-6)
    groups, centres = _grouped(apart, min(max(round((len(held) / 2) ** 0.5), 2), _MOST_GROUPS))
    near = (apart * centres[groups]).sum(axis=1)
    spoken = [words_of(one.words) for one in held]
    rare = rarity(spoken)
    total = Counter(word for one in spoken for word in one)
    found = []
    for group in range(len(centres)):
        rows = [int(row) for row in np.flatnonzero((groups == group) & (near >= _TOGETHER))]
        if len(rows) >= SMALLEST:
            words = _telling([spoken[row] for row in rows], total, len(held), rare)
            found.append(Cluster(words, tuple(held[row].session_id for row in rows)))
    return sorted((one for one in found if one.words), key=lambda one: (-len(one.session_ids), one.words))


def _grouped(vectors: "NDArray[np.float32]", count: int) -> "tuple[NDArray[np.int64], NDArray[np.float32]]":
    """Spherical k-means from centres that lie far apart: the group of each row, and the centres."""
    import numpy as np

    chosen = [0]
    nearest = vectors @ vectors[0]
    while len(chosen) < count:
        chosen.append(int(nearest.argmin()))
        nearest = np.maximum(nearest, vectors @ vectors[chosen[-1]])
    centres = vectors[chosen].copy()
    groups = np.zeros(len(vectors), dtype=np.int64)
    for _ in range(_ROUNDS):
        groups = (vectors @ centres.T).argmax(axis=1)
        sums = np.eye(count, dtype=vectors.dtype)[groups].T @ vectors
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        # A centre that nobody is near to stays where it is.
        moved = np.where(lengths > 0, sums / np.maximum(lengths, 1e-6), centres)
        if np.allclose(moved, centres, atol=1e-5):
            break
        centres = moved
    return groups, centres


def _telling(
    own: Sequence[Counter[str]], total: Counter[str], count_of_all: int, rare: dict[str, float]
) -> tuple[str, ...]:
    """`total` says in how many sessions each word is."""
    inside = Counter(word for one in own for word in one)
    scores = {
        word: (count / len(own) - (total[word] - count) / max(count_of_all - len(own), 1)) * rare[word]
        for word, count in inside.items()
        if count >= 2
    }
    best = sorted((one for one in scores.items() if one[1] > 0), key=lambda one: (-one[1], one[0]))
    return tuple(word for word, _ in best[:_WORDS])
