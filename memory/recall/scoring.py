"""From evidence to a score, with its reasons. Pure; arrays have one element a message."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SESSION_WORDS = 2000.0
"""A session of so many words speaks half as much for each of its messages as a very short one."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each kind of evidence counts. The first seven add, the next two take away, and the last two
    lift by at most what they say: an answer that is only old, or of no mark, keeps its place among equals."""

    lexical: float = 0.5
    semantic: float = 0.7
    neighbour: float = 0.4
    session: float = 0.7
    speaker: float = 0.3
    time: float = 0.6
    machine: float = 0.4
    question: float = 0.2
    recency: float = 0.02
    importance: float = 0.05

    @property
    def most(self) -> float:
        """What the evidence can come to."""
        return self.lexical + self.semantic + self.neighbour + self.session


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for each message.

    `words` and `session_words` are BM25 sums over a message with its neighbours and over its session;
    `meaning` and `near_meaning` are cosines of its best passage and of it with its neighbours, None without
    vectors, NaN where a message has none. `session_length` is in words. `speaker` marks those whom the
    question names, `time` is how well it fits the time that the question speaks of (0 … 1, None when it
    speaks of none). `machine` marks the words of a model, unless the question asks for them; `asks` marks
    messages between people that only ask. `recency` is 0 … 1.
    """

    words: "NDArray[np.float64]"
    session_words: "NDArray[np.float64]"
    session_length: "NDArray[np.float64]"
    meaning: "NDArray[np.float64] | None"
    near_meaning: "NDArray[np.float64] | None"
    speaker: "NDArray[np.bool_]"
    time: "NDArray[np.float64] | None"
    machine: "NDArray[np.bool_]"
    asks: "NDArray[np.bool_]"
    recency: "NDArray[np.float64]"
    important: "NDArray[np.bool_]"


@dataclass(frozen=True, slots=True)
class Scores:
    """`total` orders messages, 0 … 1; `parts` are its reasons by name, each 0 … 1."""

    total: "NDArray[np.float64]"
    parts: "dict[str, NDArray[np.float64]]"


def score(evidence: Evidence, weights: Weights) -> Scores:
    """One number a message, and what it is made of.

    Each list of evidence is stretched to 0 … 1 within the question (min-max), so that lists of different
    scales can be added; a list that says nothing (all alike) adds nothing. Where an embedding is missing,
    the meaning counts as that of the average message.
    """
    import numpy as np

    n = len(evidence.words)
    nothing = np.zeros(n)
    discount = 1.0 / (1.0 + evidence.session_length / SESSION_WORDS)
    parts = {
        "lexical": _stretched(evidence.words),
        "semantic": nothing if evidence.meaning is None else _stretched(evidence.meaning),
        "neighbour": nothing if evidence.near_meaning is None else _stretched(evidence.near_meaning),
        "session": _stretched(evidence.session_words) * discount,
        "speaker": evidence.speaker.astype(float),
        "time": nothing if evidence.time is None else evidence.time,
        "machine": evidence.machine.astype(float),
        "question": evidence.asks.astype(float),
        "recency": evidence.recency,
        "importance": evidence.important.astype(float),
    }
    total = (
        weights.lexical * parts["lexical"]
        + weights.semantic * parts["semantic"]
        + weights.neighbour * parts["neighbour"]
        + weights.session * parts["session"]
        + weights.speaker * parts["speaker"]
        + weights.time * parts["time"]
        - weights.machine * parts["machine"]
        - weights.question * parts["question"]
        + weights.recency * parts["recency"]
        + weights.importance * parts["importance"]
    )
    lowest = -(weights.machine + weights.question)
    highest = weights.most + weights.speaker + weights.time + weights.recency + weights.importance
    return Scores((total - lowest) / (highest - lowest), parts)


def _stretched(values: "NDArray[np.float64]") -> "NDArray[np.float64]":
    import numpy as np

    if not len(values):
        return values
    known = values[~np.isnan(values)]
    if not len(known):
        return np.zeros_like(values)
    low, high = known.min(), known.max()
    if high <= low:
        return np.zeros_like(values)
    filled = np.where(np.isnan(values), known.mean(), values)
    return np.asarray((filled - low) / (high - low), float)
