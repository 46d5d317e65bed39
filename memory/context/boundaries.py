"""Decides when a session should end and a new one begin; makes the reminder for a resumed session."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from memory.context.entities import Summary, SummaryState
from memory.entities import Message
from memory.summaries.evidence import phrases
from memory.summaries.languages import script
from memory.summaries.summarise import content_words
from models.messages import Role

_ENOUGH, _LEAST = 3, 2
_SPACED = frozenset({"LATIN", "CYRILLIC", "GREEK", "HEBREW", "ARABIC", "ARMENIAN", "GEORGIAN", "HANGUL"})
_LEAST_LETTERS = 8


class Boundary(StrEnum):
    """Why a new session is suggested."""

    PAUSE = "pause"
    LENGTH = "length"
    TOPIC = "topic"


@dataclass(frozen=True, slots=True)
class BoundaryRules:
    """Names and defaults are those of the settings.

    A session of fewer than `settled` turns has no topic yet that could change.
    """

    after: timedelta = timedelta(minutes=30)
    turns: int = 50
    similarity: float = 0.2
    settled: int = 1


def boundary(
    rules: BoundaryRules,
    *,
    now: datetime,
    last: datetime,
    turns: int,
    similarity: float | None = None,
) -> Boundary | None:
    """Returns whether a message at `now` begins something new, and why; the most certain reason first.

    `last` is when the session was last used, `turns` how many it has, `similarity` the cosine between the
    message and the topic so far (None: unknown). The length is reported only once every `rules.turns` turns:
    a user who continues in the same session has answered.
    """
    if turns < 1:
        return None
    if now - last >= rules.after:
        return Boundary.PAUSE
    if turns % rules.turns == 0:
        return Boundary.LENGTH
    if similarity is not None and turns >= rules.settled and similarity < rules.similarity:
        return Boundary.TOPIC
    return None


def names_topic(text: str) -> bool:
    """Whether a message names its own topic, so that its similarity to another is meaningful.

    "Go on.", "Why?" and "Translate that to German." refer to earlier messages, yet are unlike them. A message
    needs three words that carry meaning, or two and none that refers back; in scripts without spaces, a
    minimum number of letters (`_LEAST_LETTERS`). One that begins with "And" or "What about" always continues.
    """
    if phrases().joining.match(text.lstrip(" \t\n…-–—.,¿¡")):
        return False
    if script(text) not in _SPACED:
        return sum(char.isalpha() for char in text) >= _LEAST_LETTERS
    found = len(set(content_words(text)))
    return found >= _ENOUGH or (found == _LEAST and phrases().leaning.search(text) is None)


def topic(vectors: Sequence[Sequence[float]], *, decay: float = 0.8) -> list[float]:
    """Returns the running topic: the weighted mean of the messages' vectors (oldest first), of length 1.

    Each message weighs `decay` times the one after it. `vectors` is `float[n][dimension]`, n ≥ 1, each of
    length 1.
    """
    weights = [decay ** (len(vectors) - 1 - index) for index in range(len(vectors))]
    mean = [
        math.fsum(w * v[d] for w, v in zip(weights, vectors, strict=True)) for d in range(len(vectors[0]))
    ]
    length = math.sqrt(math.fsum(x * x for x in mean)) or 1.0
    return [x / length for x in mean]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Returns the cosine of two vectors of length 1."""
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


@dataclass(frozen=True, slots=True)
class Reminder:
    """The subject of a session, for the user only: `text` is never sent to a model."""

    last: datetime
    text: str
    turns: int


def reminder(
    messages: Sequence[Message], summaries: Sequence[Summary], *, now: datetime, after: timedelta
) -> Reminder | None:
    """Returns the reminder for a session that is resumed after a pause of at least `after`.

    Its text is the newest summary, or else the user's own first and last messages.
    """
    said = [m for m in messages if m.role is Role.USER and m.content.strip()]
    if not said or now - messages[-1].created_at < after:
        return None
    standing = [s for s in summaries if s.state is not SummaryState.STALE]
    if standing:
        text = standing[-1].text
    elif len(said) == 1:
        text = said[0].content
    else:
        first, last = _short(said[0].content), _short(said[-1].content)
        text = f"{first.removesuffix('…')} … {last}"
    return Reminder(messages[-1].created_at, _short(text, 240), len(said))


def _short(text: str, longest: int = 110) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1].rpartition(" ")[0].rstrip(" ,.;:") + "…"
