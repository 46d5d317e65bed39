"""Evidence from meaning: the similarity of messages, of their neighbours and of their sessions. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING

from memory.recall.catalogue import NOBODY, Catalogue
from memory.recall.item_index import ItemIndex
from memory.recall.rows import ItemRows, Rows, of_place
from memory.vectors.entities import Near

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SPREAD = 0.5
"""The share of the mean of a message's passages in its meaning. One of the many passages of a long message is
more likely to be near by accident."""
_NEAREST_OF_SESSION = 3


@dataclass(frozen=True, slots=True)
class Nearest:
    """The nearest passages, highest cosine first: of messages by their catalogue rows (`at`, -1 for unknown
    ones), of items by their rows (`beside`). `complete` means that nothing searched was left out."""

    at: "NDArray[np.int64]"
    similarity: "NDArray[np.float64]"
    parts: tuple[int, ...]
    beside: "NDArray[np.int64]"
    beside_similarity: "NDArray[np.float64]"
    complete: bool

    def floor(self) -> float | None:
        """Returns the cosine assumed for what was left out, the lowest one found; None where nothing was."""
        if self.complete:
            return None
        return float(min(own.min() for own in (self.similarity, self.beside_similarity) if len(own)))

    def part(self, row: int) -> int:
        """Returns which passage of a message is the nearest; 0 where none was found."""
        found = (self.at == row).nonzero()[0]
        return self.parts[int(found[0])] if len(found) else 0


@dataclass(frozen=True, slots=True)
class Meaning:
    """Cosines, NaN where there is no vector: of the best passage; of the whole message (with `SPREAD`); of
    the message with its neighbours; of its session."""

    best: "NDArray[np.float64]"
    whole: "NDArray[np.float64]"
    near: "NDArray[np.float64]"
    session: "NDArray[np.float64]"


def nearest(catalogue: Catalogue, item_index: ItemIndex, messages: Near, items: Near) -> Nearest:
    import numpy as np

    return Nearest(
        _found(catalogue.rows, messages.owners),
        np.asarray(messages.similarity, float),
        messages.parts,
        _found(item_index.rows, items.owners),
        np.asarray(items.similarity, float),
        (messages.complete or not messages.owners) and (items.complete or not items.owners),
    )


def meaning(rows: Rows, items: ItemRows, near: Nearest) -> Meaning:
    """Returns the cosines of the rows and items. What the search left out gets the lowest cosine it found."""
    import numpy as np

    n = len(rows.rows)
    floor = near.floor()
    best = np.full(n + len(items.rows), np.nan if floor is None else floor)
    at, beside = rows.place[near.at], items.place[near.beside]
    at, similarity = at[at != NOBODY], near.similarity[at != NOBODY]
    np.fmax.at(best, at, similarity)
    inside = beside != NOBODY
    np.fmax.at(best, n + beside[inside], near.beside_similarity[inside])
    own, of_items = best[:n], best[n:]
    count = np.bincount(at, minlength=n)
    mean = np.bincount(at, similarity, n) / np.maximum(count, 1)
    whole = np.where(count > 0, own + SPREAD * (mean - own), own)
    sessions = _of_sessions(rows, whole, floor)
    if sessions is None:
        return Meaning(best, best, best, best)
    return Meaning(
        best,
        np.concatenate([whole, of_items]),
        np.concatenate([_around(rows, whole, floor), of_items]),
        np.concatenate([sessions[rows.session], of_place(sessions, items.session, of_items)]),
    )


def _around(rows: Rows, values: "NDArray[np.float64]", floor: float | None) -> "NDArray[np.float64]":
    """Returns the mean over a message and its neighbours; neighbours left out count as `floor`."""
    import numpy as np

    known = ~np.isnan(values)
    filled = np.where(known, values, values[known].mean())
    sums = rows.with_neighbours(filled) + rows.outside * (0.0 if floor is None else floor)
    beside = (rows.before != NOBODY).astype(float) + (rows.after != NOBODY)
    return np.asarray(sums / (1 + beside + rows.outside))


def _of_sessions(
    rows: Rows, values: "NDArray[np.float64]", floor: float | None
) -> "NDArray[np.float64] | None":
    """Returns the mean of the three nearest messages of each session; None when nothing is known. With a
    `floor`, all but a few messages have that value, so only those few are examined."""
    import numpy as np

    known = ~np.isnan(values)
    if not known.any():
        return None
    least = float(values[known].min()) if floor is None else floor
    few = np.flatnonzero(known & (values > least))
    order = few[np.lexsort((-values[few], rows.session[few]))]
    own = rows.session[order]
    rank = np.arange(len(order)) - np.searchsorted(own, own)
    top = order[rank < _NEAREST_OF_SESSION]
    sums = np.bincount(rows.session[top], values[top] - least, rows.sessions)
    return np.asarray(least + sums / np.minimum(rows.sizes, _NEAREST_OF_SESSION))


def _found(rows: Mapping[str, int], owners: Sequence[str]) -> "NDArray[np.int64]":
    """Returns the row of each owner, -1 for unknown ones."""
    import numpy as np

    return np.fromiter(map(rows.get, owners, repeat(NOBODY)), np.int64, len(owners))
