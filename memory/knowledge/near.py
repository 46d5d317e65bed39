"""Which memories are near one another, by the vectors that are stored beside them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from memory.knowledge.consolidation import Pair
from memory.vectors.entities import StoredVector
from memory.vectors.ports import VectorStore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KIND = "memory"
_ROWS = 512
_ASKED = 400


async def vectors_of(store: VectorStore, ids: Collection[str]) -> "dict[str, NDArray[np.float32]]":
    """A vector of length 1 for each of these memories that has one: of the model with the most vectors here.

    Memories that were not embedded yet are left out. No model is needed for this.
    """
    counts = (await store.counts()).by_model
    if not counts or not ids:
        return {}
    model = max(sorted(counts), key=lambda name: counts[name])
    wanted, rows = sorted(ids), []
    for at in range(0, len(wanted), _ASKED):
        rows += await store.of(model, owners=wanted[at : at + _ASKED])
    return averaged(row for row in rows if row.kind == KIND)


def averaged(rows: Iterable[StoredVector]) -> "dict[str, NDArray[np.float32]]":
    """The mean of each owner's passages, at length 1."""
    import numpy as np

    parts: dict[str, list[NDArray[np.float32]]] = {}
    for row in rows:
        parts.setdefault(row.owner_id, []).append(np.frombuffer(row.data, dtype="<f4"))
    made = {}
    for owner, own in parts.items():
        mean = np.mean(own, axis=0, dtype=np.float32)
        length = float(np.linalg.norm(mean))
        if length > 0:
            made[owner] = np.asarray(mean / length, np.float32)
    return made


def near_pairs(vectors: "Mapping[str, NDArray[np.float32]]", ids: Sequence[str], least: float) -> list[Pair]:
    """Every two of `ids` whose cosine is at least `least`. Takes `512 · n` floats of memory."""
    import numpy as np

    own = [one for one in dict.fromkeys(ids) if one in vectors]
    if len(own) < 2:
        return []
    matrix = np.stack([vectors[one] for one in own])
    found = []
    for at in range(0, len(own), _ROWS):
        cosines = matrix[at : at + _ROWS] @ matrix.T
        for row, column in zip(*np.nonzero(cosines >= least), strict=True):
            if at + row < column:
                found.append(Pair(own[at + row], own[column], float(cosines[row, column])))
    return found


def nearest(
    vectors: "Mapping[str, NDArray[np.float32]]", ids: Sequence[str], others: Collection[str]
) -> dict[str, float]:
    """For each of `ids` with a vector: the cosine to the nearest of the `others`; 0 where there is none."""
    import numpy as np

    own = [one for one in ids if one in vectors]
    rest = [one for one in others if one in vectors]
    if not own or not rest:
        return dict.fromkeys(own, 0.0)
    matrix = np.stack([vectors[one] for one in rest])
    made = {}
    for at in range(0, len(own), _ROWS):
        part = own[at : at + _ROWS]
        best = np.max(np.stack([vectors[one] for one in part]) @ matrix.T, axis=1)
        made.update({one: float(value) for one, value in zip(part, best, strict=True)})
    return made


def near_counts(
    vectors: "Mapping[str, NDArray[np.float32]]", ids: Sequence[str], others: Collection[str], least: float
) -> dict[str, int]:
    """For each of `ids` with a vector: how many of the `others` have a cosine of at least `least` with it."""
    import numpy as np

    own = [one for one in ids if one in vectors]
    rest = [one for one in others if one in vectors]
    if not own or not rest:
        return dict.fromkeys(own, 0)
    matrix = np.stack([vectors[one] for one in rest])
    same = set(own) & set(rest)
    made = {}
    for one in own:
        count = int(np.count_nonzero(matrix @ vectors[one] >= least))
        made[one] = count - (one in same)
    return made
