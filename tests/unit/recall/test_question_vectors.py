"""Questions as vectors."""

import numpy as np
import pytest

from memory.recall.entities import QueryVector
from memory.recall.question import FRAMES, QueryEmbedder, beyond_usual, specific


class Vectors:
    """Two numbers are of a question's own words, three of the way in which advice is asked for."""

    async def vector(self, text: str) -> QueryVector | None:
        numbers = [0.0] * 8
        if text in FRAMES:
            numbers[2 + FRAMES.index(text) % 3] = 1.0
        else:
            numbers[0 if "tea" in text else 1] = 0.6
            numbers[2] = 0.8 if "should" in text else 0.0
        length = float(np.linalg.norm(numbers))
        return QueryVector("m", tuple(one / length for one in numbers))


def test_what_all_share_is_taken_out() -> None:
    common = np.array([[0.0, 0.0, 1.0]])
    assert specific((0.6, 0.0, 0.8), common) == pytest.approx([1.0, 0.0, 0.0])
    # What is nothing but common stays as it is.
    assert specific((0.0, 0.0, 1.0), common) == (0.0, 0.0, 1.0)


def test_of_a_statement_the_difference_from_the_usual_is_left() -> None:
    assert beyond_usual((0.6, 0.8), (0.0, 0.8)) == pytest.approx([1.0, 0.0])
    # Without a mean, with that of another model, or with nothing but the usual, it stays as it is.
    for usual in (None, (0.1, 0.2, 0.3), (0.6, 0.8)):
        assert beyond_usual((0.6, 0.8), usual) == (0.6, 0.8)


async def test_only_requests_for_advice_are_changed_and_only_for_their_model() -> None:
    meanings = QueryEmbedder(Vectors())
    advice = await meanings.of("Which tea should I get?", "m")
    assert advice == pytest.approx([1.0] + [0.0] * 7, abs=1e-9)
    kept = await meanings.of("They said it should rain", "m")
    assert kept == pytest.approx([0.0, 0.6, 0.8] + [0.0] * 5)
    assert await meanings.of("When did the tea arrive?", "m") == pytest.approx([1.0] + [0.0] * 7)
    assert await meanings.of("Which tea should I get?", "another") is None


class Kept:
    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    async def fixed(self, name: str) -> str | None:
        return self.values.get(name)

    async def keep_fixed(self, name: str, value: str) -> None:
        self.values[name] = value


class Counted(Vectors):
    asked = 0

    async def vector(self, text: str) -> QueryVector | None:
        self.asked += 1
        return await super().vector(text)


async def test_what_requests_are_compared_with_is_embedded_once_and_kept() -> None:
    kept, later = Kept(), Counted()
    first = await QueryEmbedder(Vectors(), kept).of("Which tea should I get?", "m")
    assert await QueryEmbedder(later, kept).of("Which tea should I get?", "m") == pytest.approx(
        first, abs=1e-6
    )
    assert later.asked == 1
