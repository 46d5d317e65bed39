"""Compares notes by the vectors of their chunks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike, NDArray


NOBODY = 0
"""The owner of values that were replaced; no note has this row."""
_GROWTH = 1.5


class Segments:
    """Columns of equal length in which each row (a note, 1 or more) owns one stretch.

    Replaced stretches stay until there are many; their owner is `NOBODY`.
    """

    def __init__(self, *kinds: "DTypeLike", width: int | None = None) -> None:
        """`kinds` are the types of the columns; with a `width`, each value is a vector."""
        import numpy as np

        self._shape = () if width is None else (width,)
        self._columns: list[NDArray[Any]] = [np.zeros((0, *self._shape), kind) for kind in kinds]
        self._owner = np.zeros(0, np.int32)
        self._places: dict[int, tuple[int, int]] = {}
        self._begins: list[int] = []
        self._used = 0
        self._replaced = 0

    @property
    def owner(self) -> "NDArray[np.int32]":
        """The row of each value."""
        return self._owner[: self._used]

    def column(self, number: int) -> "NDArray[Any]":
        return self._columns[number][: self._used]

    def of(self, row: int, number: int = 0) -> "NDArray[Any]":
        """Returns the values of a row in a column; empty if it has none. They change with the next `put`."""
        begin, end = self._places.get(row, (0, 0))
        return self._columns[number][begin:end]

    def reduced(self, how: "np.ufunc", values: "NDArray[Any]", rows: int) -> "NDArray[np.float64]":
        """Returns the sum (`how` is `np.add`) or the like over the values of each of so many rows, where
        `values` has one for each in a column; 0 for rows that have none."""
        import numpy as np

        found = np.zeros(rows)
        if self._begins:
            begins = np.array(self._begins)
            found[self._owner[begins]] = how.reduceat(values, begins)
            found[NOBODY] = 0.0
        return found

    def put(self, row: int, *values: "NDArray[Any]") -> None:
        """Replaces the values of a row, one array for each column."""
        self.drop(row)
        size = len(values[0])
        if not size:
            return
        if self._used + size > len(self._owner):
            self._make_room(size)
        begin, end = self._used, self._used + size
        for column, one in zip(self._columns, values, strict=True):
            column[begin:end] = one
        self._owner[begin:end] = row
        self._places[row] = (begin, end)
        self._begins.append(begin)
        self._used = end

    def drop(self, row: int) -> None:
        """Removes the values of a row, if it has any."""
        place = self._places.pop(row, None)
        if place is not None:
            self._owner[slice(*place)] = NOBODY
            self._replaced += place[1] - place[0]

    def _make_room(self, size: int) -> None:
        import numpy as np

        kept = np.ones(self._used, np.bool_)
        if self._replaced * 2 > self._used:
            kept = self.owner != NOBODY
            moved = np.cumsum(kept) - kept
            self._places = {
                row: (int(moved[begin]), int(moved[begin]) + end - begin)
                for row, (begin, end) in self._places.items()
            }
            self._begins = sorted(begin for begin, _ in self._places.values())
        used = int(kept.sum())
        room = max(1024, int((used + size) * _GROWTH))
        owner = np.zeros(room, np.int32)
        owner[:used] = self.owner[kept]
        for number, column in enumerate(self._columns):
            larger = np.zeros((room, *self._shape), column.dtype)
            larger[:used] = column[: self._used][kept] if used < self._used else column[:used]
            self._columns[number] = larger
        self._replaced -= self._used - used
        self._owner, self._used = owner, used


def with_room(values: "NDArray[Any]", size: int) -> "NDArray[Any]":
    """Returns the array with zeros added at its end, if it is shorter than `size`."""
    import numpy as np

    if len(values) >= size:
        return values
    larger = np.zeros((size + size // 2, *values.shape[1:]), values.dtype)
    larger[: len(values)] = values
    return larger


MOST_CHUNKS = 16
"""Chunks of a note that are compared with those of others: a long note has them from all its parts."""
_LEAST_SPREAD = 0.03
_NOISE = 1e-5
"""Differences of cosines, and variances, that rounding makes."""
_MANY_MEANS = 50
"""So many changed means are compared with all by comparing all anew, fewer one by one."""


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near the notes `rows` are to one: by their nearest chunks, and by their means, compared with how
    near these usually are to others. Each from 0, the farthest, to 1, the nearest. `cosine` is that of the
    nearest chunks as it is."""

    rows: "NDArray[np.int64]"
    chunk: "NDArray[np.float64]"
    mean: "NDArray[np.float64]"
    cosine: "NDArray[np.float64]"


