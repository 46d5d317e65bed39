"""Values of notes in flat arrays: what was put last is there, whatever was replaced and removed before."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memory.notes.names import NOBODY, Segments

ROWS = 5
values = st.lists(st.integers(0, 9), max_size=400)


@given(st.lists(st.tuples(st.integers(1, ROWS), st.none() | values), max_size=30))
def test_rows_have_what_was_put_last_and_sums_of_it(made: list[tuple[int, list[int] | None]]) -> None:
    segments, last = Segments(np.int32, np.float64), dict[int, list[int]]()
    for row, new in made:
        if new is None:
            segments.drop(row)
            last.pop(row, None)
        else:
            segments.put(row, np.array(new, np.int32), np.array(new, float) / 2)
            last[row] = new
    sums = segments.reduced(np.add, segments.column(0), ROWS + 1)
    assert sums.tolist() == [0, *(sum(last.get(row, [])) for row in range(1, ROWS + 1))]
    for row in range(1, ROWS + 1):
        assert segments.of(row).tolist() == last.get(row, [])
        assert segments.of(row, 1).tolist() == [one / 2 for one in last.get(row, [])]
    owned = segments.owner[segments.owner != NOBODY]
    assert np.bincount(owned, minlength=ROWS + 1)[1:].tolist() == [
        len(last.get(row, [])) for row in range(1, ROWS + 1)
    ]


def test_replaced_values_do_not_pile_up() -> None:
    segments = Segments(np.int32)
    for number in range(1000):
        segments.put(1, np.full(100, number, np.int32))
    assert len(segments.owner) < 3000
    assert set(segments.of(1).tolist()) == {999}


def test_values_can_be_vectors() -> None:
    segments = Segments(np.float32, width=2)
    segments.put(1, np.array([[1, 2], [3, 4]], np.float32))
    assert segments.of(1).tolist() == [[1, 2], [3, 4]]
