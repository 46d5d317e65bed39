"""A question as it was asked, and what its text says."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memory.recall.gathering import Question
from memory.recall.moments import asks_when, spans
from memory.recall.ports import QueryVectors
from memory.recall.words import (
    addresses_machine,
    asks_advice,
    carries_meaning,
    named,
    without_names,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GENERIC = 0.5
"""How much of what all requests have in common is taken out of one that asks for advice."""
FRAMES = (
    "What should I get?",
    "Can you recommend something?",
    "What would you suggest?",
    "Which one should I choose?",
    "What is a good one for me?",
    "How should I do it?",
    "Where could I go?",
    "Do you have any ideas or tips?",
)
"""Requests that ask for nothing in particular."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One question, as asked."""

    query: str
    k: int
    kinds: frozenset[str]
    session: str | None
    project: str | None
    exclude_messages: frozenset[str]
    exclude_sessions: frozenset[str]
    since: datetime | None
    before: datetime | None
    now: datetime
    widen: bool
    recent_first: bool = False


def understood(wanted: Wanted, speakers: Sequence[str]) -> tuple[str, frozenset[int]]:
    """The text without the names of `speakers`, and the numbers of those that it names."""
    numbers = named(wanted.query, speakers)
    return without_names(wanted.query, [speakers[number] for number in numbers]), numbers


def question_of(
    wanted: Wanted, speakers: frozenset[int], stems: Sequence[str], words: Sequence[str]
) -> Question:
    return Question(
        speakers,
        spans(wanted.query, wanted.now),
        asks_machine=addresses_machine(wanted.query),
        asks_when=asks_when(wanted.query),
        asks_advice=asks_advice(wanted.query),
        now=wanted.now,
        words=len(words) if carries_meaning(stems) else 0,
    )


class Meanings:
    """Questions as vectors. In a request for advice the words that ask ("what should I …") are near to
    whatever else was asked or answered; what all such requests have in common is taken out of it."""

    def __init__(self, vectors: QueryVectors) -> None:
        self._vectors = vectors
        self._generic: dict[str, NDArray[np.float64]] = {}

    async def of(self, text: str, model: str) -> Sequence[float] | None:
        """The question as a vector of `model`; None when that is not the model in use."""
        vector = await self._vectors.vector(text)
        if vector is None or vector.model != model:
            return None
        if not asks_advice(text):
            return vector.numbers
        generic = await self._common(model)
        if generic is None:
            return vector.numbers
        import numpy as np

        specific = np.array(vector.numbers) - GENERIC * generic
        length = float(np.linalg.norm(specific))
        return [float(number) for number in specific / length] if length > 0 else vector.numbers

    async def _common(self, model: str) -> "NDArray[np.float64] | None":
        """The mean of requests that ask for nothing in particular."""
        import numpy as np

        if model not in self._generic:
            found = [await self._vectors.vector(frame) for frame in FRAMES]
            if any(one is None or one.model != model for one in found):
                return None
            self._generic[model] = np.mean([one.numbers for one in found if one is not None], axis=0)
        return self._generic[model]