class NoteVectors:
    """The vectors of all notes, and how near the mean of each usually is to those of others."""

    def __init__(self) -> None:
        import numpy as np

        self._chunks: Segments | None = None
        self._mean = np.zeros((1, 0), np.float32)
        self._has = np.zeros(1, np.bool_)
        # Sums over the cosines of a note's mean with those of all notes, and over their squares.
        self._sum, self._square = np.zeros(1), np.zeros(1)
        self._before: dict[int, NDArray[np.float32]] = {}

    def put(self, row: int, vectors: "NDArray[np.float32] | None") -> None:
        """Replaces the vectors of a row."""
        import numpy as np

        if vectors is None or not len(vectors):
            if self._chunks is not None and self.has(row):
                self._set(row, np.zeros_like(self._mean[row]), known=False)
                self._chunks.drop(row)
            return
        if self._chunks is None:
            self._chunks = Segments(np.float32, width=vectors.shape[1])
            self._mean = np.zeros((len(self._has), vectors.shape[1]), np.float32)
        vectors = np.asarray(vectors, np.float32)
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        self._chunks.put(row, vectors)
        mean = vectors.mean(0)
        self._set(row, mean / max(float(np.linalg.norm(mean)), 1e-9), known=True)

    def has(self, row: int) -> bool:
        return row < len(self._has) and bool(self._has[row])

    def settle(self) -> None:
        """Brings the sums up to date: of few notes by what they add and take away, otherwise of all."""
        import numpy as np

        changed = sorted(self._before)
        if len(changed) > _MANY_MEANS:
            self._sum = (self._mean @ self._mean.sum(0)).astype(float)
            squares = (self._mean @ (self._mean.T @ self._mean)) * self._mean
            self._square = squares.sum(1).astype(float)
        elif changed:
            # Notes without vectors have a mean of zeros, which adds nothing.
            before = _cosines(self._mean, np.array([self._before[row] for row in changed]))
            now = _cosines(self._mean, self._mean[changed])
            self._sum += (now - before).sum(1)
            self._square += (now**2 - before**2).sum(1)
            self._sum[changed], self._square[changed] = now.sum(0), (now**2).sum(0)
        self._before = {}

    def compare(self, row: int) -> Nearness:
        """Compares a note with all others that have vectors. Raises `KeyError` if it has none itself."""
        import numpy as np

        if self._chunks is None or not self.has(row):
            raise KeyError(row)
        own = self._chunks.of(row)
        chosen = np.unique(np.linspace(0, len(own) - 1, min(len(own), MOST_CHUNKS)).astype(int))
        nearest = _cosines(self._chunks.column(0), own[chosen]).max(1)
        best = self._chunks.reduced(np.maximum, nearest, len(self._has))
        cosine = _cosines(self._mean, self._mean[[row]])[:, 0]
        count = int(self._has.sum())
        usual = self._sum / count
        variance = self._square / count - usual**2
        spread = np.sqrt(np.maximum(variance - _NOISE, 0.0)) + _LEAST_SPREAD
        others = np.flatnonzero(self._has)
        others = others[others != row]
        nearest = best[others]
        return Nearness(others, _between(nearest), _between(((cosine - usual) / spread)[others]), nearest)

    def _set(self, row: int, mean: "NDArray[np.float32]", *, known: bool) -> None:
        self._mean, self._has = with_room(self._mean, row + 1), with_room(self._has, row + 1)
        self._sum, self._square = with_room(self._sum, row + 1), with_room(self._square, row + 1)
        self._before.setdefault(row, self._mean[row].copy())
        self._mean[row], self._has[row] = mean, known


def _cosines(many: "NDArray[np.float32]", few: "NDArray[np.float32]") -> "NDArray[np.float64]":
    """Returns the products of vectors, a row for each of `many`.

    BLAS takes longer for so few: several times as long while other processes use the cores, because its
    threads wait for each other.
    """
    import numpy as np

    return np.stack([np.einsum("ij,j->i", many, one) for one in few], axis=1).astype(float)


def _between(values: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Scales to between 0 and 1."""
    import numpy as np

    if not len(values):
        return values
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high - low > _NOISE else np.ones(len(values))
