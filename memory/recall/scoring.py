"""Computes scores and their reasons from evidence. Pure.

Arrays have one element per message, memory or summary.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.recall.decay import BOUNDED, Decay, floored, importance_factor

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SESSION_WORDS = 2000.0
"""A session of this many words counts half as much for each of its messages as a very short one."""
OWN_WORDS = 0.2
"""The share of a message's own words in the lexical part; the rest is that of the message with its
neighbours."""
SESSION_MEANING = 0.2
"""The share of meaning in the session part."""
TRUSTED = 0.35
"""Words count fully when some message contains this share of the question's words, and less below. Where the
question shares a word with the messages only by chance, meaning decides.
"""
INSTRUCTIONS = 3
"""This many standing instructions count for a question."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each kind of evidence counts. `machine` and `question` are subtracted. `decay` sets how much
    age and use then weigh."""

    lexical: float = 0.5
    semantic: float = 0.65
    neighbour: float = 0.65
    session: float = 0.5
    speaker: float = 0.25
    time: float = 0.6
    dated: float = 0.35
    machine: float = 0.6
    question: float = 0.3
    stated: float = 0.05
    standing: float = 1.0
    topic: float = 1.7
    decay: Decay = BOUNDED

    def of_statement(self) -> "Weights":
        """Returns the weights for a statement that asks nothing. What it is reminiscent of seldom shares its
        words, and was said among other things."""
        return replace(self, lexical=self.lexical / 4, neighbour=self.neighbour / 2, session=self.session / 4)

    @property
    def highest(self) -> float:
        """The highest sum that all evidence can reach."""
        talk = self.lexical + self.semantic + self.neighbour + self.session
        return talk + self.speaker + self.time + self.dated + self.stated + max(self.topic, self.standing)

    @property
    def lowest(self) -> float:
        return -(self.machine + self.question)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence for each message.

    `words`, `near_words` and `session_words` are BM25 sums over a message, over it with its neighbours and
    over its session. `meaning`, `whole_meaning`, `near_meaning` and `session_meaning` are cosines of its best
    passage, of all its passages, of it with its neighbours and of its session's best messages; None without
    vectors, NaN where a message has none. `held` is the share of the question's words that it contains, each
    weighted by its rarity (0 … 1). `session_length` is in words.

    `speaker` marks messages of those whom the question names. `time` is how well a message fits the time that
    the question names (0 … 1, None when it names none). `dated` marks messages that state when something was,
    if the question asks that. `machine` marks a model's messages, unless the question asks for them. `asks`
    marks messages between people that only ask. `stated` marks messages that state what somebody likes or
    avoids, if the question asks for advice; `standing` marks those that state how later replies should be;
    `topic` is how far that concerns the subject of the question (0 … 1). `recency` is what age leaves
    (e^(-λ·age), 0 … 1), `importance` the multiplier of `memory.recall.decay`.
    """

    words: "NDArray[np.float64]"
    near_words: "NDArray[np.float64]"
    session_words: "NDArray[np.float64]"
    session_length: "NDArray[np.float64]"
    held: "NDArray[np.float64]"
    meaning: "NDArray[np.float64] | None"
    whole_meaning: "NDArray[np.float64] | None"
    near_meaning: "NDArray[np.float64] | None"
    session_meaning: "NDArray[np.float64] | None"
    speaker: "NDArray[np.bool_]"
    time: "NDArray[np.float64] | None"
    dated: "NDArray[np.bool_]"
    machine: "NDArray[np.bool_]"
    asks: "NDArray[np.bool_]"
    stated: "NDArray[np.bool_]"
    standing: "NDArray[np.bool_]"
    recency: "NDArray[np.float64]"
    importance: "NDArray[np.float64]"
    topic: "NDArray[np.float64] | None" = None


@dataclass(frozen=True, slots=True)
class Scores:
    """`total` orders messages, 0 … 1; `parts` are its reasons by name, each 0 … 1."""

    total: "NDArray[np.float64]"
    parts: "dict[str, NDArray[np.float64]]"


