"""Which of the best are taken."""

import numpy as np

from memory.recall.feature_builder import in_turns


def test_sessions_take_turns_and_each_keeps_its_order() -> None:
    places = np.array([4, 7, 1, 9, 0])
    sessions = np.array([2, 0, -1, -1, 0, -1, -1, 0, -1, 2])
    assert in_turns(places, sessions).tolist() == [4, 9, 7, 0, 1]
    assert in_turns(places[:0], sessions).tolist() == []
