"""Requests and statements by everyday topics."""

import numpy as np
import pytest

from memory.recall.question import TOPICS, beyond_the_others, kinship


def test_what_is_about_the_same_topic_is_kin() -> None:
    topics = np.eye(3, 4)
    statements = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.7, 0.7, 0.0, 0.14]])
    kin = kinship(np.array([1.0, 0.0, 0.0, 0.0]), statements, topics)
    assert kin[0] == pytest.approx(1.0)
    assert kin[1] < 0.01
    assert kin[2] == pytest.approx(np.sqrt(0.5), abs=0.01)


def test_what_all_share_tells_none_apart() -> None:
    assert beyond_the_others(np.array([0.9, 0.9, 0.9])) == pytest.approx([0.0, 0.0, 0.0])
    assert beyond_the_others(np.array([0.8, 0.0, 0.0])) == pytest.approx([0.8, 0.0, 0.0])
    assert beyond_the_others(np.array([0.8])) == pytest.approx([0.8])


def test_topics_are_told_apart() -> None:
    assert len(set(TOPICS)) == len(TOPICS)