def score(evidence: Evidence, weights: Weights) -> Scores:
    """Returns one number per message, and its parts.

    Each list of evidence is scaled to 0 … 1 within the question (min-max), so that lists of different scales
    can be added. A list of equal values adds nothing. Where an embedding is missing, the average meaning is
    used.
    """
    import numpy as np

    nothing = np.zeros(len(evidence.words))
    discount = 1.0 / (1.0 + evidence.session_length / SESSION_WORDS)
    words = _stretched(evidence.near_words), _stretched(evidence.words)
    session = _stretched(evidence.session_words), _given(evidence.session_meaning, nothing)
    trust = min(1.0, float(evidence.held.max()) / TRUSTED) ** 2 if len(nothing) else 0.0
    if evidence.whole_meaning is None:
        trust = 1.0
    standing = _nearest(evidence) if evidence.standing.any() else nothing
    topic = nothing if evidence.topic is None else evidence.topic
    parts = {
        "lexical": trust * ((1 - OWN_WORDS) * words[0] + OWN_WORDS * words[1]),
        "semantic": _given(evidence.whole_meaning, nothing),
        "neighbour": _given(evidence.near_meaning, nothing),
        "session": discount * ((1 - SESSION_MEANING) * trust * session[0] + SESSION_MEANING * session[1]),
        "speaker": evidence.speaker.astype(float) if evidence.speaker.any() else nothing,
        "time": nothing if evidence.time is None else evidence.time,
        "dated": evidence.dated.astype(float) if evidence.dated.any() else nothing,
        "machine": evidence.machine.astype(float) if evidence.machine.any() else nothing,
        "question": evidence.asks.astype(float) if evidence.asks.any() else nothing,
        "stated": evidence.stated.astype(float) if evidence.stated.any() else nothing,
        "standing": standing,
        # A standing instruction counts instead of its topic, so that no sum is higher than before.
        "topic": topic if standing is nothing or topic is nothing else np.where(standing > 0, 0.0, topic),
    }
    total = nothing.copy()
    for name, values in parts.items():
        if values is nothing:
            continue
        sign = -1.0 if name in {"machine", "question"} else 1.0
        total += sign * float(getattr(weights, name)) * values
    total = (total - weights.lowest) / (weights.highest - weights.lowest)
    decay = weights.decay
    total *= floored(evidence.recency, decay.floor)
    total *= importance_factor(evidence.importance, decay) / decay.highest
    parts["recency"] = evidence.recency
    # 1 is ordinary; a message marked important has 1.5.
    parts["importance"] = np.clip(2 * (evidence.importance - 1), 0.0, 1.0)
    return Scores(total, parts)


def _nearest(evidence: Evidence) -> "NDArray[np.float64]":
    """Returns 1 for the few standing instructions that are nearest to the question, and 0 otherwise. An
    instruction often shares no word with the question that it applies to: "always show units when I ask about
    physics".
    """
    import numpy as np

    near = evidence.words if evidence.whole_meaning is None else evidence.whole_meaning
    places = np.flatnonzero(evidence.standing)
    found = np.zeros(len(near))
    found[places[np.argsort(-np.nan_to_num(near[places], nan=-1.0), kind="stable")][:INSTRUCTIONS]] = 1.0
    return found


def _given(values: "NDArray[np.float64] | None", otherwise: "NDArray[np.float64]") -> "NDArray[np.float64]":
    return otherwise if values is None else _stretched(values)


def _stretched(values: "NDArray[np.float64]") -> "NDArray[np.float64]":
    import numpy as np

    if not len(values):
        return values
    low, high = values.min(), values.max()
    if np.isnan(low):
        known = values[~np.isnan(values)]
        if not len(known):
            return np.zeros_like(values)
        low, high = known.min(), known.max()
        values = np.where(np.isnan(values), known.mean(), values)
    if high <= low:
        return np.zeros_like(values)
    return np.asarray((values - low) / (high - low), float)
