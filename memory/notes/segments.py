"""Keeps some values for each note in flat arrays, where a change costs only as much as its note."""

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
